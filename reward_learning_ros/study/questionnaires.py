"""Questionnaires: what they ask, which answers they take, and how they are scored."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.interface.study_records import MAX_TEXT

AFTER_TRIAL, AFTER_CONDITION, AT_END = 'after_trial', 'after_condition', 'at_end'
DUES = (AFTER_TRIAL, AFTER_CONDITION, AT_END)

SCALE, TEXT = 'scale', 'text'
KINDS = (SCALE, TEXT)

MEAN, PERCENT, WEIGHTED_MEAN = 'mean', 'percent', 'weighted_mean'
RULES = (MEAN, PERCENT, WEIGHTED_MEAN)

LOWER, HIGHER = 'lower', 'higher'

# Of an answer that should be on a step of its scale.
_ON_STEP = 1e-9


class AnswerError(InvalidInputError):
    """An answer is refused; the message says questionnaire, item, answer and what is allowed."""

    def __init__(self, questionnaire: str, item: str, answer: object, allowed: str) -> None:
        self.questionnaire = questionnaire
        self.item = item
        self.answer = answer
        self.allowed = allowed
        super().__init__(f'{questionnaire}: {item} = {_brief(answer)}: {allowed}')


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The scale on which an item is answered."""

    low: float
    high: float
    step: float = 1.0
    low_label: str = ''
    high_label: str = ''

    @property
    def values(self) -> tuple[float, ...]:
        """All of them, in order."""
        return tuple(self.low + index * self.step for index in range(self.steps))

    @property
    def steps(self) -> int:
        """How many there are."""
        return round((self.high - self.low) / self.step) + 1

    @property
    def text(self) -> str:
        """What is allowed, for an error message."""
        return f'must be {self.low:g} to {self.high:g} in steps of {self.step:g}'

    def has(self, value: float) -> bool:
        """Tell whether a number is one of them."""
        index = (value - self.low) / self.step
        return self.low <= value <= self.high and abs(index - round(index)) < _ON_STEP


@dataclass(frozen=True, kw_only=True)
class Item:
    """One item of a questionnaire.

    Attributes:
        key: Names it in answers and tables.
        text: As the participant reads it.
        label: A short name of it; its key unless given.
        kind: `scale` for a number, `text` for words of their own.
        scale: Of a number; None of words.
        is_reversed: Whether agreeing lowers the score.
        is_optional: Whether it may be left out; only words may.
    """

    key: str
    text: str
    label: str
    kind: str = SCALE
    scale: Scale | None = None
    is_reversed: bool = False
    is_optional: bool = False


@dataclass(frozen=True, kw_only=True)
class Score:
    """How a score is computed from answers.

    Attributes:
        key: Names it in tables.
        label: In reports.
        rule: `mean` of the items; `percent`, their sum from 0 for the least to 100 for the most;
            `weighted_mean`, each weighted by how often it was chosen in the comparisons.
        items: Keys of the items in it.
        better: `lower` or `higher`.
        slope, intercept: Of a line that the result is put on.
    """

    key: str
    label: str
    rule: str
    items: tuple[str, ...]
    better: str
    slope: float = 1.0
    intercept: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Questionnaire:
    """A questionnaire as its file describes it.

    Attributes:
        name: Of the file.
        title: As the participant reads it.
        source: Who published it where; to be cited with its results.
        terms: Under which its texts may be used.
        due: When it is asked unless the study says otherwise, one of `DUES`.
        instructions: Above the items.
        items: What is asked, in order.
        comparisons: What is asked of each pair of items; empty if they are not compared.
        scores: What the answers come to.
        digest: Of all that it says.
    """

    name: str
    title: str
    source: str
    terms: str
    due: str
    instructions: str
    items: tuple[Item, ...]
    comparisons: str
    scores: tuple[Score, ...]
    digest: str

    @property
    def pairs(self) -> tuple[tuple[Item, Item], ...]:
        """The pairs of items that are compared; n (n - 1) / 2 of n, or none."""
        if not self.comparisons:
            return ()
        return tuple(combinations((item for item in self.items if item.kind == SCALE), 2))

    @property
    def answer_keys(self) -> tuple[str, ...]:
        """The keys of all answers, those of pairs as `first:second`."""
        return (*(item.key for item in self.items), *(pair_key(pair) for pair in self.pairs))

    def checked(self, answers: Mapping[str, object]) -> dict[str, str]:
        """Return answers as they are recorded, in the order of the items.

        Args:
            answers: By key; numbers may be text.

        Raises:
            AnswerError: One is missing, is not allowed, or belongs to no item.
        """
        found = {key: answers[key] for key in answers if answers[key] not in (None, '')}
        for key in found:
            if key not in self.answer_keys:
                raise AnswerError(
                    self.name, str(key), found[key], f'no item; known: {self._known()}'
                )
        texts = dict(self._checked_items(found))
        for pair in self.pairs:
            key, allowed = pair_key(pair), [item.key for item in pair]
            if found.get(key) not in allowed:
                raise AnswerError(
                    self.name, key, found.get(key), f'must be {" or ".join(allowed)}'
                )
            texts[key] = str(found[key])
        return texts

    def scored(self, answers: Mapping[str, object]) -> dict[str, float]:
        """Return the value of each score.

        Raises:
            AnswerError: As `checked`.
        """
        texts = self.checked(answers)
        return {score.key: self._value(score, texts) for score in self.scores}

    def _checked_items(self, found: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        for item in self.items:
            answer = found.get(item.key)
            if answer is None:
                if not item.is_optional:
                    allowed = 'is missing' if item.scale is None else item.scale.text
                    raise AnswerError(self.name, item.key, answer, allowed)
            elif item.scale is None:
                if not isinstance(answer, str) or len(answer) > MAX_TEXT:
                    raise AnswerError(
                        self.name, item.key, answer, f'must be text, at most {MAX_TEXT} characters'
                    )
                yield item.key, answer
            else:
                number = _number(answer)
                if number is None or not item.scale.has(number):
                    raise AnswerError(self.name, item.key, answer, item.scale.text)
                yield item.key, f'{number:g}'

    def _value(self, score: Score, texts: Mapping[str, str]) -> float:
        items = [item for item in self.items if item.key in score.items]
        values, spans = [], []
        for item in items:
            assert item.scale is not None  # the file was refused otherwise
            number = float(texts[item.key])
            low, high = item.scale.low, item.scale.high
            values.append(low + high - number if item.is_reversed else number)
            spans.append((low, high))
        if score.rule == PERCENT:
            gained = sum(value - low for value, (low, _) in zip(values, spans, strict=True))
            result = 100.0 * gained / sum(high - low for low, high in spans)
        elif score.rule == WEIGHTED_MEAN:
            chosen = [texts[pair_key(pair)] for pair in self.pairs]
            weights = [chosen.count(item.key) for item in items]
            products = (weight * value for weight, value in zip(weights, values, strict=True))
            result = sum(products) / len(chosen)
        else:
            result = sum(values) / len(values)
        return score.slope * result + score.intercept

    def _known(self) -> str:
        return ', '.join(self.answer_keys)


def pair_key(pair: tuple[Item, Item]) -> str:
    """Return the key of the answer to which of two items contributed more."""
    return f'{pair[0].key}:{pair[1].key}'


def _number(answer: object) -> float | None:
    if isinstance(answer, bool) or not isinstance(answer, (int, float, str)):
        return None
    try:
        number = float(answer)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _brief(answer: object) -> str:
    text = repr(answer)
    return text if len(text) <= 100 else f'{text[:99]}…'

"""Questionnaires as YAML files: where they are found, and what may stand in them."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.core.text import YamlError, read_yaml
from reward_learning_ros.study.questionnaires import (
    DUES,
    HIGHER,
    KINDS,
    LOWER,
    RULES,
    SCALE,
    TEXT,
    WEIGHTED_MEAN,
    Item,
    Questionnaire,
    Scale,
    Score,
)
from reward_learning_ros.tasks.registry import PACKAGE, share_directory
from reward_learning_ros.tasks.task_files import Fields, TaskFileError

DIRECTORIES_VARIABLE = 'REWARD_LEARNING_QUESTIONNAIRES'
FOLDER = 'questionnaires'
# As `interface.study_records` takes them.
_KEY = re.compile(r'[A-Za-z0-9][A-Za-z0-9_-]{0,63}')
# Nobody answers more, and what is compared in pairs grows with the square.
_MAX_ITEMS = 100
_MAX_COMPARED = 10
_MAX_STEPS = 1001


class QuestionnaireFileError(InvalidInputError):
    """A questionnaire is refused; the message says file, key and what is allowed.

    Attributes:
        path: The file.
        key: What is wrong in it, such as `items[2].scale.low`; empty for the file as a whole.
        reason: Why, and what is allowed.
    """

    def __init__(self, path: Path, key: str, reason: str) -> None:
        self.path = path
        self.key = key
        self.reason = reason
        super().__init__(f'{path}: {key}: {reason}' if key else f'{path}: {reason}')


def questionnaire_directories(study: Path | None = None) -> list[Path]:
    """Return where questionnaires are looked for, first those of a study's own folder."""
    configuration = os.environ.get('XDG_CONFIG_HOME', '')
    # The specification says that a relative path is to be ignored.
    home = Path(configuration) if os.path.isabs(configuration) else Path.home() / '.config'
    listed = os.environ.get(DIRECTORIES_VARIABLE, '').split(os.pathsep)
    return [
        *([] if study is None else [study / FOLDER]),
        *(Path(entry) for entry in listed if entry),
        home / PACKAGE / FOLDER,
        share_directory() / 'config' / FOLDER,
    ]


def questionnaire_files(study: Path | None = None) -> dict[str, Path]:
    """Return the file of each questionnaire by name; of two with one name, the first found."""
    found: dict[str, Path] = {}
    for directory in questionnaire_directories(study):
        for path in sorted(directory.glob('*.yaml')):
            found.setdefault(path.stem, path)
    return found


def load_questionnaire(name: str, study: Path | None = None) -> Questionnaire:
    """Return a questionnaire by its name.

    Args:
        name: Of its file.
        study: Folder of a study, which may have questionnaires of its own.

    Raises:
        UnknownNameError: There is none of this name.
        QuestionnaireFileError: Its file is refused.
    """
    files = questionnaire_files(study)
    if name not in files:
        raise UnknownNameError('questionnaire', name, files)
    return read_questionnaire(files[name])


def read_questionnaire(path: Path) -> Questionnaire:
    """Return the questionnaire of a file; its name is the file's.

    Raises:
        QuestionnaireFileError: Something is wrong with it.
    """
    try:
        content = read_yaml(path)
    except YamlError as error:
        raise QuestionnaireFileError(path, '', str(error)) from error
    try:
        return _parse(path, content)
    except TaskFileError as error:
        raise QuestionnaireFileError(path, error.field, error.reason) from error


def _parse(path: Path, content: Any) -> Questionnaire:
    fields = Fields(path, content)
    if not _KEY.fullmatch(path.stem):
        raise QuestionnaireFileError(path, '', 'the name must be letters, digits, "_" and "-"')
    title, source, terms = (fields.text(key) for key in ('title', 'source', 'terms'))
    due = fields.choice('due', DUES)
    instructions = fields.text('instructions', '')
    comparisons = fields.text('comparisons', '')
    scale = _scale(fields.mapping('scale')) if fields.has('scale') else None
    entries = fields.listed('items')
    if len(entries) > _MAX_ITEMS:
        raise fields.error('items', f'are {len(entries)}; at most {_MAX_ITEMS} are allowed')
    items = tuple(_item(entry, scale) for entry in entries)
    _check_once(fields, 'items', [item.key for item in items])
    compared = sum(item.kind == SCALE for item in items)
    if comparisons and not 2 <= compared <= _MAX_COMPARED:
        raise fields.error(
            'comparisons', f'are of {compared} items; allowed: 2 to {_MAX_COMPARED}'
        )
    scores: tuple[Score, ...] = ()
    if fields.has('scores'):
        scores = tuple(_score(each, items, comparisons) for each in fields.listed('scores'))
    _check_once(fields, 'scores', [score.key for score in scores])
    fields.finish()
    # Of what it says, not of how it is written.
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, default=str)
    return Questionnaire(
        name=path.stem,
        title=title,
        source=source,
        terms=terms,
        due=due,
        instructions=instructions,
        items=items,
        comparisons=comparisons,
        scores=scores,
        digest=hashlib.sha256(text.encode()).hexdigest()[:16],
    )


def _scale(fields: Fields) -> Scale:
    low = fields.number('low')
    high = fields.number('high', above=low)
    step = fields.number('step', 1.0, above=0.0)
    labels = {key: fields.text(key, '') for key in ('low_label', 'high_label')}
    fields.finish()
    count = (high - low) / step
    if abs(count - round(count)) > 1e-9 or not 1 <= round(count) < _MAX_STEPS:
        raise fields.error(
            'step',
            f'is {step:g}; it must divide {high:g} - {low:g}, in at most {_MAX_STEPS - 1} parts',
        )
    return Scale(low=low, high=high, step=step, **labels)


def _item(fields: Fields, common: Scale | None) -> Item:
    key = _key(fields)
    text = fields.text('text')
    label = fields.text('label', key)
    kind = fields.choice('kind', KINDS, SCALE)
    is_reversed = fields.flag('reversed', False)
    is_optional = fields.flag('optional', False)
    scale = _scale(fields.mapping('scale')) if fields.has('scale') else None
    fields.finish()
    if kind == TEXT:
        if scale is not None or is_reversed:
            raise fields.error('kind', 'is text: neither scale nor reversed is allowed')
    else:
        scale = scale or common
        if scale is None:
            raise fields.error('scale', 'is missing, here and for all items')
        if is_optional:
            raise fields.error('optional', 'is allowed for kind text only: scores need a number')
    return Item(
        key=key,
        text=text,
        label=label,
        kind=kind,
        scale=scale,
        is_reversed=is_reversed,
        is_optional=is_optional,
    )


def _score(fields: Fields, items: tuple[Item, ...], comparisons: str) -> Score:
    key = _key(fields)
    known = [item.key for item in items if item.kind == SCALE]
    chosen = fields.take('items', known)
    if not isinstance(chosen, list) or not chosen or not all(each in known for each in chosen):
        raise fields.error('items', f'must be some of {", ".join(known)}, not {chosen!r}')
    score = Score(
        key=key,
        label=fields.text('label', key),
        rule=fields.choice('rule', RULES),
        items=tuple(chosen),
        better=fields.choice('better', (LOWER, HIGHER)),
        slope=fields.number('slope', 1.0),
        intercept=fields.number('intercept', 0.0),
    )
    fields.finish()
    if score.rule == WEIGHTED_MEAN and (not comparisons or set(chosen) != set(known)):
        raise fields.error('rule', f'{WEIGHTED_MEAN} needs comparisons, and all items')
    return score


def _key(fields: Fields) -> str:
    key = fields.text('key')
    if not _KEY.fullmatch(key):
        raise fields.error('key', f'must be letters, digits, "_" and "-", not {key!r}')
    return key


def _check_once(fields: Fields, name: str, keys: list[str]) -> None:
    for key in keys:
        if keys.count(key) > 1:
            raise fields.error(name, f'have the key {key!r} more than once')

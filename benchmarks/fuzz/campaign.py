"""Tries cases of one target and keeps what none of our own errors answers."""

from __future__ import annotations

import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import strategies as st

import reward_learning_ros
from reward_learning_ros.core.errors import RewardLearningError

# Of the processor, for one case: a busy machine makes no case a slow one.
MAX_CASE_SEC = 5.0
_PACKAGE = Path(reward_learning_ros.__file__).parent


class TooSlowError(Exception):
    """A case took longer than any may."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """Something that reads what others wrote.

    Attributes:
        name: of it, and of the folder of its corpus.
        reads: what it reads, in words.
        cases: what is tried.
        check: reads a case; may raise nothing but a `RewardLearningError`.
    """

    name: str
    reads: str
    cases: st.SearchStrategy[bytes]
    check: Callable[[bytes], None]


@dataclass(kw_only=True)
class Outcome:
    """What came of the cases of a target.

    Attributes:
        cases: how many were tried.
        refused: how many of them were refused with an error of ours.
        slowest_sec: time on the processor of the slowest.
        failures: the shortest case that failed in a way, by what it ended in and where.
    """

    cases: int = 0
    refused: int = 0
    slowest_sec: float = 0.0
    failures: dict[str, bytes] = field(default_factory=dict)


def try_cases(target: Target, outcome: Outcome, *, count: int, seed: int) -> None:
    """Try some cases of a target, make those that fail smaller, and take note of all.

    Args:
        target: What reads them.
        outcome: Is added to.
        count: How many cases to draw.
        seed: Of the cases.
    """

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        deadline=None,
        database=None,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
    )
    @hypothesis.given(target.cases)
    def try_one(case: bytes) -> None:
        failure = try_case(target, case, outcome)
        # What is known already is not made smaller again and again.
        if failure and failure not in known:
            raise _FoundError(failure)

    known = set(outcome.failures)
    # Kept in the outcome; one that comes only now and then is kept, too.
    with suppress(_FoundError, hypothesis.errors.Flaky):
        try_one()


def try_case(target: Target, case: bytes, outcome: Outcome) -> str:
    """Try one case; return what it failed with, empty if it did not."""
    began_sec = time.process_time()
    failure = ''
    try:
        with _limit(MAX_CASE_SEC):
            target.check(case)
    except RewardLearningError:
        outcome.refused += 1
    # Whatever else it ends in is what is looked for.
    except Exception as error:
        failure = _described(error)
    outcome.cases += 1
    outcome.slowest_sec = max(outcome.slowest_sec, time.process_time() - began_sec)
    if failure:
        smallest = outcome.failures.get(failure)
        if smallest is None or len(case) < len(smallest):
            outcome.failures[failure] = case
    return failure


class _FoundError(Exception):
    """A case failed; tells Hypothesis to make it smaller."""


def _described(error: BaseException) -> str:
    """Return the kind of an error and the deepest place in this package that it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE)]
    if not ours:
        return type(error).__name__
    place = Path(ours[-1].filename).relative_to(_PACKAGE)
    return f'{type(error).__name__} in {place}, {ours[-1].name}'


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    def end(number: int, frame: Any) -> None:
        raise TooSlowError(f'a case took more than {seconds:.0f} s')

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)

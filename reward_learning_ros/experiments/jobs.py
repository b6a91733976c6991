"""One job of many: how it is run, and what is said when it fails, wherever that is."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError

# A job whose worker died this often is taken to be the reason.
ATTEMPTS = 3


class JobError(RewardLearningError):
    """A job failed in a way that cannot be handed on as it is; the message says how."""


class WorkerDiedError(RewardLearningError):
    """The workers of a job die again and again."""

    def __init__(self, index: int) -> None:
        super().__init__(
            f'job {index} was given up: every worker that ran it died '
            '(perhaps there is too little memory for so many of them)'
        )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a job: a result, or an error and where it happened."""

    result: Any = None
    error: Exception | None = None
    trace: str = ''

    def unwrap(self) -> Any:
        """Return the result, or raise the error with the trace of the worker as its cause."""
        if self.error is not None:
            raise self.error from JobError(f'in a worker:\n{self.trace}')
        return self.result


def attempt(function: Callable[[Any], Any], job: Any) -> Outcome:
    """Run a job and return what became of it; an interruption goes through."""
    try:
        return Outcome(result=function(job))
    except Exception as error:
        return Outcome(error=_portable(error), trace=traceback.format_exc())


def _portable(error: Exception) -> Exception:
    """Return an error that survives the way to another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        # Constructors with arguments of their own cannot be undone by pickle.
        if isinstance(error, InvalidInputError):
            return InvalidInputError(str(error))
        return JobError(f'{type(error).__name__}: {error}')
    return error

"""The recordings that the paper's authors published, read without running what is in them."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError
from reward_learning_ros.core.task import Task
from reward_learning_ros.core.trajectory import CorrectionSequence

# Folder of each task in the authors' layout.
FOLDERS = {'press': 'Task1', 'reach': 'Task2', 'push': 'Task3'}
TRIALS = (1, 2, 3)
# Time and three coordinates.
COLUMNS = 4
# What a pickle of numbers may name; anything else could run code.
_ADMITTED = {
    ('numpy.core.multiarray', '_reconstruct'),
    ('numpy._core.multiarray', '_reconstruct'),
    ('numpy.core.multiarray', 'scalar'),
    ('numpy._core.multiarray', 'scalar'),
    ('numpy.core.numeric', '_frombuffer'),
    ('numpy._core.numeric', '_frombuffer'),
    ('numpy', 'ndarray'),
    ('numpy', 'dtype'),
}

# What reading a damaged pickle, or an array that it describes wrongly, can end in.
_DAMAGE = (
    pickle.UnpicklingError,
    OSError,
    EOFError,
    ImportError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    ArithmeticError,
    AssertionError,
    MemoryError,
    RuntimeError,
)


class UnsafePickleError(RewardLearningError):
    """A pickle names something other than numbers and containers of them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Recording:
    """One participant teaching one θ.

    Attributes:
        participant: Number of the participant.
        trial: Number of the trial.
        rows: (N, 4) time in seconds and accumulated displacement of the plan in metres.
        theta: (d,) the θ that was to be taught.
    """

    participant: int
    trial: int
    rows: np.ndarray
    theta: np.ndarray


def read_recordings(study: Path, folder: str) -> Iterator[Recording]:
    """Yield the recordings of one task (`Task1` …), by participant and trial 1 to 3."""
    data = Path(study) / folder / 'data'
    if not data.is_dir():
        raise InvalidInputError(f'{data} is not a folder of recordings')
    for participant, user in participant_folders(data):
        for trial in TRIALS:
            demo, theta = trial_files(user, trial)
            if demo.is_file() and theta.is_file():
                yield read_recording(user, participant, trial)


def participant_folders(data: Path) -> list[tuple[int, Path]]:
    """Return number and folder of each participant, in order."""
    numbered = [(path.name.removeprefix('user'), path) for path in data.glob('user*')]
    return sorted((int(number), path) for number, path in numbered if number.isdecimal())


def trial_files(user: Path, trial: int) -> tuple[Path, Path]:
    """Return where the rows and the θ of a trial are."""
    return user / f'demo{trial}.pkl', user / f'theta{trial}.pkl'


def read_recording(user: Path, participant: int, trial: int) -> Recording:
    """Read one recording.

    Raises:
        UnsafePickleError: A file holds more than numbers.
        InvalidInputError: A file does not hold finite numbers in the right shape.
    """
    demo, theta = trial_files(user, trial)
    rows = _numbers(demo, 2)
    if rows.shape[0] < 2 or rows.shape[1] != COLUMNS:
        raise InvalidInputError(
            f'{demo}: expected at least two rows of {COLUMNS} numbers, not {rows.shape}'
        )
    return Recording(participant=participant, trial=trial, rows=rows, theta=_numbers(theta, 1))


def corrections_of(
    recording: Recording, plan: np.ndarray, given_axes: Sequence[int] = ()
) -> CorrectionSequence:
    """Return the corrections of a plan that a recording holds, one for each later waypoint.

    The displacement at evenly spaced rows is differenced; correction i shifts waypoint i and all
    later ones. Along axes that the task gives nobody chose to move: a tool that is pressed on the
    table drifts there, and this is no effort of the person.
    """
    waypoints, dimensions = plan.shape
    chosen = np.round(np.linspace(0, len(recording.rows) - 1, waypoints)).astype(int)
    displacement = recording.rows[chosen, 1 : 1 + dimensions]
    # The first correction holds what came before the first row, too.
    displacement[0] = 0.0
    displacement[:, list(given_axes)] = 0.0
    return CorrectionSequence.from_deltas(plan, np.diff(displacement, axis=0))


def read_corrections(study: Path, task: Task) -> Iterator[CorrectionSequence]:
    """Yield the corrections of all recordings of a task."""
    for recording in read_recordings(study, FOLDERS[task.name]):
        yield corrections_of(recording, task.plan, task.space.given_axes)


def load_numbers(content: bytes) -> Any:
    """Unpickle NumPy arrays and builtin containers; refuse anything else."""
    return _Unpickler(io.BytesIO(content), encoding='latin1').load()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ('_codecs', 'encode'):
            return _encode
        if (module, name) not in _ADMITTED:
            raise UnsafePickleError(f'a pickle of numbers does not need {module}.{name}')
        return super().find_class(module, name)


def _encode(text: str, encoding: str) -> bytes:
    """Stand in for `_codecs.encode`, by which old pickles write the bytes of an array."""
    if encoding != 'latin1':
        raise UnsafePickleError(f'a pickle of numbers does not need the encoding {encoding!r}')
    return text.encode('latin1')


def _numbers(path: Path, dimensions: int) -> np.ndarray:
    try:
        array = np.array(load_numbers(path.read_bytes()), dtype=np.float64)
    except UnsafePickleError as error:
        raise UnsafePickleError(f'{path}: {error}') from None
    except _DAMAGE as error:
        reason = str(error) or type(error).__name__
        raise InvalidInputError(f'{path}: not a pickle of numbers ({reason})') from error
    if array.ndim != dimensions or not np.isfinite(array).all():
        raise InvalidInputError(f'{path}: expected finite numbers in {dimensions} dimensions')
    return array

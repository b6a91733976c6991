"""The recordings that the paper's authors published, read safely, and what is wrong with them."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError
from reward_learning_ros.core.task import Task
from reward_learning_ros.core.trajectory import UNMOVED, CorrectionSequence

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
    # NumPy, of a state that is no tuple of its kinds.
    SystemError,
)


class UnsafePickleError(RewardLearningError):
    """A pickle names something other than numbers and containers of them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Recording:
    """The published recording of one participant teaching one θ.

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
    """Read the rows and θ of one trial of the published study.

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


# Rows come ten times a second; a second without one is a gap.
MAX_GAP_SEC = 1.0
# Of the task's duration; people stop a little early.
MIN_SHARE = 0.9
# The tool is pressed into the table, or lifted off it, where the task has no height.
MAX_DRIFT_M = 0.25
UNIT_TOLERANCE = 1e-3


@dataclass(frozen=True, kw_only=True)
class Defect:
    """Something wrong with a recording, or in its place.

    Attributes:
        place: Task, participant and trial, or the file.
        text: What is wrong.
        used: Whether the recording is used all the same.
    """

    place: str
    text: str
    used: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Taught:
    """A published recording with the corrections found in it."""

    task: str
    recording: Recording
    corrections: CorrectionSequence

    @property
    def place(self) -> str:
        """Task, participant and trial in words."""
        return f'{self.task}, participant {self.recording.participant}, {self.recording.trial}'


@dataclass(frozen=True, kw_only=True, eq=False)
class Survey:
    """What can be used of a study, and what is wrong with it."""

    taught: tuple[Taught, ...]
    defects: tuple[Defect, ...]


def survey_study(study: Path, tasks: Mapping[str, Task]) -> Survey:
    """Read the recordings of a checkout of the published study.

    Args:
        study: The folder that holds Task1, Task2 and Task3.
        tasks: The task by name (`press` …); tasks that are not there are left out.

    Raises:
        InvalidInputError: None of the folders is there.
    """
    study = Path(study)
    if not any((study / folder / 'data').is_dir() for folder in FOLDERS.values()):
        raise InvalidInputError(
            f'{study} is not a checkout of the published study: there is none of '
            + ', '.join(f'{folder}/data' for folder in FOLDERS.values())
        )
    taught: list[Taught] = []
    defects: list[Defect] = []
    first_with: dict[bytes, str] = {}
    for name, task in tasks.items():
        data = study / FOLDERS[name] / 'data'
        if not data.is_dir():
            defects.append(Defect(place=name, text=f'{data} is missing', used=False))
            continue
        for participant, user in participant_folders(data):
            defects.extend(_strays(study, user))
            for trial in TRIALS:
                place = f'{name}, participant {participant}, {trial}'
                missing = [file.name for file in trial_files(user, trial) if not file.is_file()]
                if missing:
                    text = f'missing: {", ".join(missing)}'
                    defects.append(Defect(place=place, text=text, used=False))
                    continue
                try:
                    recording = read_recording(user, participant, trial)
                    found = _taught(name, task, recording)
                except RewardLearningError as error:
                    defects.append(Defect(place=place, text=str(error), used=False))
                    continue
                taught.append(found)
                defects.extend(
                    Defect(place=place, text=text, used=True) for text in _oddities(task, found)
                )
                copied = first_with.setdefault(recording.rows.tobytes(), place)
                if copied != place:
                    defects.append(Defect(place=place, text=f'a copy of {copied}', used=True))
    return Survey(taught=tuple(taught), defects=tuple(defects))


def _taught(name: str, task: Task, recording: Recording) -> Taught:
    if len(recording.theta) != task.size:
        raise InvalidInputError(
            f'θ has {len(recording.theta)} components; the task has {task.size} features'
        )
    corrections = corrections_of(recording, task.plan, task.space.given_axes)
    return Taught(task=name, recording=recording, corrections=corrections)


def _strays(study: Path, user: Path) -> Iterator[Defect]:
    known = {file.name for trial in TRIALS for file in trial_files(user, trial)}
    for file in sorted(user.glob('*.pkl')):
        if file.name not in known:
            yield Defect(
                place=str(file.relative_to(study)), text='belongs to no trial', used=False
            )


def _oddities(task: Task, taught: Taught) -> Iterator[str]:
    """Yield what is odd about a recording that is used all the same."""
    recording = taught.recording
    times = recording.rows[:, 0]
    steps = np.diff(times)
    if (steps <= 0).any():
        yield f'time stands still or goes back after {times[np.argmax(steps <= 0)]:.1f} s'
    if steps.max() > MAX_GAP_SEC:
        yield f'no rows for {steps.max():.1f} s after {times[np.argmax(steps)]:.1f} s'
    if times[-1] < MIN_SHARE * task.duration_sec:
        yield f'ends after {times[-1]:.1f} of {task.duration_sec:g} s'
    if abs(float(np.linalg.norm(recording.theta)) - 1.0) > UNIT_TOLERANCE:
        yield f'θ has length {np.linalg.norm(recording.theta):.2f}, not 1'
    moved = np.abs(recording.rows[:, 1:])
    if moved.max() <= UNMOVED:
        yield 'holds no correction at all'
    for axis in task.space.given_axes:
        if moved[:, axis].max() > MAX_DRIFT_M:
            yield f'{task.axis_names[axis]} drifts by {moved[:, axis].max():.2f} m'
    free = [axis for axis in range(task.plan.shape[1]) if axis not in task.space.given_axes]
    # All later waypoints move alike, so the last one shows the delta.
    deltas = taught.corrections.displacements[:, -1, :]
    outside = (deltas < task.space.delta_low) | (deltas > task.space.delta_high)
    count = int(outside[:, free].any(axis=1).sum())
    if count:
        yield f'{count} of {len(deltas)} deltas lie outside the box of the trajectory space'

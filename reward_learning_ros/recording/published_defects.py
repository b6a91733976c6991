"""What is wrong with the published recordings: told, and gone on with what can be used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError
from reward_learning_ros.core.task import Task
from reward_learning_ros.core.trajectory import UNMOVED, CorrectionSequence
from reward_learning_ros.recording.published_recordings import (
    FOLDERS,
    TRIALS,
    Recording,
    corrections_of,
    participant_folders,
    read_recording,
    trial_files,
)

# Rows come ten times a second; a second without one is a gap.
LARGEST_GAP_SEC = 1.0
# Of the task's duration; people stop a little early.
SHORTEST_SHARE = 0.9
# The tool is pressed into the table, or lifted off it, where the task has no height.
LARGEST_DRIFT_M = 0.25
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
    """A recording and the corrections in it."""

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
    if steps.max() > LARGEST_GAP_SEC:
        yield f'no rows for {steps.max():.1f} s after {times[np.argmax(steps)]:.1f} s'
    if times[-1] < SHORTEST_SHARE * task.duration_sec:
        yield f'ends after {times[-1]:.1f} of {task.duration_sec:g} s'
    if abs(float(np.linalg.norm(recording.theta)) - 1.0) > UNIT_TOLERANCE:
        yield f'θ has length {np.linalg.norm(recording.theta):.2f}, not 1'
    moved = np.abs(recording.rows[:, 1:])
    if moved.max() <= UNMOVED:
        yield 'holds no correction at all'
    for axis in task.space.given_axes:
        if moved[:, axis].max() > LARGEST_DRIFT_M:
            yield f'{task.axis_names[axis]} drifts by {moved[:, axis].max():.2f} m'
    free = [axis for axis in range(task.plan.shape[1]) if axis not in task.space.given_axes]
    # All later waypoints move alike, so the last one shows the delta.
    deltas = taught.corrections.displacements[:, -1, :]
    outside = (deltas < task.space.delta_low) | (deltas > task.space.delta_high)
    count = int(outside[:, free].any(axis=1).sum())
    if count:
        yield f'{count} of {len(deltas)} deltas lie outside the box of the trajectory space'

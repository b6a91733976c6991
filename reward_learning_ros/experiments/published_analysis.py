"""The published user study, analysed again: every method, for dependent and independent data."""

from __future__ import annotations

import functools
import hashlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.core.human_model import InadmissibleCorrectionWarning
from reward_learning_ros.core.inference import infer
from reward_learning_ros.core.samplers.base import Settings
from reward_learning_ros.core.samplers.kernels import Space
from reward_learning_ros.core.samplers.normalizer import Maximum, Table
from reward_learning_ros.core.task import Task
from reward_learning_ros.core.trajectory import CorrectionSequence
from reward_learning_ros.experiments.parameter_sweep import Cell, Row, outcome_columns
from reward_learning_ros.experiments.published_parameters import (
    DEPENDENCES,
    METHODS,
    PublishedParameters,
)
from reward_learning_ros.parameters import to_mapping
from reward_learning_ros.recording.published_recordings import (
    FOLDERS,
    Defect,
    Survey,
    Taught,
    survey_study,
)
from reward_learning_ros.tasks import load_task

# It depends on task, space, domain and seed, but not on what a person did. For the life of a
# process: a study has a handful of plans, and a table is a few kilobytes.
_TABLES: dict[Any, Table] = {}


class SharedMaximum(Maximum):
    """`maximum`, with the same numbers to the last digit, for many recordings of few plans."""

    def make_table(self, space: Space, index: int) -> Table:
        """Return the best corrections of the space, as they were found before if they were."""
        problem = self._problem
        key = (
            problem.features,
            problem.domain.kind,
            (problem.domain.low.tobytes(), problem.domain.high.tobytes()),
            (problem.seed.entropy, problem.seed.spawn_key, index),
            tuple((array.shape, array.tobytes()) for array in space),
        )
        if key not in _TABLES:
            _TABLES[key] = super().make_table(space, index)
        return _TABLES[key]


# The task that each of the study's tasks is analysed as.
TASKS = {'press': 'press', 'reach': 'reach', 'push': 'published_push'}
# Mean ‖θ − θ̂‖ that the authors' code has on all ten participants.
AUTHORS = {
    ('double_mh', 'dependent'): {'press': 0.95, 'reach': 0.64, 'push': 0.56},
    ('ignore', 'dependent'): {'press': 1.39, 'reach': 0.91, 'push': 0.68},
}
# Always the same answer: (0.5, …), the middle of the box that the authors' samplers draw from.
CONSTANT = 0.5
# The mean of θ is what is asked for: a hundred effective draws know it to a tenth of its spread.
SETTINGS = Settings(warmup=400, target_ess=100.0, target_r_hat=1.02, max_draws=1000)


@dataclass(frozen=True, kw_only=True)
class Line:
    """How far one method is from what was taught in one task.

    Attributes:
        error: Mean ‖θ − θ̂‖ over the recordings.
        standard_error: Of the mean, from the spread between participants, who each gave several
            recordings; NaN if there is only one participant.
        recordings: How many there are.
        failures: How many more could not be analysed.
        constant: The error of always answering (0.5, …) on the same recordings.
        authors: Theirs, on all ten participants; None if they have none.
    """

    task: str
    method: str
    dependence: str
    error: float
    standard_error: float
    recordings: int
    failures: int
    constant: float
    authors: float | None


def read_study(study: Path) -> Survey:
    """Read a checkout of the published study; what is missing or wrong is among the defects."""
    tasks: dict[str, Task] = {}
    missing = []
    for name in TASKS:
        try:
            tasks[name] = _task(name)
            if not (study / FOLDERS[name]).is_dir():
                continue
            # Simulated now, once, if there is physics in them; not by every worker.
            tasks[name].evaluate(tasks[name].plan)
        except RewardLearningError as error:
            tasks.pop(name, None)
            missing.append(Defect(place=name, text=f'left out: {error}', used=False))
    survey = survey_study(study, tasks)
    return Survey(taught=survey.taught, defects=(*missing, *survey.defects))


def published_cell(taught: Taught, parameters: PublishedParameters) -> Cell:
    """Return the inference of what one recording taught."""
    recording = taught.recording
    content = hashlib.sha256(taught.corrections.corrected.tobytes() + recording.theta.tobytes())
    return Cell(
        choices={
            'task': taught.task,
            'participant': recording.participant,
            'trial': recording.trial,
            **to_mapping(parameters),
        },
        data=content.hexdigest(),
        infer=functools.partial(
            _infer, taught.task, taught.corrections, recording.theta, parameters
        ),
    )


def published_cells(taught: Iterable[Taught], parameters: PublishedParameters) -> list[Cell]:
    """Return a cell of a sweep for each published recording, method and dependence."""
    return [
        published_cell(one, _with(parameters, method, dependence))
        for one in taught
        for dependence in DEPENDENCES
        for method in METHODS
    ]


def summarise(rows: Sequence[Mapping[str, object]]) -> list[Line]:
    """Return one line for each task, method and dependence."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        key = (str(row['task']), str(row['method']), str(row['dependence']))
        groups.setdefault(key, []).append(dict(row))
    return [_line(*key, group) for key, group in groups.items()]


def _line(task: str, method: str, dependence: str, rows: list[Row]) -> Line:
    good = [row for row in rows if not row['failure']]
    errors = np.array([row['error'] for row in good])
    taught = [
        np.array([value for name, value in row.items() if name.startswith('taught_')])
        for row in good
    ]
    constant = np.array([np.linalg.norm(theta - CONSTANT) for theta in taught])
    people = sorted({row['participant'] for row in good})
    means = [np.mean([row['error'] for row in good if row['participant'] == p]) for p in people]
    spread = float(np.std(means, ddof=1)) if len(people) > 1 else float('nan')
    return Line(
        task=task,
        method=method,
        dependence=dependence,
        error=float(errors.mean()) if good else float('nan'),
        standard_error=spread / max(1, len(people)) ** 0.5,
        recordings=len(good),
        failures=len(rows) - len(good),
        constant=float(constant.mean()) if good else float('nan'),
        authors=AUTHORS.get((method, dependence), {}).get(task),
    )


def _with(parameters: PublishedParameters, method: str, dependence: str) -> PublishedParameters:
    return PublishedParameters(
        **{**to_mapping(parameters), 'method': method, 'dependence': dependence}
    )


@functools.cache
def _task(name: str) -> Task:
    return load_task(TASKS[name])


def _infer(
    task: str,
    corrections: CorrectionSequence,
    theta: np.ndarray,
    parameters: PublishedParameters,
) -> Row:
    with warnings.catch_warnings():
        # They are counted in a column.
        warnings.simplefilter('ignore', InadmissibleCorrectionWarning)
        posterior = infer(
            _task(task),
            corrections,
            method=parameters.method,
            dependence=parameters.dependence,
            beta='infer' if parameters.beta is None else parameters.beta,
            gamma=parameters.gamma,
            effort=parameters.effort,
            theta=parameters.domain,
            seed=parameters.seed,
            settings=SETTINGS,
            threads=1,
            sampler=SharedMaximum if parameters.method == 'maximum' else None,
        )
    return outcome_columns(posterior, theta)

"""Cells of a sweep over recorded sessions: each inferred again by the code that runs live."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reward_learning_ros.core.task import Task
from reward_learning_ros.experiments.parameter_sweep import Cell, Row, outcome_columns
from reward_learning_ros.learning import LearningParameters
from reward_learning_ros.parameters import to_mapping
from reward_learning_ros.recording.problems import BagError
from reward_learning_ros.recording.redetection import RedetectionParameters
from reward_learning_ros.recording.reinference import (
    Recorded,
    detect_recorded,
    read_recorded,
    reinfer,
)
from reward_learning_ros.tasks import load_task

# Of each end of a file of a bag that stands for its content.
_SAMPLE_BYTES = 65536
# Recordings that a worker keeps: cells of one come one after the other.
_KEPT = 4
_COLUMNS = ('task', 'method', 'dependence', 'beta', 'gamma', 'effort', 'seed')


@dataclass(frozen=True, kw_only=True)
class SessionAnalysis:
    """A recorded session with the parameters of its analysis in a sweep.

    Attributes:
        path: Folder of the session; workers on other machines must see it under the same name.
        learning: What is learned and how.
        detection: How corrections are found again in the samples of the arm; None takes them as
            they were recorded.
    """

    path: Path
    learning: LearningParameters
    detection: RedetectionParameters | None = None


def session_cell(
    analysis: SessionAnalysis, participant: str, trial: int, thresholds: Mapping[str, Any]
) -> Cell:
    """Return the inference from one recorded session as a cell of a sweep.

    Args:
        analysis: What is inferred from what.
        participant: Who.
        trial: Which of theirs.
        thresholds: Parameters of the detection that the sweep varies; columns of the row.
    """
    learning = to_mapping(analysis.learning)
    detection = None if analysis.detection is None else to_mapping(analysis.detection)
    content = json.dumps([bag_digest(analysis.path), learning, detection], sort_keys=True)
    return Cell(
        choices={
            'participant': participant,
            'trial': trial,
            **{name: learning[name] for name in _COLUMNS},
            'from_streams': analysis.detection is not None,
            **thresholds,
        },
        data=hashlib.sha256(content.encode()).hexdigest(),
        infer=functools.partial(_infer, analysis),
    )


@functools.cache
def bag_digest(path: Path) -> str:
    """Return a digest that identifies a recording without reading all of it.

    Raises:
        BagError: There is none, or it cannot be read.
    """
    digest = hashlib.sha256()
    try:
        for file in sorted((path / 'bag').iterdir()):
            digest.update(f'{file.name}\0{file.stat().st_size}\0'.encode())
            with file.open('rb') as content:
                digest.update(content.read(_SAMPLE_BYTES))
                content.seek(max(0, file.stat().st_size - _SAMPLE_BYTES))
                digest.update(content.read())
    except OSError as error:
        raise BagError(f'{path}: its recording cannot be read: {error.strerror}') from error
    return digest.hexdigest()


def _infer(analysis: SessionAnalysis) -> Row:
    recorded = _recorded(analysis.path, analysis.detection)
    task = _task(analysis.learning.task)
    inferred = reinfer(recorded, analysis.learning, task=task, threads=1).inferred
    return outcome_columns(inferred.posterior, recorded.theta_star)


@functools.lru_cache(maxsize=_KEPT)
def _recorded(path: Path, detection: RedetectionParameters | None) -> Recorded:
    if detection is None:
        return read_recorded(path)
    found = detect_recorded(path, detection)
    try:
        return replace(found, theta_star=read_recorded(path).theta_star)
    except BagError:
        # No correction was recorded, so nobody said what was wanted.
        return found


@functools.cache
def _task(name: str) -> Task:
    return load_task(name)

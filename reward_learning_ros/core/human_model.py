"""The noisily rational person: which corrections they could have made, and how likely each is.

Equations P2 and A2 to A5 of the paper. A *block* of data shares one normalizer: a single
trajectory when corrections are independent, a whole sequence when they are dependent.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reward_learning_ros.core.checks import number_between
from reward_learning_ros.core.domain import BetaPrior, BotherPrior
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.core.samplers.kernels import Space, load, make_scratch
from reward_learning_ros.core.task import Task
from reward_learning_ros.core.trajectory import CorrectionSequence, tail_shifts

INDEPENDENT, DEPENDENT = 'independent', 'dependent'
DEPENDENCES = (INDEPENDENT, DEPENDENT)
# What a waypoint without a push says: a delta of zero, chosen among all others as in the paper;
# nothing at all; or that no push was worth the bother.
ZERO, LEFT_OUT, ATOM = 'zero', 'left_out', 'atom'
SILENCES = (ZERO, LEFT_OUT, ATOM)
# A delta this little outside its bounds comes from rounding.
TOLERANCE = 1e-9


class InadmissibleCorrectionWarning(UserWarning):
    """A correction lies outside the trajectory space; it is used all the same."""


@dataclass(frozen=True, kw_only=True)
class HumanModel:
    """The model of how a person with reward weights θ corrects: dependence, β, silence.

    Attributes:
        dependence: `dependent` or `independent` corrections.
        beta: The person's rationality: a prior of it, a number, or `infer`.
        gamma: Discount of the rewards of earlier trajectories (dependent only).
        effort: Weight λ of the squared length of a correction (dependent only).
        alpha: Scale of the effort: None for β, as in the paper; else a prior of it, a number, or
            `infer` (dependent only).
        silence: What a waypoint without a push says: `zero`, `left_out` or `atom` (the last one
            dependent only).
        bother: What a push costs besides its length, where silence is an atom: a prior of it, a
            number, or `infer`.
    """

    dependence: str = DEPENDENT
    beta: Any = 'infer'
    gamma: float = 1.0
    effort: float = 1.0
    alpha: Any = None
    silence: str = ZERO
    bother: Any = 'infer'

    def __post_init__(self) -> None:
        if self.dependence not in DEPENDENCES:
            raise UnknownNameError('dependence', self.dependence, DEPENDENCES)
        object.__setattr__(self, 'beta', BetaPrior.parse(self.beta))
        number_between(self.gamma, 'gamma', 0.0, 1.0)
        number_between(self.effort, 'effort', 0.0, 1e6)
        if self.alpha is not None:
            object.__setattr__(self, 'alpha', BetaPrior.parse(self.alpha))
        if self.silence not in SILENCES:
            raise UnknownNameError('silence', self.silence, SILENCES)
        object.__setattr__(self, 'bother', BotherPrior.parse(self.bother))
        if self.dependence == INDEPENDENT and (self.silence == ATOM or self.alpha is not None):
            raise InvalidInputError(
                f'silence is {self.silence!r} and alpha is {self.alpha!r}, but independent '
                'demonstrations are neither silent nor an effort'
            )

    @property
    def has_atom(self) -> bool:
        """Whether the person could also do nothing at each waypoint."""
        return self.silence == ATOM

    @property
    def others(self) -> tuple[str, ...]:
        """What there is of the person besides θ and β, as draws hold it."""
        return (*(['alpha'] if self.alpha is not None else []), *(['bother'] * self.has_atom))


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """Statistics of data that share one normalizer.

    Attributes:
        space: Index of the space that the data come from.
        statistics: (S,) of the data, also where they lie outside the space.
        deltas: (K, m) of the admissible corrections nearest to the data.
    """

    space: int
    statistics: np.ndarray
    deltas: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """All corrections as statistics, with the spaces of corrections that were possible.

    Attributes:
        spaces: Each set of corrections that could have been made.
        blocks: The data, each in one of the spaces.
        outside: How many corrections lie outside their space.
        corrections: How many corrections there are.
    """

    spaces: tuple[Space, ...]
    blocks: tuple[Block, ...]
    outside: int
    corrections: int


def gather_evidence(task: Task, corrections: Any, model: HumanModel) -> Evidence:
    """Return the evidence that corrections are for θ under a model of the person.

    Args:
        task: The task that was corrected.
        corrections: One `CorrectionSequence`, or several, each with a plan of its own.
        model: How the person corrects.
    """
    sequences = _as_sequences(corrections)
    for sequence in sequences:
        if sequence.plan.shape != task.plan.shape:
            raise InvalidInputError(
                f'the corrected plan has shape {sequence.plan.shape}, but plans of task '
                f'{task.name!r} have {task.plan.shape}'
            )
    spaces: list[Space] = []
    blocks: list[Block] = []
    outside = 0
    keys: dict[bytes, int] = {}
    for sequence in sequences:
        used = sequence.only_pushes() if model.silence == LEFT_OUT else sequence
        if used is None:
            continue
        if model.dependence == DEPENDENT:
            pieces = [_dependent_piece(task, used, model)]
        else:
            pieces = [_independent_piece(task, used, i) for i in range(len(used))]
        for space, statistics, wanted in pieces:
            key = space_key(space)
            if key not in keys:
                keys[key] = len(spaces)
                spaces.append(space)
            deltas, moved = nearest_admissible(task, space, wanted)
            outside += moved
            blocks.append(Block(space=keys[key], statistics=statistics, deltas=deltas))
    if not spaces:
        # Nobody pushed and silence says nothing; the samplers still want to know the space.
        spaces.append(_dependent_piece(task, sequences[0], model)[0])
    count = sum(len(sequence) for sequence in sequences)
    if outside:
        kind = 'deltas' if model.dependence == DEPENDENT else 'trajectories'
        warnings.warn(
            f'{outside} of {count} corrections have {kind} outside the trajectory space of task '
            f'{task.name!r}; they are used as they are',
            InadmissibleCorrectionWarning,
            stacklevel=2,
        )
    return Evidence(spaces=tuple(spaces), blocks=tuple(blocks), outside=outside, corrections=count)


def space_key(space: Space) -> bytes:
    """Return what tells a space of corrections from any other."""
    return b''.join(array.tobytes() for array in space)


def nearest_admissible(task: Task, space: Space, wanted: np.ndarray) -> tuple[np.ndarray, int]:
    """Return deltas (K, m) in the space near those wanted, and how many had to be changed."""
    deltas = np.clip(wanted, space.delta_low, space.delta_high)
    trajectory = space.plan.copy()
    for row, (first, past) in enumerate(space.driven):
        low, high = space.delta_low[row].copy(), space.delta_high[row].copy()
        for waypoint in range(first, past):
            moved = space.profiles[row, waypoint]
            if moved != 0.0:
                edges = (
                    np.stack([space.workspace_low, space.workspace_high]) - trajectory[waypoint]
                )
                edges = np.sort(edges / moved, axis=0)
                low, high = np.maximum(low, edges[0]), np.minimum(high, edges[1])
        feasible = low <= high
        deltas[row] = np.where(feasible, np.clip(deltas[row], low, high), deltas[row])
        trajectory += space.profiles[row][:, None] * deltas[row]
    changed = int((np.abs(deltas - wanted).max(axis=1) > TOLERANCE).sum())
    features = task.compiled_features
    if not load(features, space, make_scratch(space, task.size), deltas):
        # Nothing near is admissible; the plan itself, uncorrected, is the next best start.
        deltas = np.clip(np.zeros_like(deltas), space.delta_low, space.delta_high)
        changed = max(changed, 1)
    return deltas, changed


def _as_sequences(corrections: Any) -> Sequence[CorrectionSequence]:
    if isinstance(corrections, CorrectionSequence):
        return (corrections,)
    if isinstance(corrections, Sequence) and corrections:
        for sequence in corrections:
            if not isinstance(sequence, CorrectionSequence):
                raise InvalidInputError(
                    f'corrections holds a {type(sequence).__name__}; expected CorrectionSequence'
                )
        return corrections
    raise InvalidInputError(
        'corrections must be a CorrectionSequence, or a sequence of them that is not empty'
    )


def _dependent_piece(
    task: Task, sequence: CorrectionSequence, model: HumanModel
) -> tuple[Space, np.ndarray, np.ndarray]:
    """Return space, statistics and deltas of a sequence in which each builds on the one before."""
    count = len(sequence)
    profiles = sequence.resolved_profiles()
    discounts = model.gamma ** np.arange(count - 1, -1, -1.0)
    onsets = np.argmax(profiles != 0.0, axis=1)
    # What is driven after a correction, until the next one.
    driven = np.column_stack([onsets, np.append(onsets[1:], len(task.plan))])
    space = _space(
        task,
        sequence.plan,
        profiles,
        discounts,
        model.effort * (profiles**2).sum(axis=1),
        np.maximum(driven, driven[:, :1]),
        atom=model.has_atom,
    )
    displacements = sequence.displacements
    squares = (displacements**2).sum()
    statistics = np.append(discounts @ task.evaluate(sequence.corrected), -model.effort * squares)
    if model.has_atom:
        statistics = np.append(statistics, -float(sequence.is_push.sum()))
    lengths = (profiles**2).sum(axis=1)
    deltas = np.einsum('kn,knm->km', profiles, displacements) / lengths[:, None]
    if model.has_atom:
        deltas[~sequence.is_push] = 0.0
    return space, statistics, deltas


def _independent_piece(
    task: Task, sequence: CorrectionSequence, index: int
) -> tuple[Space, np.ndarray, np.ndarray]:
    """Return space, statistics and deltas of one trajectory, chosen for itself."""
    trajectory = sequence.corrected[index]
    plan = sequence.plan.copy()
    for axis in task.space.given_axes:
        plan[:, axis] = trajectory[:, axis]
    fixed = task.space.fixed_waypoints
    free = range(fixed, len(plan))
    profiles = tail_shifts(free, len(plan))
    discounts = np.zeros(len(free))
    discounts[-1] = 1.0
    # Later deltas do not move a waypoint any more, so each is where it will be driven.
    driven = np.column_stack([free, np.asarray(free) + 1])
    space = _space(task, plan, profiles, discounts, np.zeros(len(free)), driven)
    statistics = np.append(task.evaluate(trajectory), 0.0)
    difference = (trajectory - plan)[fixed:]
    return space, statistics, np.diff(difference, axis=0, prepend=np.zeros((1, plan.shape[1])))


def _space(
    task: Task,
    plan: np.ndarray,
    profiles: np.ndarray,
    discounts: np.ndarray,
    efforts: np.ndarray,
    driven: np.ndarray,
    *,
    atom: bool = False,
) -> Space:
    if atom and not ((task.space.delta_low <= 0.0) & (task.space.delta_high >= 0.0)).all():
        raise InvalidInputError(
            f'silence is {ATOM!r}, but no correction at all is outside the bounds of deltas of '
            f'task {task.name!r}'
        )
    low = np.tile(task.space.delta_low, (len(profiles), 1))
    high = np.tile(task.space.delta_high, (len(profiles), 1))
    for axis in task.space.given_axes:
        low[:, axis] = high[:, axis] = 0.0
    # Copies: kernels take no read-only arrays.
    return Space(
        np.array(plan),
        np.array(profiles),
        np.array(discounts),
        np.array(efforts),
        low,
        high,
        np.array(task.space.workspace_low),
        np.array(task.space.workspace_high),
        np.array(driven, dtype=np.int64),
        np.array([atom], dtype=np.int64),
    )

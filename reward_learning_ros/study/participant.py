"""A simulated participant: noisily rational, with a θ* of their own and a hand that pushes.

No ROS: what they see comes from outside, and the force of their hand goes there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reward_learning_ros import core
from reward_learning_ros.arm.description import FR3, ArmDescription
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.trajectory import tail_shifts
from reward_learning_ros.interface import Plan
from reward_learning_ros.learning.tool_paths import ToolPaths
from reward_learning_ros.parameters import Parameters, parameter

Array = NDArray[np.float64]

# How often they think again where nothing came of it that is worth a push.
_MOST_THOUGHTS = 20
# Sets of waypoints that they think of, and corrections that they imagine at each.
_CANDIDATES = 6
_RANDOM_CORRECTIONS = 1000


@dataclass(frozen=True, kw_only=True)
class ParticipantParameters(Parameters):
    """What the participant wants, how reliably, and when they are content."""

    task: str = parameter('press', description='Name of the task')
    theta: tuple[float, ...] = parameter(
        (), description='What they want, a weight for each feature; empty is the first preset'
    )
    beta: float = parameter(
        10.0, description='How reliably they pick what they want', minimum=1e-3, maximum=1e4
    )
    effort: float = parameter(1.0, description='What pushing costs them', minimum=0.0, maximum=1e6)
    seed: int = parameter(0, description='Of all random numbers', minimum=0)
    corrections_per_pass: int = parameter(
        3, description='How often they push at most while a plan is shown', minimum=1, maximum=20
    )
    content_share: float = parameter(
        0.1,
        description='Share of what the first plan lacked for them; less they put up with',
        minimum=0.0,
        maximum=1.0,
    )
    smallest_correction_m: float = parameter(
        0.015,
        description='They do not bother to push less far than this',
        minimum=0.0,
        maximum=1.0,
        unit='m',
    )


@dataclass(frozen=True, kw_only=True)
class Push:
    """One correction that the participant means to make.

    Attributes:
        onset_waypoint: the first waypoint that is to be moved.
        displacement_m: (3,) by which it and all later ones are to be moved, base frame.
    """

    onset_waypoint: int
    displacement_m: Array


class Participant:
    """What a participant thinks of plans.

    Attributes:
        task: what the arm does.
        paths: how its trajectories look to the tool.
        theta: (d,) θ*.
    """

    def __init__(
        self, parameters: ParticipantParameters, description: ArmDescription = FR3
    ) -> None:
        """Think of what to want.

        Args:
            parameters: What it is.
            description: The arm that is pushed.

        Raises:
            InvalidInputError: There is no such task, or θ* does not fit it.
        """
        self.parameters = parameters
        self.task = core.load_task(parameters.task)
        self.paths = ToolPaths(task=self.task, description=description)
        self.theta = _wanted(parameters, self.task)
        self._decisions = 0

    @cached_property
    def ideal(self) -> Array:
        """The trajectory (n, m) that they have in mind; takes its time at first."""
        return core.plan(self.task, self.theta, seed=self.parameters.seed)

    def regret_of(self, trajectory: ArrayLike) -> float:
        """Return what a trajectory (n, m) lacks for them."""
        ideal, shown = self._rewards(np.stack([self.ideal, np.asarray(trajectory)]))
        return max(0.0, float(ideal - shown))

    def is_content_with(self, plan: Plan) -> bool:
        """Tell whether a plan is about as good as what they want."""
        regret = self.regret_of(self.paths.trajectory_of(plan))
        return regret <= self.parameters.content_share * self.regret_of(self.task.plan)

    def decide(self, plan: Plan, first_waypoint: int = 0) -> tuple[Push, ...]:
        """Choose what to do about a plan: a draw from the model of a noisily rational person.

        Args:
            plan: what the arm shows.
            first_waypoint: those before it are over.

        Returns:
            The pushes, in the order of their waypoints; none if they are content, or if too
            little is left of the plan.
        """
        self._decisions += 1
        if self.is_content_with(plan):
            return ()
        seed = np.random.SeedSequence([self.parameters.seed, self._decisions])
        for _ in range(_MOST_THOUGHTS):
            where, how = seed.spawn(2)
            onsets = self._onsets(
                self.paths.trajectory_of(plan), first_waypoint, np.random.default_rng(where)
            )
            pushes = self._pushes(plan, onsets, how) if onsets else ()
            # Who is not content does something about it.
            if pushes or not onsets:
                return pushes
        return ()

    def _pushes(
        self, plan: Plan, onsets: list[int], seed: np.random.SeedSequence
    ) -> tuple[Push, ...]:
        """Draw corrections at given waypoints; those not worth a push are left out."""
        trajectory = self.paths.trajectory_of(plan)
        parameters = self.parameters
        is_library = self.task.library is not None
        sequence = core.simulate_corrections(
            self.task,
            self.theta,
            beta=parameters.beta,
            count=1 if is_library else len(onsets),
            dependence='independent' if is_library else 'dependent',
            effort=parameters.effort,
            onsets=None if is_library else onsets,
            plan=trajectory,
            seed=seed,
        )
        before = plan.positions
        pushes = []
        for index, onset in enumerate(onsets):
            after = self.paths.plan_of(sequence.corrected[0 if is_library else index], 0).positions
            # Towards a whole trajectory one goes waypoint by waypoint.
            moved = after[onset] - before[onset]
            if np.linalg.norm(moved) >= parameters.smallest_correction_m:
                pushes.append(Push(onset_waypoint=onset, displacement_m=moved))
                before = before + np.where(np.arange(len(before))[:, None] >= onset, moved, 0.0)
        return tuple(pushes)

    def _onsets(
        self, trajectory: Array, first_waypoint: int, rng: np.random.Generator
    ) -> list[int]:
        """Return the waypoints at which they push.

        Where and how far are one choice: P(onsets) is proportional to the normalizer of the
        corrections there, which random corrections estimate for some sets of onsets.
        """
        first = max(self.task.space.fixed_waypoints, first_waypoint, 1)
        free = np.arange(first, len(trajectory))
        count = min(self.parameters.corrections_per_pass, len(free))
        if count == 0 or self.task.library is not None:
            return [int(waypoint) for waypoint in free]
        parts = np.array_split(free, count)
        candidates = [[int(rng.choice(part)) for part in parts] for _ in range(_CANDIDATES)]
        log_normalizers = [self._log_normalizer(trajectory, each, rng) for each in candidates]
        weights = np.exp(np.array(log_normalizers) - max(log_normalizers))
        return candidates[int(rng.choice(len(candidates), p=weights / weights.sum()))]

    def _log_normalizer(
        self, trajectory: Array, onsets: list[int], rng: np.random.Generator
    ) -> float:
        space, parameters = self.task.space, self.parameters
        deltas = rng.uniform(
            space.delta_low, space.delta_high, (_RANDOM_CORRECTIONS, len(onsets), space.dimensions)
        )
        deltas[..., list(space.given_axes)] = 0.0
        profiles = tail_shifts(onsets, len(trajectory))
        # (N, K, n, m)
        moved = np.cumsum(profiles[None, :, :, None] * deltas[:, :, None, :], axis=1)
        values = self._rewards(trajectory + moved).sum(axis=1)
        values -= parameters.effort * ((deltas**2).sum(axis=2) @ profiles.sum(axis=1))
        exponents = parameters.beta * np.where(np.isfinite(values), values, -np.inf)
        highest = float(exponents.max())
        return highest + float(np.log(np.exp(exponents - highest).mean()))

    def _rewards(self, trajectories: Array) -> Array:
        return np.asarray(self.task.evaluate(trajectories) @ self.theta)


def _wanted(parameters: ParticipantParameters, task: core.Task) -> Array:
    if not parameters.theta:
        if not task.presets:
            raise InvalidInputError(f'task {task.name!r} has no preset; theta must be given')
        return np.array(next(iter(task.presets.values())), dtype=np.float64)
    if len(parameters.theta) != task.size:
        raise InvalidInputError(
            f'theta has {len(parameters.theta)} weights, but task {task.name!r} has the '
            f'{task.size} features {", ".join(task.feature_names)}'
        )
    return np.array(parameters.theta)

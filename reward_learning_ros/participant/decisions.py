"""A simulated participant at the arm: who they are, and what they mean to do to each pass.

What each kind of person wants is theirs (`people`); here it becomes displacements of the tool off
the plan that is shown. No ROS.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reward_learning_ros import core
from reward_learning_ros.arm.description import FR3, ArmDescription
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.core.task import MAX_MOTOR_NOISE_M
from reward_learning_ros.interface import Plan
from reward_learning_ros.learning.tool_paths import ToolPaths
from reward_learning_ros.parameters import Parameters, parameter
from reward_learning_ros.participant.people import CONTENT, KINDS, LAZY, MODEL, PURPOSEFUL, Person

Array = NDArray[np.float64]

# θ* has seeds of its own: the same people as those of `make bench ARGS=learning`.
_THETA_SEED = 1000
_POSITION_AXES = ('x', 'y', 'z')


@dataclass(frozen=True, kw_only=True)
class ParticipantParameters(Parameters):
    """Parameters of a simulated participant: θ*, β*, and how they decide."""

    task: str = parameter('press', description='Name of the task')
    kind: str = parameter(
        PURPOSEFUL,
        description='What they do: draw a pass from the human model; guide the arm along their '
        'ideal; push once a pass; or guide it unless it is good enough',
        choices=KINDS,
    )
    theta: tuple[float, ...] = parameter(
        (),
        description='What they want, a weight for each feature; empty is a preset, or drawn from '
        'the prior by the seed',
    )
    preset: str = parameter(
        '', description='What they want, a preset of the task; empty is drawn from the prior'
    )
    beta: float = parameter(
        10.0, description='How reliably a model person picks', minimum=1e-3, maximum=1e4
    )
    motor_noise_m: float = parameter(
        0.003,
        description='Standard deviation along each axis of where the hand of the others ends up',
        minimum=0.0,
        maximum=MAX_MOTOR_NOISE_M,
        unit='m',
    )
    feature_noise_m: float = parameter(
        core.MOTOR_NOISE_M,
        description='They judge by features softened by this motor noise; 0 leaves them sharp',
        minimum=0.0,
        maximum=MAX_MOTOR_NOISE_M,
        unit='m',
    )
    min_push_m: float = parameter(
        0.015,
        description='They do not bother to push less far than this',
        minimum=0.0,
        maximum=1.0,
        unit='m',
    )
    content_share: float = parameter(
        0.1,
        description='Share of what the first plan lacked for them; less a content person puts up '
        'with',
        minimum=0.0,
        maximum=1.0,
    )
    seed: int = parameter(0, description='Of all random numbers', minimum=0)


class Intention(Protocol):
    """What a participant means to do to one pass of a plan."""

    @property
    def is_content(self) -> bool:
        """Whether they mean to leave a pass alone that nothing disturbs."""

    def target_m(self, waypoint: int, displacement_m: Array) -> Array | None:
        """Return how far off the shown plan (3,) the tool is wanted at a waypoint.

        Args:
            waypoint: The next that the arm comes to.
            displacement_m: (3,) of the tool from the plan now.

        Returns:
            The displacement, base frame; None if they do not bother.
        """


@dataclass(frozen=True, kw_only=True, eq=False)
class DecidedPass:
    """An intention that is fixed for the whole pass before it begins.

    Attributes:
        displacements_m: (n, 3) where each waypoint is to be brought, off the shown plan.
        is_pushed: (n,) whether they push there.
    """

    displacements_m: Array
    is_pushed: NDArray[np.bool_]

    @property
    def is_content(self) -> bool:
        """Whether they push nowhere."""
        return not self.is_pushed.any()

    def target_m(self, waypoint: int, displacement_m: Array) -> Array | None:
        """Return what was decided, wherever the tool is."""
        return self.displacements_m[waypoint] if self.is_pushed[waypoint] else None


@dataclass(frozen=True, kw_only=True, eq=False)
class GuidedPass:
    """A pass guided along an ideal: at each waypoint they look where the arm really is.

    Attributes:
        person: Who guides.
        paths: How trajectories look to the tool.
        plan: What is shown.
        number: Of the pass; seeds the motor noise, each waypoint's by itself.
    """

    person: PersonAtArm
    paths: ToolPaths
    plan: Plan
    number: int
    _ideal_m: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        ideal = self.paths.plan_of(self.person.ideal, self.plan.stamp_ns)
        object.__setattr__(self, '_ideal_m', ideal.positions)

    @property
    def is_content(self) -> bool:
        """Whether no waypoint is far from its ideal."""
        fixed = self.person.task.space.fixed_waypoints
        missing = np.linalg.norm(self._ideal_m - self.plan.positions, axis=1)
        return not (missing[fixed:] >= self.person.min_push_m).any()

    def target_m(self, waypoint: int, displacement_m: Array) -> Array | None:
        """Return where the hand ends up that brings the tool to its ideal, if it is far."""
        shown_m = self.plan.positions[waypoint]
        missing_m = self._ideal_m[waypoint] - shown_m - displacement_m
        if np.linalg.norm(missing_m) < self.person.min_push_m:
            return None
        rng = np.random.default_rng([self.person.seed, self.number, waypoint])
        pushed_m = self._by_hand(missing_m, shown_m + displacement_m, rng)
        return np.asarray(displacement_m + pushed_m)

    def _by_hand(self, missing_m: Array, position_m: Array, rng: np.random.Generator) -> Array:
        """Return what a hand makes of a wanted push (3,), within the bounds of the task."""
        names = self.person.task.axis_names
        axes = [axis for axis, name in enumerate(_POSITION_AXES) if name in names]
        columns = [names.index(_POSITION_AXES[axis]) for axis in axes]
        if not columns:
            # Bounds of joints say little of the tool.
            return missing_m + self.person.motor_noise_m * rng.standard_normal(3)
        wanted, position = np.zeros((2, self.person.task.space.dimensions))
        wanted[columns] = missing_m[axes]
        position[columns] = position_m[axes]
        pushed_m = np.zeros(3)
        pushed_m[axes] = self.person.by_hand(wanted, position, rng)[columns]
        return pushed_m


class Participant:
    """A person with a θ* of their own, who decides what to correct in each pass.

    Attributes:
        parameters: what they are like.
        person: what they want.
        paths: how trajectories look to the tool.
    """

    def __init__(
        self, parameters: ParticipantParameters, description: ArmDescription = FR3
    ) -> None:
        """Think of what to want.

        Args:
            parameters: What they are like.
            description: The arm that is pushed.

        Raises:
            InvalidInputError: There is no such task, or θ* does not fit it.
        """
        self.parameters = parameters
        task = core.load_task(parameters.task).softened(parameters.feature_noise_m)
        self.paths = ToolPaths(task=task, description=description)
        self.person = PersonAtArm(
            kind=parameters.kind,
            task=task,
            theta=wanted_theta(parameters, task),
            beta=parameters.beta,
            motor_noise_m=parameters.motor_noise_m,
            min_push_m=parameters.min_push_m,
            content_share=parameters.content_share,
            seed=parameters.seed,
        )
        self._passes = 0

    @property
    def task(self) -> core.Task:
        """What the arm does, by the features that they judge by."""
        return self.person.task

    @property
    def theta(self) -> Array:
        """θ* (d,)."""
        return self.person.theta

    @property
    def ideal(self) -> Array:
        """The trajectory (n, m) that they have in mind; takes its time at first."""
        return self.person.ideal

    def regret_of(self, trajectory: ArrayLike) -> float:
        """Return what a trajectory (n, m) lacks for them."""
        return self.person.regret_of(trajectory)

    def intend(self, plan: Plan, *, has_pushed: bool = False) -> Intention:
        """Think about a plan that is shown; each call is another pass.

        Args:
            plan: What is shown.
            has_pushed: Whether it took the place of one that they pushed in the same pass.
        """
        self._passes += 1
        trajectory = self.paths.trajectory_of(plan)
        person = self.person
        if person.kind in (PURPOSEFUL, CONTENT) and not person.accepts(trajectory):
            return GuidedPass(person=person, paths=self.paths, plan=plan, number=self._passes)
        fixed = self.task.space.fixed_waypoints
        deltas = np.zeros_like(trajectory)
        if person.kind == MODEL or (person.kind == LAZY and not has_pushed):
            deltas[fixed:] = person.deltas(trajectory)
        moved = self.paths.plan_of(trajectory + deltas.cumsum(axis=0), plan.stamp_ns)
        return DecidedPass(
            displacements_m=moved.positions - plan.positions,
            is_pushed=np.asarray(deltas.any(axis=1)),
        )


class PersonAtArm(Person):
    """A person whose wishes an arm can ask for, waypoint by waypoint."""

    def accepts(self, plan: Array) -> bool:
        """Tell whether a plan (n, m) is good enough to be left alone; only content people do."""
        if self.kind != CONTENT:
            return False
        return self.regret_of(plan) <= self.content_share * self.regret_of(self.task.plan)

    def by_hand(self, wanted: Array, position: Array, rng: np.random.Generator) -> Array:
        """Return what their hand makes of a wanted push (m,) from a position, within bounds."""
        return self._by_hand(wanted, position, rng)

    def _draw(self, plan: Array, rng: np.random.Generator) -> Array:
        """Draw a pass; of a library, a member towards which they go waypoint by waypoint."""
        if self.task.library is None:
            return super()._draw(plan, rng)
        sequence = core.simulate_corrections(
            self.task,
            self.theta,
            beta=self.beta,
            count=1,
            dependence='independent',
            plan=plan,
            seed=int(rng.integers(2**31)),
        )
        fixed = self.task.space.fixed_waypoints
        moved = sequence.corrected[0][fixed:] - plan[fixed:]
        return np.diff(moved, axis=0, prepend=np.zeros((1, plan.shape[1])))


def wanted_theta(parameters: ParticipantParameters, task: core.Task) -> Array:
    """Return θ* (d,): as given, a preset's, or drawn from the task's prior by the seed.

    Raises:
        InvalidInputError: What is given does not fit the task.
    """
    if parameters.theta and parameters.preset:
        raise InvalidInputError('theta and preset are both given; allowed: one of them')
    if parameters.preset:
        if parameters.preset not in task.presets:
            raise UnknownNameError(
                f'preset of task {task.name!r}', parameters.preset, task.presets
            )
        return np.array(task.presets[parameters.preset], dtype=np.float64)
    if not parameters.theta:
        assert isinstance(task.theta, core.ThetaDomain)
        rng = np.random.default_rng([_THETA_SEED, parameters.seed])
        return np.asarray(task.theta.sample(1, rng)[0])
    if len(parameters.theta) != task.size:
        raise InvalidInputError(
            f'theta has {len(parameters.theta)} weights, but task {task.name!r} has the '
            f'{task.size} features {", ".join(task.feature_names)}'
        )
    return np.array(parameters.theta)

"""A task: what a trajectory is worth, which trajectories there are, and where the plan starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from reward_learning_ros.core.checks import finite_array, number_between, positive_number
from reward_learning_ros.core.domain import ThetaDomain
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.grid import FeatureSource
from reward_learning_ros.core.scenery import Prediction, SceneObject

if TYPE_CHECKING:
    from reward_learning_ros.core.library import TrajectoryLibrary

# More than this is no noise of a hand.
MAX_MOTOR_NOISE_M = 0.1


@dataclass(frozen=True, kw_only=True, eq=False)
class TrajectorySpace:
    """The trajectories that corrections can make of a plan (Ξ in the paper).

    A correction moves the plan by a delta within a box, from some waypoint on. The trajectory
    space holds what one correction at each waypoint, the fixed ones apart, can make of the plan.

    Attributes:
        delta_low: (m,) smallest delta of a correction.
        delta_high: (m,) largest delta of a correction.
        workspace_low: (m,) where the driven waypoints must stay; −∞ by default.
        workspace_high: (m,) likewise; +∞ by default.
        fixed_waypoints: How many waypoints at the start no correction moves.
        given_axes: Axes whose values belong to the datum and not to the choice, such as the state
            in a state–action pair.
    """

    delta_low: np.ndarray
    delta_high: np.ndarray
    workspace_low: Any = None
    workspace_high: Any = None
    fixed_waypoints: int = 1
    given_axes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        low = finite_array(self.delta_low, 'delta_low', (None,))
        high = finite_array(self.delta_high, 'delta_high', low.shape)
        for axis in np.flatnonzero(~(low < high)):
            raise InvalidInputError(
                f'delta_low[{axis}] is {low[axis]:g} and delta_high[{axis}] is {high[axis]:g}; '
                'the lower one must be smaller'
            )
        unbounded = np.full(low.shape, np.inf)
        bounds = []
        for name, default in (('workspace_low', -unbounded), ('workspace_high', unbounded)):
            value = getattr(self, name)
            array = np.array(default if value is None else value, dtype=np.float64)
            if array.shape != low.shape or np.isnan(array).any():
                raise InvalidInputError(f'{name} must be {len(low)} numbers, not {value!r}')
            array.setflags(write=False)
            bounds.append(array)
        for axis in np.flatnonzero(~(bounds[0] < bounds[1])):
            raise InvalidInputError(f'the workspace is empty along axis {axis}')
        for given in self.given_axes:
            if not 0 <= given < len(low):
                raise InvalidInputError(f'given axis {given} is none of the {len(low)} axes')
        object.__setattr__(self, 'delta_low', low)
        object.__setattr__(self, 'delta_high', high)
        object.__setattr__(self, 'workspace_low', bounds[0])
        object.__setattr__(self, 'workspace_high', bounds[1])

    @property
    def dimensions(self) -> int:
        """The number of coordinates m of a waypoint."""
        return len(self.delta_low)


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """A task for which a person's θ is to be learned.

    Attributes:
        name: By which it is found.
        feature_names: What each of the d features is.
        features: Ordinary Python over one trajectory, `(n, m) array → d numbers`; or where they
            come from, such as a library of simulated trajectories.
        plan: (n, m) the initial plan.
        space: The trajectories that corrections can make of it.
        theta: Where θ may be: a domain, or the name of its kind.
        duration_sec: How long the plan is driven.
        presets: θ by name, to be taught in a study.
        axis_names: What each coordinate of a waypoint is.
        description: One sentence.
        scene: What stands around the arm, to be drawn.
        predict: What one trajectory (n, m) does to the scene; None where nothing moves.
        motor_noise_m: Standard deviation of where a hand ends up along each axis; features are
            those of what was meant, softened by as much. 0 leaves them as they are.
        soft_features: The features for a motor noise, compiled; None averages `features` over
            perturbed waypoints.
    """

    name: str
    feature_names: tuple[str, ...]
    features: Callable[..., Any] | FeatureSource
    plan: np.ndarray
    space: TrajectorySpace
    theta: ThetaDomain | str = 'unit_nonnegative'
    duration_sec: float = 20.0
    presets: Mapping[str, np.ndarray] = field(default_factory=dict)
    axis_names: tuple[str, ...] = ('x', 'y', 'z')
    description: str = ''
    scene: tuple[SceneObject, ...] = ()
    predict: Callable[[np.ndarray], Prediction] | None = None
    motor_noise_m: float = 0.0
    soft_features: Callable[[float], Any] | None = None

    def __post_init__(self) -> None:
        if not self.feature_names:
            raise InvalidInputError(f'task {self.name!r} names no feature')
        if not callable(self.features) and not isinstance(self.features, FeatureSource):
            raise InvalidInputError(f'features of task {self.name!r} is not a function')
        plan = finite_array(self.plan, 'plan', (None, self.space.dimensions))
        if not 0 <= self.space.fixed_waypoints < len(plan):
            raise InvalidInputError(
                f'{self.space.fixed_waypoints} of {len(plan)} waypoints are fixed; at least one '
                'must be free'
            )
        object.__setattr__(self, 'plan', plan)
        object.__setattr__(self, 'theta', ThetaDomain.parse(self.theta, self.size))
        positive_number(self.duration_sec, 'duration_sec')
        number_between(self.motor_noise_m, 'motor_noise_m', 0.0, MAX_MOTOR_NOISE_M)
        for name, theta in self.presets.items():
            finite_array(theta, f'preset {name!r}', (self.size,))

    @property
    def size(self) -> int:
        """The number of features d."""
        return len(self.feature_names)

    @cached_property
    def compiled_features(self) -> Callable[[np.ndarray, np.ndarray], None]:
        """The features as the kernels call them: `(trajectory, out)`."""
        from reward_learning_ros.core.compiled import compile_features

        if isinstance(self.features, FeatureSource):
            return self.features.compiled()
        if self.motor_noise_m > 0.0 and self.soft_features is not None:
            soft: Callable[[np.ndarray, np.ndarray], None] = self.soft_features(self.motor_noise_m)
            return soft
        compiled = compile_features(self.features, self.size)
        if self.motor_noise_m > 0.0:
            from reward_learning_ros.core.motor_noise import averaged, perturbations

            noise = perturbations(
                self.plan.shape,
                self.space.fixed_waypoints,
                self._perturbed_axes,
                self.motor_noise_m,
            )
            return averaged(compiled, noise)
        return compiled

    def softened(self, motor_noise_m: float) -> Task:
        """Return the task for hands with a motor noise, in metres.

        Outcomes of physics are interpolated between simulated ones and stay as they are.
        """
        if self.needs_preparation:
            return self
        return replace(self, motor_noise_m=motor_noise_m)

    @property
    def _perturbed_axes(self) -> tuple[int, ...]:
        """The axes in which a hand is noisy: those of the position that are no given ones."""
        return tuple(
            index
            for index, name in enumerate(self.axis_names)
            if name in ('x', 'y', 'z') and index not in self.space.given_axes
        )

    @cached_property
    def library(self) -> TrajectoryLibrary | None:
        """The trajectories that there are, if the trajectory space is a library of them."""
        from reward_learning_ros.core.library import TrajectoryLibrary

        return self.features if isinstance(self.features, TrajectoryLibrary) else None

    @property
    def needs_preparation(self) -> bool:
        """Whether its features come from something that takes minutes to make, but only once."""
        return isinstance(self.features, FeatureSource)

    def prepare(self) -> None:
        """Make now what its features come from, instead of when they are needed."""
        if isinstance(self.features, FeatureSource):
            self.features.prepare()

    def evaluate(self, trajectories: Any) -> np.ndarray:
        """Return the features (…, d) of one trajectory (n, m) or of many (…, n, m)."""
        array = np.array(trajectories, dtype=np.float64)
        if array.shape[-2:] != self.plan.shape:
            raise InvalidInputError(
                f'trajectories of task {self.name!r} have shape {self.plan.shape}, '
                f'not {array.shape[-2:]}'
            )
        if isinstance(self.features, FeatureSource):
            return self.features.evaluate(array)
        values = np.empty((*array.shape[:-2], self.size))
        for index in np.ndindex(array.shape[:-2]):
            self.compiled_features(array[index], values[index])
        return values

"""Simulated people of four kinds: what each does to the arm in one pass of a plan, without an arm.

*Model* people draw what they do to the whole pass from the human model. *Purposeful* ones guide
the arm along the trajectory that they have in mind, as well as their hand can. *Lazy* ones push
once a pass, where it matters most. *Content* ones guide it too, but accept what is good enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reward_learning_ros import core
from reward_learning_ros.core.checks import finite_array, number_between
from reward_learning_ros.core.errors import UnknownNameError

Array = NDArray[np.float64]

MODEL, PURPOSEFUL, LAZY, CONTENT = 'model', 'purposeful', 'lazy', 'content'
KINDS = (MODEL, PURPOSEFUL, LAZY, CONTENT)


@dataclass(frozen=True, kw_only=True, eq=False)
class Person:
    """A simulated person: θ*, β*, and how they correct a plan.

    Attributes:
        kind: `model`, `purposeful`, `lazy` or `content`.
        task: What the arm does.
        theta: (d,) θ*.
        beta: How reliably a model person picks what they want.
        motor_noise_m: Standard deviation along each axis of where the hand of the others ends up.
        min_push_m: They do not bother to push less far than this.
        content_share: Share of what the task's first plan lacked for them; less a content person
            puts up with.
        seed: Of all random numbers.
    """

    kind: str
    task: core.Task
    theta: Array
    beta: float = 10.0
    motor_noise_m: float = 0.003
    min_push_m: float = 0.015
    content_share: float = 0.1
    seed: int = 0
    _passes: list[int] = field(default_factory=lambda: [0], init=False, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnknownNameError('kind of person', self.kind, KINDS)
        object.__setattr__(self, 'theta', finite_array(self.theta, 'theta', (self.task.size,)))
        for name in ('motor_noise_m', 'min_push_m', 'content_share'):
            number_between(getattr(self, name), name, 0.0, 1.0)

    @cached_property
    def ideal(self) -> Array:
        """The trajectory (n, m) that they have in mind."""
        return core.plan(self.task, self.theta)

    def reward_of(self, trajectory: ArrayLike) -> float:
        """Return what a trajectory (n, m) is worth to them."""
        return float(self.task.evaluate(trajectory) @ self.theta)

    def regret_of(self, trajectory: ArrayLike) -> float:
        """Return what a trajectory (n, m) lacks for them."""
        return max(0.0, self.reward_of(self.ideal) - self.reward_of(trajectory))

    def correct(self, plan: ArrayLike) -> core.CorrectionSequence:
        """Return what they do to a pass of a plan (n, m), silence included."""
        shown = np.array(plan, dtype=np.float64)
        return core.CorrectionSequence.from_pass(shown, self.deltas(shown))

    def deltas(self, plan: Array) -> Array:
        """Return by how much (k, m) they move each free waypoint and all later ones.

        Each call is another pass, and draws other random numbers.
        """
        self._passes[0] += 1
        rng = np.random.default_rng([self.seed, self._passes[0]])
        decide: dict[str, Callable[[Array, np.random.Generator], Array]] = {
            MODEL: self._draw,
            PURPOSEFUL: self._guide,
            LAZY: self._push_once,
            CONTENT: self._guide_unless_content,
        }
        return decide[self.kind](plan, rng)

    def _draw(self, plan: Array, rng: np.random.Generator) -> Array:
        seed = int(rng.integers(2**31))
        if self.task.library is not None:
            # Whole trajectories, none built on another: they show one.
            sequence = core.simulate_corrections(
                self.task,
                self.theta,
                beta=self.beta,
                count=1,
                dependence='independent',
                seed=seed,
            )
        else:
            sequence = core.simulate_corrections(
                self.task,
                self.theta,
                beta=self.beta,
                count=len(plan) - self.task.space.fixed_waypoints,
                plan=plan,
                seed=seed,
            )
        moved = sequence.corrected[-1][self.task.space.fixed_waypoints :]
        moved = moved - plan[self.task.space.fixed_waypoints :]
        return np.diff(moved, axis=0, prepend=np.zeros((1, plan.shape[1])))

    def _guide(self, plan: Array, rng: np.random.Generator) -> Array:
        """Bring each waypoint to where it ought to be; what was moved stays moved."""
        fixed = self.task.space.fixed_waypoints
        deltas = np.zeros((len(plan) - fixed, plan.shape[1]))
        moved = np.zeros(plan.shape[1])
        for row, (ideal, shown) in enumerate(zip(self.ideal[fixed:], plan[fixed:], strict=True)):
            missing = ideal - shown - moved
            if np.linalg.norm(missing) >= self.min_push_m:
                deltas[row] = self._by_hand(missing, shown + moved, rng)
                moved = moved + deltas[row]
        return deltas

    def _guide_unless_content(self, plan: Array, rng: np.random.Generator) -> Array:
        good_enough = self.content_share * self.regret_of(self.task.plan)
        if self.regret_of(plan) <= good_enough:
            return np.zeros_like(plan[self.task.space.fixed_waypoints :])
        return self._guide(plan, rng)

    def _push_once(self, plan: Array, rng: np.random.Generator) -> Array:
        """Push where one push towards the ideal helps most, if any does."""
        fixed = self.task.space.fixed_waypoints
        space = self.task.space
        deltas = np.zeros((len(plan) - fixed, plan.shape[1]))
        best, chosen, wanted = self.reward_of(plan), -1, np.zeros(plan.shape[1])
        for row in range(len(deltas)):
            push = np.clip(
                self.ideal[fixed + row] - plan[fixed + row], space.delta_low, space.delta_high
            )
            tried = plan.copy()
            tried[fixed + row :] += push
            inside = (tried[fixed:] >= space.workspace_low).all()
            inside = inside and (tried[fixed:] <= space.workspace_high).all()
            reward = self.reward_of(tried) if inside else -np.inf
            if reward > best and np.linalg.norm(push) >= self.min_push_m:
                best, chosen, wanted = reward, row, push
        if chosen >= 0:
            deltas[chosen] = self._by_hand(wanted, plan[fixed + chosen], rng)
        return deltas

    def _by_hand(self, wanted: Array, position: Array, rng: np.random.Generator) -> Array:
        """Return what a hand makes of a wanted push (m,) from a position, within all bounds."""
        space = self.task.space
        noise = self.motor_noise_m * rng.standard_normal(len(wanted))
        low = np.maximum(space.delta_low, np.minimum(space.workspace_low - position, 0.0))
        high = np.minimum(space.delta_high, np.maximum(space.workspace_high - position, 0.0))
        pushed = np.clip(wanted + noise, low, high)
        pushed[list(space.given_axes)] = 0.0
        return np.asarray(pushed)

"""Weighted points of θ, β, …: importance sampling of a posterior whose density is known.

Points live in the unit cube, which the prior's domain maps to θ, log β, …, uniform to uniform.
They begin as a quasi-random sequence; more are drawn where the weights are, from a mixture of
kernels around the points so far. Each point is weighted by the density over the mixture of all
that points were drawn from (the balance heuristic), so none of it needs to fit the posterior.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reward_learning_ros.core.compiled import flat_log_prior
from reward_learning_ros.core.samplers.base import Problem

# Kernels that new points are drawn around, at most.
KERNELS = 64
# The smallest log density that is told from nothing.
FARTHEST = -300.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Kernels:
    """A mixture of normal kernels in the unit cube, folded at its faces.

    Attributes:
        centers: (J, P)
        widths: (P,) standard deviations; 0 where a coordinate decides nothing.
        count: How many points were drawn from it.
    """

    centers: np.ndarray
    widths: np.ndarray
    count: int

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return points (count, P)."""
        chosen = self.centers[np.arange(self.count) % len(self.centers)]
        folded = np.abs(chosen + self.widths * rng.standard_normal(chosen.shape)) % 2.0
        return np.where(folded > 1.0, 2.0 - folded, folded)

    def log_density(self, cube: np.ndarray) -> np.ndarray:
        """Return the log density (M,) at points (M, P)."""
        exponents = np.zeros((len(cube), len(self.centers)))
        for axis in np.flatnonzero(self.widths):
            distance = (cube[:, axis, None] - self.centers[:, axis]) / self.widths[axis]
            around = (cube[:, axis, None] + self.centers[:, axis]) / self.widths[axis]
            beyond = around - 2.0 / self.widths[axis]
            # The faces that a kernel may be folded at. Beyond the limit it adds nothing, and
            # numbers smaller than that take a processor a hundred times longer.
            density = sum(
                np.exp(np.maximum(-0.5 * each**2, FARTHEST)) for each in (distance, around, beyond)
            )
            exponents += np.log(density) - np.log(self.widths[axis] * np.sqrt(2.0 * np.pi))
        largest = exponents.max(axis=1)
        shares = np.exp(np.maximum(exponents - largest[:, None], FARTHEST)).mean(axis=1)
        return np.asarray(largest + np.log(shares))


@dataclass(frozen=True, kw_only=True, eq=False)
class Points:
    """Points of θ, β, … with what they were drawn from.

    Attributes:
        cube: (M, P) in the unit cube.
        draws: (M, P) θ, β, … as a draw has them.
        etas: (M, S) weights η.
        log_prior: (M,) log density of the prior over the uniform one.
        log_origin: (M,) log density, times their number, of what all points were drawn from.
        first: How many points were drawn from the uniform distribution.
        origins: What the others were drawn from.
    """

    cube: np.ndarray
    draws: np.ndarray
    etas: np.ndarray
    log_prior: np.ndarray
    log_origin: np.ndarray
    first: int
    origins: tuple[Kernels, ...] = ()

    @classmethod
    def of_prior(cls, problem: Problem, count: int, rng: np.random.Generator) -> Points:
        """Return quasi-random points of the prior, shifted at random."""
        cube = (_roberts(count, problem.unknowns) + rng.random(problem.unknowns)) % 1.0
        log_origin = np.full(count, np.log(count))
        return cls(cube=cube, first=count, log_origin=log_origin, **_evaluated(problem, cube))

    def rows(self, chosen: np.ndarray) -> Points:
        """Return some of the points; what all were drawn from stays what it was."""
        return replace(
            self,
            cube=self.cube[chosen],
            draws=self.draws[chosen],
            etas=self.etas[chosen],
            log_prior=self.log_prior[chosen],
            log_origin=self.log_origin[chosen],
        )

    def extended(
        self,
        problem: Problem,
        weights: np.ndarray,
        count: int,
        least_width: float,
        rng: np.random.Generator,
    ) -> tuple[Points, np.ndarray]:
        """Return these points with more where the weights (M,) are, and η (count, S) of those."""
        mean = weights @ self.cube
        spread = np.sqrt(weights @ (self.cube - mean) ** 2)
        free = spread_matters(problem)
        effective = min(1.0 / (weights @ weights), KERNELS)
        # Silverman's rule, for as many kernels as count.
        narrowing = (4.0 / ((free.sum() + 2.0) * effective)) ** (1.0 / (free.sum() + 4.0))
        kernels = Kernels(
            centers=self.cube[systematic(weights, min(KERNELS, count), rng)],
            widths=np.where(free, np.maximum(spread * min(1.0, narrowing), least_width), 0.0),
            count=count,
        )
        cube = kernels.draw(rng)
        origins = (*self.origins, kernels)
        log_origin = np.full(count, np.log(self.first))
        for each in origins:
            log_origin = np.logaddexp(log_origin, np.log(each.count) + each.log_density(cube))
        new = {'cube': cube, 'log_origin': log_origin, **_evaluated(problem, cube)}
        log_count = np.log(count)
        old = {
            **{name: getattr(self, name) for name in new},
            'log_origin': np.logaddexp(
                self.log_origin, log_count + kernels.log_density(self.cube)
            ),
        }
        joined: dict[str, Any] = {name: np.concatenate([old[name], new[name]]) for name in new}
        return replace(self, **joined, origins=origins), new['etas']


def spread_matters(problem: Problem) -> np.ndarray:
    """Return which coordinates (P,) of the cube decide something: those of what is not known."""
    rest = [problem.beta, *(each for each in (problem.alpha, problem.bother) if each is not None)]
    return np.array([True] * problem.size + [each.low < each.high for each in rest])


def systematic(weights: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return indices (count,) drawn by weights (M,) that sum to one, with the least noise."""
    edges = np.cumsum(weights)
    marks = (np.arange(count) + rng.random()) / count * edges[-1]
    return np.asarray(np.minimum(np.searchsorted(edges, marks, side='right'), len(weights) - 1))


def _roberts(count: int, size: int) -> np.ndarray:
    """Return a sequence (count, size) that fills the unit cube evenly."""
    ratio = 1.5
    for _ in range(64):
        ratio = (1.0 + ratio) ** (1.0 / (size + 1))
    steps = ratio ** -np.arange(1.0, size + 1)
    return np.asarray((np.arange(1, count + 1)[:, None] * steps) % 1.0)


def _evaluated(problem: Problem, cube: np.ndarray) -> dict[str, Any]:
    """Return draws, weights η and log prior of points (M, P) of the cube."""
    size = problem.size
    theta = problem.domain.from_unit_cube(cube[:, :size])
    low, high = np.log([problem.beta.low, problem.beta.high])
    rest = [np.exp(low + (high - low) * cube[:, size])]
    if problem.alpha is not None:
        low, high = np.log([problem.alpha.low, problem.alpha.high])
        rest.append(np.exp(low + (high - low) * cube[:, size + 1]))
    if problem.bother is not None:
        low, high = problem.bother.low, problem.bother.high
        rest.append(low + (high - low) * cube[:, -1])
    draws = np.column_stack([theta, *rest])
    log_prior = np.zeros(len(cube))
    if problem.log_prior is not flat_log_prior:
        log_prior = np.array([problem.log_prior(row) for row in np.ascontiguousarray(theta)])
        log_prior[np.isnan(log_prior)] = -np.inf
    return {'draws': draws, 'etas': natural_weights(problem, draws), 'log_prior': log_prior}


def natural_weights(problem: Problem, draws: np.ndarray) -> np.ndarray:
    """Return the weights η (M, S) of draws (M, P) of θ, β, …."""
    size = problem.size
    beta = draws[:, size]
    rest = [beta if problem.alpha is None else draws[:, size + 1]]
    if problem.bother is not None:
        rest.append(draws[:, -1])
    return np.column_stack([draws[:, :size] * beta[:, None], *rest])

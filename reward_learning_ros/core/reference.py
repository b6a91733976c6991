"""Reference posteriors: by reweighting a large pool, and by quadrature in small spaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from reward_learning_ros.core.checks import finite_array, positive_number, whole_number
from reward_learning_ros.core.domain import UNIT_NONNEGATIVE, ThetaDomain
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.human_model import INDEPENDENT, HumanModel, gather_evidence
from reward_learning_ros.core.inference import Inference
from reward_learning_ros.core.posterior import Posterior
from reward_learning_ros.core.samplers.base import Settings
from reward_learning_ros.core.samplers.reference_sampling import Reference, UniformReference
from reward_learning_ros.core.task import Task

# More dimensions of the trajectory space than this are beyond a grid.
MAX_QUADRATURE_DIMENSIONS = 2
SETTINGS = Settings(warmup=800, batch=500, thin=4, target_ess=1500.0, max_draws=4000)


def reference_posterior(
    task: Task, corrections: Any, *, uniform: bool = False, **options: Any
) -> Posterior:
    """Return the near-exact posterior, from normalizers reweighted out of a large pool.

    Args:
        task: What is corrected.
        corrections: As for `infer`.
        uniform: Use a pool of uniform corrections: right by definition, but for a small β only.
        options: As for `Inference`, without `method`.

    Raises:
        NotCoveredError: The pool does not cover the posterior.
    """
    options.setdefault('settings', SETTINGS)
    sampler = UniformReference if uniform else Reference
    inference = Inference(task, corrections, method='reference', sampler=sampler, **options)
    posterior = inference.run()
    assert isinstance(inference.sampler, Reference)
    others = {name: draws.reshape(-1) for name, draws in posterior.others.items()}
    inference.sampler.check(posterior.samples, posterior.beta_samples, others)
    return posterior


@dataclass(frozen=True, kw_only=True, eq=False)
class GridPosterior:
    """A posterior on a grid of θ.

    Attributes:
        theta: (G, d) the grid.
        probability: (G,) of each point; sums to one.
        angle: (G,) of θ = (cos, sin) in radians, if θ is a unit vector of two components.
    """

    theta: np.ndarray
    probability: np.ndarray
    angle: np.ndarray | None = None

    @property
    def mean(self) -> np.ndarray:
        """The posterior mean of θ (d,)."""
        mean: np.ndarray = self.probability @ self.theta
        return mean

    def total_variation(self, posterior: Posterior, bins: int = 20) -> float:
        """Return the total variation between this and draws, over bins of the angle."""
        if self.angle is None:
            raise InvalidInputError('total variation is for θ on a quarter circle')
        edges = np.linspace(0.0, np.pi / 2, bins + 1)
        drawn = np.arctan2(posterior.samples[:, 1], posterior.samples[:, 0])
        expected, _ = np.histogram(self.angle, bins=edges, weights=self.probability)
        found, _ = np.histogram(drawn, bins=edges)
        return float(0.5 * np.abs(found / found.sum() - expected).sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class TrajectoryQuadrature:
    """All trajectories of a small trajectory space, as nodes with weights.

    Attributes:
        features: (N, d) of each node.
        log_weights: (N,) of each node; the weights sum to one.
    """

    features: np.ndarray
    log_weights: np.ndarray

    @classmethod
    def of(cls, task: Task, nodes: int = 400) -> TrajectoryQuadrature:
        """Return Gauss–Legendre nodes over the deltas of a task's trajectory space."""
        whole_number(nodes, 'nodes', 2)
        space = task.space
        free = len(task.plan) - space.fixed_waypoints
        dimensions = free * space.dimensions
        bounded = np.isfinite(space.workspace_low).any() or np.isfinite(space.workspace_high).any()
        if dimensions > MAX_QUADRATURE_DIMENSIONS or bounded or space.given_axes:
            raise InvalidInputError(
                f'the trajectory space of task {task.name!r} is too large for quadrature '
                f'({dimensions} dimensions; at most {MAX_QUADRATURE_DIMENSIONS}, without a '
                'workspace)'
            )
        points, weights = np.polynomial.legendre.leggauss(nodes)
        grids = np.meshgrid(*[points] * dimensions, indexing='ij')
        cube = np.stack(grids, axis=-1).reshape(-1, free, space.dimensions)
        log_weights = sum(
            np.log(grid / 2.0) for grid in np.meshgrid(*[weights] * dimensions, indexing='ij')
        )
        middle = (space.delta_low + space.delta_high) / 2.0
        deltas = middle + (space.delta_high - space.delta_low) / 2.0 * cube
        trajectories = np.tile(task.plan, (len(deltas), 1, 1))
        trajectories[:, space.fixed_waypoints :] += np.cumsum(deltas, axis=1)
        return cls(features=task.evaluate(trajectories), log_weights=np.reshape(log_weights, -1))

    def log_normalizer(self, theta: Any, beta: float) -> np.ndarray:
        """Return log Z(θ) (G,) for θ (G, d), up to the volume of the space (equation P3)."""
        exponents = beta * np.atleast_2d(theta) @ self.features.T + self.log_weights
        largest = exponents.max(axis=1)
        total = np.exp(exponents - largest[:, None]).sum(axis=1)
        return np.asarray(largest + np.log(total))


def belief(
    task: Task, trajectories: Any, thetas: Any, beta: float, log_normalizers: Any
) -> np.ndarray:
    """Return P(θ | D) (G,) over discrete θ (G, d) with equal prior (equations P1, A3).

    Args:
        task: The task.
        trajectories: (K, n, m) independent trajectories.
        thetas: (G, d) the θ that there are.
        beta: The person's rationality.
        log_normalizers: (G,) log Z of each θ: exact, or any approximation of it.
    """
    data = np.asarray(trajectories, dtype=np.float64)
    log_probability = positive_number(beta, 'beta') * np.atleast_2d(thetas) @ (
        task.evaluate(data).sum(axis=0)
    ) - len(data) * np.asarray(log_normalizers)
    probability = np.exp(log_probability - log_probability.max())
    return np.asarray(probability / probability.sum())


def quadrature_posterior(
    task: Task, corrections: Any, *, beta: float, points: int = 4000, nodes: int = 400
) -> GridPosterior:
    """Return the exact posterior of θ on a quarter circle, from independent trajectories."""
    domain = task.theta
    assert isinstance(domain, ThetaDomain)
    if domain.kind != UNIT_NONNEGATIVE or domain.size != 2:
        raise InvalidInputError('quadrature is for θ that are unit vectors of two components')
    model = HumanModel(dependence=INDEPENDENT, beta=beta)
    evidence = gather_evidence(task, corrections, model)
    angle = (np.arange(points) + 0.5) / points * (np.pi / 2)
    theta = np.column_stack([np.cos(angle), np.sin(angle)])
    data = np.sum([block.statistics[:-1] for block in evidence.blocks], axis=0)
    log_normalizer = TrajectoryQuadrature.of(task, nodes).log_normalizer(theta, beta)
    log_probability = beta * theta @ data - len(evidence.blocks) * log_normalizer
    probability = np.exp(log_probability - log_probability.max())
    return GridPosterior(
        theta=finite_array(theta, 'theta', (points, 2)),
        probability=probability / probability.sum(),
        angle=angle,
    )

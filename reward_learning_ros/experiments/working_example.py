"""The paper's working example: how wrong a belief is when its normalizer is approximated.

A cup is held horizontally (θ = 0) or vertically (θ = π/2); a person demonstrates one angle. The
belief that they want it horizontal (equation M1) is exact with the normalizers by quadrature, and
off by the belief error with any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp

from reward_learning_ros.core.checks import whole_number
from reward_learning_ros.core.reference import TrajectoryQuadrature
from reward_learning_ros.tasks import load_task

# θ = 0 and θ = π/2, as weights (cos θ, sin θ).
HORIZONTAL_OR_VERTICAL = np.array([[1.0, 0.0], [0.0, 1.0]])
# Figure 2, left and right: how rational the person is.
SHOWN_BETAS = (0.1, 0.5, 1.0, 5.0)
BETAS = tuple(np.geomspace(0.1, 100.0, 31))
# Figure 2, middle: N of the sampling method at one β.
SAMPLES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
SAMPLES_BETA = 1.0
# Figure 3: N = 10, 100 runs, two β over the demonstrations and more of them on average.
COMPARED_SAMPLES = 10
COMPARED_BETAS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
CLOSE_UP_BETAS = (0.5, 5.0)
RUNS = 100
DEMONSTRATIONS = 101


@dataclass(frozen=True, kw_only=True, eq=False)
class WorkingExample:
    """Belief errors, by the panels of the paper's figures 2 and 3.

    Errors of sampling are means over runs, with standard errors beside them. Where no
    demonstration is named, errors are means over all of them.

    Attributes:
        angles_rad: (D,) the demonstrated angles.
        ignore: (B, D) error of ignoring the normalizer, for `SHOWN_BETAS`.
        sampling_by_count: (N, 2) mean and standard error for `SAMPLES`, at β = 1.
        ignore_by_beta: (B,) error of ignoring, for `BETAS`.
        maximum_by_beta: (B,) error of the maximum, for `BETAS`.
        close_up_sampling: (2, D, 2) mean and standard error, for `CLOSE_UP_BETAS`.
        close_up_maximum: (2, D) error of the maximum.
        compared_sampling: (B, 2) mean and standard error, for `COMPARED_BETAS`.
        compared_maximum: (B,) error of the maximum.
    """

    angles_rad: np.ndarray
    ignore: np.ndarray
    sampling_by_count: np.ndarray
    ignore_by_beta: np.ndarray
    maximum_by_beta: np.ndarray
    close_up_sampling: np.ndarray
    close_up_maximum: np.ndarray
    compared_sampling: np.ndarray
    compared_maximum: np.ndarray

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield every number of the figures as a row of one tidy table."""
        for beta, errors in zip(SHOWN_BETAS, self.ignore, strict=True):
            yield from self._by_angle('2 left', 'ignore', beta, errors)
        for count, (mean, se) in zip(SAMPLES, self.sampling_by_count, strict=True):
            yield _row('2 middle', 'sampling', SAMPLES_BETA, mean, se=se, samples=count)
        for name, values in (('ignore', self.ignore_by_beta), ('maximum', self.maximum_by_beta)):
            for beta, error in zip(BETAS, values, strict=True):
                yield _row('2 right', name, beta, error)
        close_ups = zip(
            ('3 left', '3 middle'),
            CLOSE_UP_BETAS,
            self.close_up_sampling,
            self.close_up_maximum,
            strict=True,
        )
        for panel, beta, sampling, maximum in close_ups:
            yield from self._by_angle(panel, 'maximum', beta, maximum)
            for angle, (mean, se) in zip(self.angles_rad, sampling, strict=True):
                yield _row(
                    panel, 'sampling', beta, mean, se=se, samples=COMPARED_SAMPLES, angle=angle
                )
        compared = zip(COMPARED_BETAS, self.compared_sampling, self.compared_maximum, strict=True)
        for beta, (mean, se), maximum in compared:
            yield _row('3 right', 'sampling', beta, mean, se=se, samples=COMPARED_SAMPLES)
            yield _row('3 right', 'maximum', beta, maximum)

    def summary(self) -> str:
        """Return what the figures show, in numbers."""
        lines = ['belief error of the working example, mean over demonstrations', '', 'ignore:']
        for beta, errors in zip(SHOWN_BETAS, self.ignore, strict=True):
            lines.append(f'  β = {beta:<5g}{errors.mean():.4f}, at most {errors.max():.4f}')
        lines += ['', f'sampling, β = {SAMPLES_BETA:g} (± standard error over runs):']
        for count, (mean, se) in zip(SAMPLES, self.sampling_by_count, strict=True):
            lines.append(f'  N = {count:<5}{mean:.4f} ± {se:.4f}')
        lines += ['', f'maximum, and sampling with N = {COMPARED_SAMPLES}:']
        compared = zip(COMPARED_BETAS, self.compared_maximum, self.compared_sampling, strict=True)
        for beta, maximum, (mean, se) in compared:
            lines.append(f'  β = {beta:<5g}{maximum:.4f}, {mean:.4f} ± {se:.4f}')
        return '\n'.join(lines)

    def _by_angle(
        self, panel: str, method: str, beta: float, errors: np.ndarray
    ) -> Iterator[dict[str, Any]]:
        for angle, error in zip(self.angles_rad, errors, strict=True):
            yield _row(panel, method, beta, error, angle=angle)


def working_example(*, runs: int = RUNS, seed: int = 0) -> WorkingExample:
    """Compute the panels of the paper's working example.

    Args:
        runs: How often each estimate by sampling is repeated.
        seed: Of all random numbers.
    """
    whole_number(runs, 'runs', 2)
    cup = _Cup()
    streams = iter(np.random.SeedSequence(seed).spawn(3))
    by_count, close_up, compared = (np.random.default_rng(next(streams)) for _ in range(3))
    sampled = [cup.sampling_errors(SAMPLES_BETA, count, runs, by_count) for count in SAMPLES]
    close = [
        cup.sampling_errors(beta, COMPARED_SAMPLES, runs, close_up) for beta in CLOSE_UP_BETAS
    ]
    compare = [
        cup.sampling_errors(beta, COMPARED_SAMPLES, runs, compared) for beta in COMPARED_BETAS
    ]
    return WorkingExample(
        angles_rad=cup.angles_rad,
        ignore=np.array([cup.error(beta, np.zeros(2)) for beta in SHOWN_BETAS]),
        sampling_by_count=np.array([_mean_and_se(errors.mean(axis=1)) for errors in sampled]),
        ignore_by_beta=np.array([cup.error(beta, np.zeros(2)).mean() for beta in BETAS]),
        maximum_by_beta=cup.maximum_errors(BETAS).mean(axis=1),
        close_up_sampling=np.array([_mean_and_se(errors) for errors in close]),
        close_up_maximum=cup.maximum_errors(CLOSE_UP_BETAS),
        compared_sampling=np.array([_mean_and_se(errors.mean(axis=1)) for errors in compare]),
        compared_maximum=cup.maximum_errors(COMPARED_BETAS).mean(axis=1),
    )


class _Cup:
    """The cup, all demonstrated angles, and the exact belief at each."""

    def __init__(self) -> None:
        self._task = load_task('cup')
        self._nodes = TrajectoryQuadrature.of(self._task)
        self.angles_rad = np.linspace(0.0, np.pi / 2, DEMONSTRATIONS)
        # (D, 2) rewards of each demonstration for both θ
        self._rewards = self._task.evaluate(self.angles_rad[:, None, None])
        self._rewards = self._rewards @ HORIZONTAL_OR_VERTICAL.T

    def belief(self, beta: float, log_normalizers: np.ndarray) -> np.ndarray:
        """Return P(θ = 0 | ξ) (…, D) for log Z(0), log Z(π/2) (…, 2) (equation M1)."""
        odds = beta * (self._rewards[:, 0] - self._rewards[:, 1])
        odds = odds - (log_normalizers[..., :1] - log_normalizers[..., 1:])
        return np.asarray(expit(odds))

    def error(self, beta: float, log_normalizers: np.ndarray) -> np.ndarray:
        """Return the belief error (…, D) with these normalizers in place of the exact ones."""
        exact = self._nodes.log_normalizer(HORIZONTAL_OR_VERTICAL, beta)
        return np.abs(self.belief(beta, log_normalizers) - self.belief(beta, exact))

    def maximum_errors(self, betas: Sequence[float]) -> np.ndarray:
        """Return the belief error (B, D) with the maximum as normalizer (equation M4)."""
        # The rewards are linear in the angle, so the best angle is one of the two ends.
        best = self._rewards[[0, -1]].max(axis=0)
        return np.array([self.error(beta, beta * best) for beta in betas])

    def sampling_errors(
        self, beta: float, count: int, runs: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Return the belief error (runs, D) with means over uniform angles (equation M3)."""
        angles = rng.uniform(0.0, np.pi / 2, (runs, count, 1, 1))
        rewards = self._task.evaluate(angles) @ HORIZONTAL_OR_VERTICAL.T
        return self.error(beta, logsumexp(beta * rewards, axis=1) - np.log(count))


def _mean_and_se(values: np.ndarray) -> np.ndarray:
    """Return mean and standard error (…, 2) over the first axis."""
    spread = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return np.stack([values.mean(axis=0), spread], axis=-1)


def _row(
    panel: str,
    method: str,
    beta: float,
    error: float,
    *,
    se: float | None = None,
    samples: int | None = None,
    angle: float | None = None,
) -> dict[str, Any]:
    return {
        'panel': panel,
        'method': method,
        'beta': float(beta),
        'samples': samples,
        'angle_rad': None if angle is None else float(angle),
        'belief_error': float(error),
        'standard_error': None if se is None else float(se),
    }

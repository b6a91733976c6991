"""log Z of a space at many weights η at once, by multiple importance sampling over an ensemble.

The members D_j are a sample of a known mixture q, so Z(η) is the mean of exp(η·T(D_j)) / q(D_j).
One sample for all η: as a function of η the estimate is smooth and convex, as log Z is, and its
derivatives are the weighted mean and covariance of T. Several samples that were drawn
independently of each other tell its error: members of one descend from few ancestors, and agree
with each other better than with the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import numpy as np

from reward_learning_ros.core.errors import CancelledError

# Weights that are worked on at a time: what they need stays in the cache of a core.
PART = 64
# The smallest log weight that is told from nothing.
FARTHEST = -300.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample:
    """A sample of a mixture over one space.

    Attributes:
        statistics: (N, S) of the members.
        log_mixture: (N,) log q of each, up to a constant.
        is_complete: Whether it is the whole space, so that sums over it are exact.
    """

    statistics: np.ndarray
    log_mixture: np.ndarray
    is_complete: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class LogNormalizers:
    """log Z at some weights η, up to a constant.

    Attributes:
        largest: (M,) of the exponents at each η.
        sums: (M, G) of exp(exponent − largest), in each of G independent samples.
        effective: (M,) how many members count at each η; infinite where the sums are exact.
    """

    largest: np.ndarray
    sums: np.ndarray
    effective: np.ndarray

    @property
    def values(self) -> np.ndarray:
        """The estimates (M,)."""
        return np.asarray(self.largest + np.log(self.sums.mean(axis=1)))

    def replicated(self, shares: np.ndarray) -> np.ndarray:
        """Return the estimates (R, M) with each sample counted by its share, (R, G)."""
        if self.sums.shape[1] == 1:
            return np.tile(self.values, (len(shares), 1))
        return np.asarray(self.largest + np.log(shares @ self.sums.T))

    def aligned(self, weights: np.ndarray) -> LogNormalizers:
        """Return them so that the samples agree on average over points of weights (M,).

        Each sample knows Z up to a factor, and a factor decides nothing.
        """
        with np.errstate(divide='ignore', invalid='ignore'):
            apart = np.log(self.sums) - np.log(self.sums.mean(axis=1, keepdims=True))
            factors = np.exp(
                -np.where(weights[:, None] > 0.0, weights[:, None] * apart, 0.0).sum(axis=0)
            )
        return replace(self, sums=self.sums * np.where(np.isfinite(factors), factors, 1.0))

    def rows(self, chosen: np.ndarray) -> LogNormalizers:
        """Return them at some of the weights."""
        return LogNormalizers(
            largest=self.largest[chosen], sums=self.sums[chosen], effective=self.effective[chosen]
        )

    def joined(self, other: LogNormalizers) -> LogNormalizers:
        """Return these and others of the same sample."""
        return LogNormalizers(
            largest=np.append(self.largest, other.largest),
            sums=np.concatenate([self.sums, other.sums]),
            effective=np.append(self.effective, other.effective),
        )


def log_normalizers(
    samples: Sequence[Sample],
    etas: np.ndarray,
    executor: Executor | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> LogNormalizers:
    """Return log Z at weights η (M, S) from independent samples of one space.

    Raises:
        CancelledError: It was stopped.
    """

    def of_part(part: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if should_stop():
            raise CancelledError('cancelled while computing normalizers')
        largest = np.empty((part.stop - part.start, len(samples)))
        sums, squares = np.empty_like(largest), np.empty_like(largest)
        for index, sample in enumerate(samples):
            largest[:, index], weights = _weights(sample, etas[part])
            sums[:, index] = weights.sum(axis=1)
            squares[:, index] = np.einsum('ij,ij->i', weights, weights)
        top = largest.max(axis=1)
        scales = np.exp(largest - top[:, None])
        sums *= scales
        squares *= scales**2
        return top, sums, sums.sum(axis=1) ** 2 / squares.sum(axis=1)

    parts = list(_parts(len(etas)))
    found = list(map(of_part, parts) if executor is None else executor.map(of_part, parts))
    largest, sums, effective = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    if all(sample.is_complete for sample in samples):
        effective = np.full(len(etas), np.inf)
    return LogNormalizers(largest=largest, sums=sums, effective=effective)


def moments(sample: Sample, etas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return gradient (M, S) and Hessian (M, S, S) of log Z: mean and covariance of T."""
    size = sample.statistics.shape[1]
    first, second = np.triu_indices(size)
    products = sample.statistics[:, first] * sample.statistics[:, second]
    means = np.empty((len(etas), size))
    squares = np.empty((len(etas), size, size))
    for part in _parts(len(etas)):
        _, weights = _weights(sample, etas[part])
        weights /= weights.sum(axis=1, keepdims=True)
        means[part] = weights @ sample.statistics
        squares[part, first, second] = squares[part, second, first] = weights @ products
    return means, squares - means[:, :, None] * means[:, None, :]


def _weights(sample: Sample, etas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest exponents (M,) and exp(exponent − largest) (M, N)."""
    exponents = etas @ sample.statistics.T
    exponents -= sample.log_mixture
    largest = exponents.max(axis=1)
    exponents -= largest[:, None]
    # Beyond this they add nothing, and take a processor a hundred times longer.
    np.maximum(exponents, FARTHEST, out=exponents)
    return largest, np.exp(exponents, out=exponents)


def _parts(count: int) -> Iterator[slice]:
    return (slice(start, min(start + PART, count)) for start in range(0, count, PART))

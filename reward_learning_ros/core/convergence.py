"""R̂ and effective sample size: what a run needs to know when to stop, and what is reported of it.

By ranks, as Vehtari et al. (2021) define them and as ArviZ computes them, whose import alone takes
longer than a run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

# Of fewer draws nothing is said.
_MIN_DRAWS = 4
_TAILS = (0.05, 0.95)


class Figures(NamedTuple):
    """How far draws are to be trusted; NaN where that is not known."""

    r_hat: float
    ess_bulk: float
    ess_tail: float


def reported_figures(chains: np.ndarray) -> Figures:
    """Return R̂ and the effective sample sizes of chains (C, N), the same as ArviZ reports."""
    if chains.shape[1] < _MIN_DRAWS or np.isnan(chains).any():
        return Figures(np.nan, np.nan, np.nan)
    halves = _split(chains)
    scores = rank_scores(halves)
    r_hat = np.nan
    if len(chains) > 1:
        folded = rank_scores(np.abs(halves - np.median(halves)))
        # Chains that never move have none.
        with np.errstate(invalid='ignore', divide='ignore'):
            r_hat = max(_r_hat(scores), _r_hat(folded))
    tails = [(halves <= np.quantile(chains, level)).astype(float) for level in _TAILS]
    return Figures(r_hat, _stan_sample_size(scores), min(map(_stan_sample_size, tails)))


def rank_r_hat(chains: np.ndarray) -> float:
    """Return the larger R̂ of chains (C, N): of where they are, and of how far they spread."""
    folded = np.abs(chains - np.median(chains))
    return max(split_r_hat(rank_scores(chains)), split_r_hat(rank_scores(folded)))


def bulk_sample_size(chains: np.ndarray) -> float:
    """Return the effective number of draws in chains (C, N) for where their middle is."""
    return effective_sample_size(rank_scores(chains))


def rank_scores(chains: np.ndarray) -> np.ndarray:
    """Return the normal scores of the ranks of all draws; equal draws share their mean rank."""
    _, place, counts = np.unique(chains, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - 0.5 * (counts - 1))[place].reshape(chains.shape)
    return np.asarray(ndtri((ranks - 0.375) / (chains.size + 0.25)))


def split_r_hat(chains: np.ndarray) -> float:
    """Return R̂ of chains (C, N), each split in two (Gelman et al. 2013, without ranks)."""
    halves = _split(chains)
    if not np.ptp(halves, axis=1).any():
        return 1.0 if np.ptp(halves) == 0.0 else np.inf
    return _r_hat(halves)


def effective_sample_size(chains: np.ndarray) -> float:
    """Return the effective number of draws in chains (C, N), by Geyer's initial sequences."""
    halves = _split(chains)
    if np.ptp(halves) == 0.0:
        return float(halves.size)
    correlation = _autocorrelation(halves)
    pairs = correlation[: 2 * (len(correlation) // 2)].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs < 0.0)
    pairs = np.minimum.accumulate(pairs[: negative[0] if len(negative) else len(pairs)])
    return _sample_size(halves.size, -1.0 + 2.0 * pairs.sum())


def _stan_sample_size(halves: np.ndarray) -> float:
    """Return the effective number of draws in split chains (2 C, N / 2), as Stan and ArviZ do.

    Other than `effective_sample_size` it counts half of the pair of lags after the last positive
    one, which makes up to two percent.
    """
    if np.ptp(halves) < np.finfo(float).resolution:
        return float(halves.size)
    correlation = _autocorrelation(halves)
    correlation[0] = 1.0
    pairs = correlation[: 2 * (len(correlation) // 2)].reshape(-1, 2)
    # The last lags are of too few draws to be looked at.
    sums = pairs.sum(axis=1)[: max((len(correlation) - 3) // 2, 0) + 1]
    ends = np.flatnonzero(sums <= 0.0)
    last = int(ends[0]) if len(ends) else len(sums) - 1
    kept = np.minimum.accumulate(sums[:last])
    after = pairs[last, 0] if sums[last] >= 0.0 else max(pairs[last, 0], 0.0)
    return _sample_size(halves.size, -1.0 + 2.0 * float(kept.sum()) + float(after))


def _autocorrelation(halves: np.ndarray) -> np.ndarray:
    """Return the correlation at each lag (N,) of chains (C, N) that may differ in their means."""
    length = halves.shape[1]
    centred = halves - halves.mean(axis=1, keepdims=True)
    padded = np.fft.rfft(centred, n=2 ** int(np.ceil(np.log2(2 * length))), axis=1)
    covariance = np.fft.irfft(padded * padded.conj(), axis=1)[:, :length] / length
    within = covariance[:, 0].mean() * length / (length - 1)
    total = within * (length - 1) / length + halves.mean(axis=1).var(ddof=1)
    return np.asarray(1.0 - (within - covariance.mean(axis=0)) / total)


def _sample_size(draws: int, time: float) -> float:
    """Return the effective number of draws with this autocorrelation time, not all too many."""
    return float(draws / max(time, 1.0 / np.log10(draws)))


def _r_hat(halves: np.ndarray) -> float:
    length = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean()
    between = length * halves.mean(axis=1).var(ddof=1)
    return float(np.sqrt((length - 1) / length + between / within / length))


def _split(chains: np.ndarray) -> np.ndarray:
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])

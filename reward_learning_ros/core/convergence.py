"""R̂ and effective sample size, quickly: what a run needs to know when to stop.

By ranks, as Vehtari et al. (2021) define them and as ArviZ, from which the figures that a
posterior reports come, computes them; its import alone takes longer than a run.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri


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
    length = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean()
    between = length * halves.mean(axis=1).var(ddof=1)
    if within <= 0.0:
        return 1.0 if between <= 0.0 else np.inf
    return float(np.sqrt((length - 1) / length + between / within / length))


def effective_sample_size(chains: np.ndarray) -> float:
    """Return the effective number of draws in chains (C, N), by Geyer's initial sequences."""
    halves = _split(chains)
    count, length = halves.shape
    centred = halves - halves.mean(axis=1, keepdims=True)
    padded = np.fft.rfft(centred, n=2 ** int(np.ceil(np.log2(2 * length))), axis=1)
    covariance = np.fft.irfft(padded * padded.conj(), axis=1)[:, :length] / length
    within = covariance[:, 0].mean() * length / (length - 1)
    total = within * (length - 1) / length + halves.mean(axis=1).var(ddof=1)
    if total <= 0.0:
        return float(count * length)
    correlation = 1.0 - (within - covariance.mean(axis=0)) / total
    pairs = correlation[: 2 * (length // 2)].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs < 0.0)
    pairs = np.minimum.accumulate(pairs[: negative[0] if len(negative) else len(pairs)])
    time = max(-1.0 + 2.0 * pairs.sum(), 1.0 / np.log10(count * length))
    return float(count * length / time)


def _split(chains: np.ndarray) -> np.ndarray:
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])

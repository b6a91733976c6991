"""What was learned about θ and β: draws, summaries, and how far to trust them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

STATISTICS = ('mean', 'sd', '5%', '50%', '95%')
# Beyond these a posterior should not be trusted.
MAX_R_HAT = 1.05
MIN_ESS = 100.0
MAX_STUCK = 0.2
MIN_EFFECTIVE_MEMBERS = 4.0
MIN_RELEVANCE = 0.5
# Of the method `tabulated`: the error of the mean over the spread that the table leaves, and the
# share of the posterior at the bounds of β.
MAX_TABLE_ERROR = 0.3
MAX_AT_EDGE = 0.3


@dataclass(frozen=True, kw_only=True, eq=False)
class Posterior:
    """Draws from the posterior of θ and β.

    Attributes:
        chains: (C, N, d) draws of θ.
        beta_chains: (C, N) draws of β.
        feature_names: What each component of θ weighs.
        method: The sampler.
        sampling: What the sampler says about its own work.
        configuration: All that determined the result, the seed included.
        reward_spread: (d + 1, d + 1) covariance of the statistics of one block of random
            corrections, by which β is judged; None if it is unknown.
        others: Draws (C, N) of what else there is of the person, by name: `alpha` where effort has
            a scale of its own, `bother` where silence is an atom.
    """

    chains: np.ndarray
    beta_chains: np.ndarray
    feature_names: tuple[str, ...]
    method: str
    sampling: Mapping[str, float] = field(default_factory=dict)
    configuration: Mapping[str, Any] = field(default_factory=dict)
    reward_spread: np.ndarray | None = None
    others: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chains.setflags(write=False)
        self.beta_chains.setflags(write=False)
        for draws in self.others.values():
            draws.setflags(write=False)

    @property
    def samples(self) -> np.ndarray:
        """All draws of θ (draws, d)."""
        return np.asarray(self.chains.reshape(-1, self.chains.shape[2]))

    @property
    def beta_samples(self) -> np.ndarray:
        """All draws of β (draws,)."""
        return np.asarray(self.beta_chains.reshape(-1))

    @cached_property
    def mean(self) -> np.ndarray:
        """The posterior mean of θ (d,)."""
        return np.asarray(self.samples.mean(axis=0))

    @property
    def beta_is_fixed(self) -> bool:
        """Whether β was given instead of inferred."""
        return bool(np.ptp(self.beta_chains) == 0.0)

    def interval(self, probability: float = 0.9) -> np.ndarray:
        """Return the central interval (2, d) of each component of θ."""
        tail = (1.0 - probability) / 2.0
        return np.asarray(np.quantile(self.samples, [tail, 1.0 - tail], axis=0))

    def table(self) -> np.ndarray:
        """Return the rows of `STATISTICS` for θ and β (5, d + 1)."""
        values = np.column_stack([self.samples, self.beta_samples])
        quantiles = np.quantile(values, [0.05, 0.5, 0.95], axis=0)
        return np.vstack([values.mean(axis=0), values.std(axis=0), quantiles])

    def summary(self) -> str:
        """Return a table of θ and β with their uncertainty and the quality of the draws."""
        names = (*self.feature_names, 'β')
        width = max(len(name) for name in names)
        lines = [' ' * width + ''.join(f'{name:>9}' for name in (*STATISTICS, 'ess', 'r_hat'))]
        table = self.table()
        diagnostics = self.diagnostics
        for index, name in enumerate(names):
            numbers = ''.join(f'{value:9.3f}' for value in table[:, index])
            if name == 'β' and self.beta_is_fixed:
                lines.append(f'{name:<{width}}{numbers}    fixed')
                continue
            ess, r_hat = diagnostics['ess_bulk'][index], diagnostics['r_hat'][index]
            lines.append(f'{name:<{width}}{numbers}{ess:9.0f}{r_hat:9.3f}')
        return '\n'.join([*lines, *(f'warning: {text}' for text in self.warnings)])

    @cached_property
    def diagnostics(self) -> dict[str, Any]:
        """R̂ and bulk and tail ESS of θ and β, and what the sampler counted."""
        components = self.chains.shape[2] + (0 if self.beta_is_fixed else 1)
        table = np.full((len(ConvergenceStatistics._fields), self.chains.shape[2] + 1), np.nan)
        for index in range(components):
            table[:, index] = convergence_statistics(self._component(index))
        result: dict[str, Any] = dict(zip(ConvergenceStatistics._fields, table, strict=True))
        result['max_r_hat'] = float(np.nanmax(result['r_hat']))
        result['min_ess_bulk'] = float(np.nanmin(result['ess_bulk']))
        result['min_ess_tail'] = float(np.nanmin(result['ess_tail']))
        result.update(self.sampling)
        return result

    @cached_property
    def relevance(self) -> float:
        """The probability that the features explain the corrections at all.

        That is P(β σ > 1), σ the spread of the reward over random corrections: below it, what the
        person did is hardly told from chance, whatever their θ. NaN if β was given.
        """
        if self.beta_is_fixed or self.reward_spread is None:
            return float('nan')
        weights = np.column_stack([self.samples, np.ones(len(self.samples))])
        spread = np.sqrt(np.einsum('ni,ij,nj->n', weights, self.reward_spread, weights))
        return float((self.beta_samples * spread > 1.0).mean())

    @cached_property
    def sampling_warnings(self) -> tuple[str, ...]:
        """Why these draws may not be from the posterior, in words; empty if they should be."""
        found = []
        numbers = self.diagnostics
        if not numbers['max_r_hat'] <= MAX_R_HAT:
            found.append(
                f'the chains disagree (R̂ {numbers["max_r_hat"]:.2f}, at most {MAX_R_HAT} wanted): '
                'run longer'
            )
        if not numbers['min_ess_bulk'] >= MIN_ESS:
            found.append(
                f'only {numbers["min_ess_bulk"]:.0f} effective draws (at least {MIN_ESS:.0f} '
                'wanted): run longer'
            )
        if numbers.get('stuck_auxiliaries', 0.0) > MAX_STUCK:
            found.append(
                f'{numbers["stuck_auxiliaries"]:.0%} of the auxiliaries never moved: more inner '
                'steps, or auxiliary_start ensemble'
            )
        if numbers.get('ensemble_jumps', 0.0) > 0.0 and (
            numbers['effective_members'] < MIN_EFFECTIVE_MEMBERS
        ):
            found.append(
                f'the ensemble hardly covers this θ ({numbers["effective_members"]:.1f} effective '
                'members): a larger ensemble is needed'
            )
        return (*found, *self._table_warnings())

    def relevance_warnings(self, least: float = MIN_RELEVANCE) -> tuple[str, ...]:
        """Return that the relevance is below what is wanted, in words; nothing if it is not."""
        if not self.relevance < least:
            return ()
        return (
            f'the features hardly explain the corrections (relevance {self.relevance:.2f}): '
            'something that is no feature of the task may have moved the person',
        )

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Why this posterior should not be trusted, in words; empty if it may be."""
        return (*self.sampling_warnings, *self.relevance_warnings())

    @property
    def is_trustworthy(self) -> bool:
        """Whether there is no warning."""
        return not self.warnings

    def _table_warnings(self) -> list[str]:
        """Return what is wrong with a table of log Z, in words; empty without one."""
        found = []
        numbers = self.sampling
        if not numbers.get('effective_points', MIN_ESS) >= MIN_ESS:
            found.append(
                f'only {numbers["effective_points"]:.0f} points of the table count (at least '
                f'{MIN_ESS:.0f} wanted): more points are needed'
            )
        if not numbers.get('table_error', 0.0) <= MAX_TABLE_ERROR:
            found.append(
                f'the error of the table moves the mean by {numbers["table_error"]:.2f} of its '
                f'spread (at most {MAX_TABLE_ERROR} wanted): a larger ensemble is needed'
            )
        if numbers.get('beta_at_edge', 0.0) > MAX_AT_EDGE:
            found.append(
                f'{numbers["beta_at_edge"]:.0%} of the posterior is at the bounds of β that the '
                'table has: its prior decides'
            )
        return found

    def to_arviz(self) -> Any:
        """Return ArviZ InferenceData with dimensions chain, draw and feature."""
        with warnings.catch_warnings():
            # ArviZ 0.x announces version 1, about which the user of a session can do nothing.
            warnings.simplefilter('ignore', FutureWarning)
            import arviz

        extra = {} if self.beta_is_fixed else {'beta': self.beta_chains}
        extra.update(self.others)
        data = arviz.from_dict(
            posterior={'theta': self.chains, **extra},
            coords={'feature': list(self.feature_names)},
            dims={'theta': ['feature']},
        )
        data.posterior.attrs.update(method=self.method, configuration=repr(self.configuration))
        return data

    def _component(self, index: int) -> np.ndarray:
        if index < self.chains.shape[2]:
            return np.asarray(self.chains[:, :, index])
        return self.beta_chains


# Of fewer draws nothing is said.
_MIN_DRAWS = 4
_TAILS = (0.05, 0.95)


class ConvergenceStatistics(NamedTuple):
    """R̂, bulk and tail effective sample size of one component; NaN where they are not known."""

    r_hat: float
    ess_bulk: float
    ess_tail: float


def convergence_statistics(chains: np.ndarray) -> ConvergenceStatistics:
    """Return R̂ and the effective sample sizes of chains (C, N), the same as ArviZ reports."""
    if chains.shape[1] < _MIN_DRAWS or np.isnan(chains).any():
        return ConvergenceStatistics(np.nan, np.nan, np.nan)
    halves = _split(chains)
    scores = rank_scores(halves)
    r_hat = np.nan
    if len(chains) > 1:
        folded = rank_scores(np.abs(halves - np.median(halves)))
        # Chains that never move have none.
        with np.errstate(invalid='ignore', divide='ignore'):
            r_hat = max(_r_hat(scores), _r_hat(folded))
    tails = [(halves <= np.quantile(chains, level)).astype(float) for level in _TAILS]
    return ConvergenceStatistics(
        r_hat, _stan_sample_size(scores), min(map(_stan_sample_size, tails))
    )


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

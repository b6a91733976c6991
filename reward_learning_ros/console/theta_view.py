"""θ with its intervals over those of the prior, growing pass by pass."""

from __future__ import annotations

import numpy as np
from nicegui import ui

from reward_learning_ros.console.layout import text
from reward_learning_ros.console.snapshot import LearnedTheta, Snapshot
from reward_learning_ros.interface import ThetaSummary

# Intervals of earlier passes that are still drawn.
_MAX_PASSES = 4


class ThetaView:
    """A row for each feature: the prior as a band, each pass as a line, the newest the boldest.

    While somebody pushes, the newest line and the numbers are those of the live belief.
    """

    def __init__(self) -> None:
        self._box = ui.element('div').classes('rl-theta')
        self._shown: tuple[object, ...] = ()

    def show(self, snapshot: Snapshot) -> None:
        """Show what is known of θ; nothing is sent if nothing changed."""
        live = None if snapshot.live_theta is None else snapshot.live_theta.theta
        theta = live or snapshot.theta or snapshot.prior
        truth = None if snapshot.participant is None else snapshot.participant.theta
        key = (id(theta), id(snapshot.prior), id(snapshot.learned), truth is None)
        if key == self._shown:
            return
        self._shown = key
        self._box.clear()
        if theta is None:
            with self._box:
                text('nothing is known yet', 'rl-soft').style('grid-column: 1 / -1')
            return
        prior = snapshot.prior
        if prior is not None and prior.features != theta.features:
            prior = None
        low, high = _range(prior, theta)
        with self._box:
            for index, name in enumerate(theta.features):
                text(name, 'rl-feature')
                _track(index, prior, theta, snapshot, (low, high), truth)
                q5, _, q95 = theta.quantiles[:, index]
                words = f'{theta.mean[index]:.2f}  ({q5:.2f} – {q95:.2f})'
                if live is not None:
                    words += ' live'
                text(words, 'rl-number rl-soft').props(f'data-theta={index}')


def _range(prior: ThetaSummary | None, theta: ThetaSummary) -> tuple[float, float]:
    shown = [theta] if prior is None else [prior, theta]
    low = min(float(each.quantiles[0].min()) for each in shown)
    high = max(float(each.quantiles[2].max()) for each in shown)
    margin = 0.05 * (high - low) or 0.05
    return low - margin, high + margin


def _track(
    index: int,
    prior: ThetaSummary | None,
    theta: ThetaSummary,
    snapshot: Snapshot,
    bounds: tuple[float, float],
    truth: np.ndarray | None,
) -> None:
    low, high = bounds

    def share(value: float) -> float:
        return 100.0 * float(np.clip((value - low) / (high - low), 0.0, 1.0))

    def span(summary: ThetaSummary, classes: str, place: str) -> None:
        left, right = share(summary.quantiles[0, index]), share(summary.quantiles[2, index])
        ui.element('div').classes(f'rl-span {classes}').style(
            f'left: {left:.2f}%; width: {max(right - left, 0.6):.2f}%; {place}'
        )

    earlier: tuple[LearnedTheta, ...] = tuple(
        each
        for each in snapshot.learned
        if each.theta is not theta and each.theta.features == theta.features
    )[-_MAX_PASSES:]
    rows = len(earlier) + 1
    with ui.element('div').classes('rl-track').props('aria-hidden=true'):
        if prior is not None:
            span(prior, 'rl-span-prior', '')
        if theta is not prior:
            height = 84.0 / (rows + 1)
            for row, each in enumerate(earlier):
                span(
                    each.theta,
                    'rl-span-pass',
                    f'top: {8.0 + row * height:.1f}%; height: {0.7 * height:.1f}%',
                )
            top = 8.0 + len(earlier) * height
            span(theta, 'rl-span-now', f'top: {top:.1f}%; bottom: 10%')
            ui.element('div').classes('rl-dot').style(
                f'left: calc({share(theta.mean[index]):.2f}% - 1px); top: {top - 4.0:.1f}%; '
                'bottom: 4%'
            )
        if truth is not None and len(truth) == len(theta.features):
            ui.element('div').classes('rl-dot rl-dot-truth').style(
                f'left: calc({share(truth[index]):.2f}% - 1px)'
            )

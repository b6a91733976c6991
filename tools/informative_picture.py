"""The picture of docs/start/own_task.md: how much one correction tells, and of which feature."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros import core
from reward_learning_ros.core.domain import ThetaDomain
from reward_learning_ros.figures.figure_style import BLUE, ORANGE, new_figure, publication_style
from reward_learning_ros.tasks.task_files import read_task
from tools.pins import ROOT

Array = NDArray[np.float64]

PAGE = ROOT / 'docs' / 'start' / 'own_task.md'
_FILE = 'tray.yaml'
_BETA = 20.0
# Points of the prior, what people could have done instead, and people who are simulated.
_POINTS, _OTHERS, _PEOPLE = 2048, 4096, 1024
# The push of the map begins at this waypoint.
_ONSET = 2
_STEPS = 41
_STEP_BITS = 0.125
# What the lamp's scale is divided by in the second version of the task.
_FLATTER = 10.0


def picture() -> tuple[str, str, Any]:
    """Return name, title and figure."""
    with publication_style():
        return 'task_informative', 'What a correction can teach', _draw(tray())


def tray() -> core.Task:
    """Return the task that the page writes into a file."""
    _, _, after = PAGE.read_text(encoding='utf-8').partition(f"{_FILE} <<'YAML'\n")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / _FILE
        file.write_text(after.partition('\nYAML\n')[0] + '\n', encoding='utf-8')
        return read_task(file)


class _Corrections:
    """What one correction of a plan tells, by sums over all that could have been done."""

    def __init__(self, task: core.Task, scales: Array) -> None:
        assert isinstance(task.theta, ThetaDomain)
        self._task, self._scales = task, scales
        self.thetas = task.theta.quasi_random(_POINTS)
        rng = np.random.default_rng(0)
        self.others = self.corrected(
            rng.integers(1, len(task.plan), _OTHERS),
            rng.uniform(task.space.delta_low, task.space.delta_high, (_OTHERS, 3)),
        )
        utilities = _BETA * self._rewards(self.others)
        top = utilities.max(axis=1, keepdims=True)
        self.choices = np.exp(utilities - top)
        self._log_z = np.log(self.choices.mean(axis=1)) + top[:, 0]
        self.choices /= self.choices.sum(axis=1, keepdims=True)

    def corrected(self, onsets: NDArray[np.int64], deltas: Array) -> Array:
        """Return trajectories (n, m, 3): each delta moves its waypoint and all later ones."""
        is_moved = np.arange(len(self._task.plan)) >= onsets[:, None]
        return np.asarray(self._task.plan + is_moved[:, :, None] * deltas[:, None, :])

    def posteriors(self, trajectories: Array) -> Array:
        """Return (n, points) the weights of the points of the prior after each correction."""
        logs = (_BETA * self._rewards(trajectories) - self._log_z[:, None]).T
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def _rewards(self, trajectories: Array) -> Array:
        """Return (points, n): what each person likes, less the effort."""
        effort = np.square(trajectories - self._task.plan).sum(axis=(1, 2))
        features = self._task.evaluate(trajectories) * self._scales
        return np.asarray(self.thetas @ features.T - effort)


def bits(weights: Array) -> Array:
    """Return how far each posterior (n, points) is from the prior: 1 bit halves what is left."""
    with np.errstate(divide='ignore', invalid='ignore'):
        each = np.where(weights > 0.0, weights * np.log2(weights * weights.shape[1]), 0.0)
    return np.asarray(each.sum(axis=1))


def learned_shares(corrections: _Corrections) -> Array:
    """Return for each weight which share of the prior's variance one correction takes away."""
    rng = np.random.default_rng(1)
    people = rng.integers(len(corrections.thetas), size=_PEOPLE)
    chosen = [rng.choice(_OTHERS, p=corrections.choices[person]) for person in people]
    weights = corrections.posteriors(corrections.others[chosen])
    means = weights @ corrections.thetas
    left = (weights @ np.square(corrections.thetas) - np.square(means)).mean(axis=0)
    return np.asarray(1.0 - left / corrections.thetas.var(axis=0))


def _draw(task: core.Task) -> Any:
    figure, ((left, right),) = new_figure(columns=2)
    plain = _Corrections(task, np.ones(len(task.feature_names)))
    across = np.linspace(task.space.delta_low[0], task.space.delta_high[0], _STEPS)
    up = np.linspace(task.space.delta_low[2], task.space.delta_high[2], _STEPS)
    deltas = np.stack(np.meshgrid(across, [0.0], up, indexing='ij'), axis=-1).reshape(-1, 3)
    told = bits(plain.posteriors(plain.corrected(np.full(len(deltas), _ONSET), deltas)))
    levels = np.arange(0.0, told.max() + _STEP_BITS, _STEP_BITS)
    filled = left.contourf(
        100.0 * across, 100.0 * up, told.reshape(_STEPS, _STEPS).T, levels, cmap='viridis'
    )
    figure.colorbar(filled, ax=left, label='bits')
    left.plot(0.0, 0.0, '+', color='white', markersize=8)
    left.set(
        title=f'what one push at waypoint {_ONSET + 1} tells',
        xlabel='push forward (cm)',
        ylabel='push up (cm)',
    )
    left.grid(False)
    scales = np.array([1.0 / _FLATTER, *np.ones(len(task.feature_names) - 1)])
    flatter = f'scale of {task.feature_names[0]} / {_FLATTER:g}'
    rows = np.arange(len(task.feature_names))
    for place, (label, color, corrections) in enumerate(
        (('as written', BLUE, plain), (flatter, ORANGE, _Corrections(task, scales)))
    ):
        shares = learned_shares(corrections)
        right.bar(rows + 0.4 * place - 0.2, 100.0 * shares, 0.38, color=color, label=label)
    right.set(
        title='what one correction settles',
        ylabel='of the variance of a weight (%)',
    )
    right.set_xticks(rows, task.feature_names)
    right.legend()
    return figure

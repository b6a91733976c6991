"""The pictures of docs/model.md: what corrections of the cup tell, without any sampling."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import trapezoid

from reward_learning_ros import core
from reward_learning_ros.figures.figure_style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    new_figure,
    publication_style,
)

Array = NDArray[np.float64]

# Angles of the cup, and what a person may want: φ, with θ = (cos φ, sin φ).
_ANGLES = np.linspace(0.0, np.pi / 2, 201)
_WISHES = np.linspace(0.0, np.pi / 2, 181)
_BETA = 2.0
# One correction, and three small ones, in radians.
_CORRECTED = 0.9
_PLAN = np.pi / 4
_STEPS = (_PLAN, 0.65, 0.52, 0.4)
_EFFORT = 12.0
# What a push costs besides its length.
_BOTHER = 2.0


def pictures() -> Iterator[tuple[str, str, Any]]:
    """Yield name, title and figure of each picture."""
    with publication_style():
        yield 'model_normalizer', 'What the normalizer is for', _normalizer()
        yield 'model_dependence', 'Corrections that build on each other', _dependence()
        yield 'model_silence', 'What silence tells', _silence()
        yield 'model_beta', 'How reliably people choose', _reliability()


def rewards() -> Array:
    """Return (wishes, angles) how much each person likes each angle."""
    task = core.load_task('cup')
    features = task.evaluate(_ANGLES[:, None, None])
    theta = np.stack([np.cos(_WISHES), np.sin(_WISHES)], axis=1)
    return np.asarray(theta @ features.T)


def _choices(beta: float) -> Array:
    """Return (wishes, angles) densities of what each person chooses."""
    weights = np.exp(beta * (rewards() - rewards().max(axis=1, keepdims=True)))
    return np.asarray(weights / trapezoid(weights, _ANGLES, axis=1)[:, None])


def _normalized(density: Array) -> Array:
    return np.asarray(density / trapezoid(density, _WISHES))


def _normalizer() -> Any:
    figure, ((left, right),) = new_figure(columns=2)
    choices = _choices(_BETA)
    for wish, color, dashes in ((0.1, BLUE, '-'), (0.9, GREEN, '--'), (1.37, ORANGE, '-.')):
        row = int(np.argmin(np.abs(_WISHES - wish)))
        left.plot(_ANGLES, choices[row], color=color, linestyle=dashes, label=f'φ = {wish}')
    left.axvline(_CORRECTED, color=GREY, linewidth=0.8)
    left.set(title='what three people choose', xlabel='angle s (rad)', ylabel='density')
    left.legend()
    here = int(np.argmin(np.abs(_ANGLES - _CORRECTED)))
    raw = np.exp(_BETA * rewards()[:, here])
    _draw(
        right,
        f'what the choice s = {_CORRECTED} tells',
        {
            'with the normalizer': choices[:, here],
            'without': raw,
        },
    )
    return figure


def _dependence() -> Any:
    figure, ((panel,),) = new_figure(width_in=4.6)
    choices = _choices(_BETA)
    independent = np.ones(len(_WISHES))
    for end in _STEPS[1:]:
        here = int(np.argmin(np.abs(_ANGLES - end)))
        independent *= choices[:, here]
    dependent = _sequence_density()
    _draw(
        panel,
        f'what the angles {", ".join(f"{step:g}" for step in _STEPS[1:])} tell',
        {
            'as a sequence': dependent,
            'each for itself': independent,
        },
    )
    return figure


def _sequence_density() -> Array:
    """Return the density of the whole sequence for each wish; Z is summed from the back."""
    coarse = _ANGLES[::2]
    liked = rewards()[:, ::2]
    cost = _EFFORT * (coarse[:, None] - coarse[None, :]) ** 2
    after = np.ones_like(liked)
    for _ in _STEPS[2:]:
        step = np.exp(_BETA * (liked[:, None, :] - cost[None])) * after[:, None, :]
        after = trapezoid(step, coarse, axis=2)
    first = _EFFORT * (coarse - _STEPS[0]) ** 2
    total = trapezoid(np.exp(_BETA * (liked - first)) * after, coarse, axis=1)
    said = np.ones(len(_WISHES))
    for start, end in itertools.pairwise(_STEPS):
        here = int(np.argmin(np.abs(_ANGLES - end)))
        said *= np.exp(_BETA * (rewards()[:, here] - _EFFORT * (end - start) ** 2))
    return np.asarray(said / total)


def _silence() -> Any:
    figure, ((panel,),) = new_figure(width_in=4.6)
    here = int(np.argmin(np.abs(_ANGLES - _PLAN)))
    stay = np.exp(_BETA * rewards()[:, here])
    moved = np.exp(_BETA * (rewards() - 1.0 * (_ANGLES - _PLAN) ** 2))
    pushed = trapezoid(moved, _ANGLES, axis=1)
    _draw(
        panel,
        'what it tells that nobody pushed',
        {
            'zero': stay / pushed,
            'left_out': np.ones(len(_WISHES)),
            f'atom, κ = {_BOTHER:g}': stay / (stay + np.exp(-_BOTHER) * pushed),
        },
    )
    return figure


def _reliability() -> Any:
    figure, ((panel,),) = new_figure(width_in=4.6)
    here = int(np.argmin(np.abs(_ANGLES - _CORRECTED)))
    _draw(
        panel,
        f'what the choice s = {_CORRECTED} tells',
        {f'β = {beta:g}': _choices(beta)[:, here] for beta in (0.5, 2.0, 10.0)},
    )
    return figure


def _draw(panel: Any, title: str, densities: dict[str, Array]) -> None:
    styles = ((GREEN, '-'), (ORANGE, '--'), (PURPLE, ':'))
    for (label, density), (color, dashes) in zip(densities.items(), styles, strict=False):
        panel.plot(_WISHES, _normalized(density), color=color, linestyle=dashes, label=label)
    panel.set(
        title=title, xlabel='what they want, φ (rad): horizontal … vertical', ylabel='density'
    )
    panel.set_ylim(bottom=0.0)
    panel.legend()

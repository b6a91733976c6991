"""Tests and models as tables of a report, every estimate with its interval."""

from __future__ import annotations

from collections.abc import Sequence

from reward_learning_ros.figures.html_page import number
from reward_learning_ros.figures.run_report import TableBlock
from reward_learning_ros.study.mixed_model import MixedModel
from reward_learning_ros.study.statistics import Comparison, Effect, p_text


def effects_table(effects: Sequence[tuple[str, Effect]], caption: str) -> TableBlock:
    """Return a table of analyses of variance: where each effect is, and the effect."""
    return TableBlock(
        columns=('effect', 'F', 'df', 'p', 'ε', 'partial η²', '95 %'),
        rows=[
            (
                _named(place, effect.name),
                number(effect.f, 2),
                ', '.join(f'{effect.epsilon * df:.1f}' for df in effect.df),
                _p(effect.p_corrected),
                number(effect.epsilon, 2),
                number(effect.eta_squared, 2),
                _interval(effect.eta_squared_interval, 2),
            )
            for place, effect in effects
        ],
        caption=caption,
    )


def comparisons_table(comparisons: Sequence[tuple[str, Comparison]], caption: str) -> TableBlock:
    """Return a table of paired t-tests: where each is, and the test."""
    return TableBlock(
        columns=('comparison', 'difference', '95 %', 't', 'p (Holm)', 'd', '95 %'),
        rows=[
            (
                _named(place, f'{each.first} − {each.second}'),
                number(each.difference),
                _interval(each.interval, 3),
                f't({each.df}) = {number(each.t, 2)}',
                _p(each.p_holm),
                number(each.effect_size, 2),
                _interval(each.effect_size_interval, 2),
            )
            for place, each in comparisons
        ],
        caption=caption,
    )


def model_table(model: MixedModel, caption: str) -> TableBlock:
    """Return a table of the fixed effects of a mixed model, and its spreads below."""
    doubt = '' if model.converged else ' The fit did not converge: do not rely on it.'
    return TableBlock(
        columns=('fixed effect', 'value', 'standard error', '95 %', 'p'),
        rows=[
            (
                each.name,
                number(each.value),
                number(each.standard_error),
                _interval(each.interval, 3),
                _p(each.p),
            )
            for each in model.coefficients
        ],
        caption=f'{caption} {model.observations} observations; spread (sd) between participants '
        f'{model.participant_sd:.3f}, between trials of one {model.trial_sd:.3f}, left '
        f'{model.residual_sd:.3f}.{doubt}',
    )


def _named(place: str, name: str) -> str:
    return f'{place}: {name}' if place else name


def _interval(interval: tuple[float, float], digits: int) -> str:
    return f'[{number(interval[0], digits)}, {number(interval[1], digits)}]'


def _p(p: float) -> str:
    return p_text(p).removeprefix('p ').removeprefix('= ')

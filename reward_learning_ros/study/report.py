"""The report of a session: one page that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reward_learning_ros.core.errors import MissingExtraError
from reward_learning_ros.core.posterior import MAX_R_HAT, MIN_ESS, Posterior
from reward_learning_ros.study import html_page as html
from reward_learning_ros.study.html_page import Tile, number
from reward_learning_ros.study.session_data import ABORTED, SessionData

# A correction that is less sure than this may have been no contact at all.
_UNSURE = 0.5
_CENTIMETRES = 100.0


def session_report(data: SessionData) -> str:
    """Return the report of a session as one HTML page, without any link to elsewhere.

    Without Matplotlib the page has its tables and says why it has no figures.

    Args:
        data: The session; it may have been aborted before anything happened.
    """
    figures = _Figures()
    name = ' · '.join(
        part for part in (data.study, data.participant, f'trial {data.trial}') if part
    )
    body = [
        html.heading(f'{data.task.name}: {data.task.description}', name),
        _ending(data),
        html.tiles(_tiles(data)),
        html.section('What was done', _plans(data, figures), _corrections(data)),
        html.section('What was learned', *_posterior(data, figures)),
        html.section('How it was learned', _timeline(data, figures)),
        html.section('How far to trust it', *_quality(data)),
        html.section('What went wrong', _faults(data)),
        html.section('How it was run', *_circumstances(data)),
        figures.missing,
    ]
    return html.page(f'{data.task.name} – {name}', body)


class _Figures:
    """Draws figures into the page, or notes why it cannot."""

    def __init__(self) -> None:
        self.missing = ''

    def draw(self, name: str, caption: str, draw: Callable[..., Any], *arguments: Any) -> str:
        """Return a figure with its caption, empty if nothing can be drawn here."""
        from reward_learning_ros.study.figure_style import publication_style
        from reward_learning_ros.study.inline_svg import inline_svg

        try:
            with publication_style():
                svg = inline_svg(draw(*arguments), name, caption)
        except MissingExtraError as error:
            self.missing = html.note(f'There are no figures: {error}.', 'bad')
            return ''
        return html.figure(svg, caption)


def _ending(data: SessionData) -> str:
    if data.outcome == ABORTED:
        return html.note(f'The session was aborted{_because(data.reason)}', 'bad')
    return html.paragraph(f'The session ended{_because(data.reason)}') if data.reason else ''


def _because(reason: str) -> str:
    return f': {reason.rstrip(".")}.' if reason else '.'


def _tiles(data: SessionData) -> list[Tile]:
    count = max(data.correction_count, len(data.corrections))
    tiles = [Tile(label='Corrections', value=str(count), note=_plans_in_words(data))]
    before, after = data.initial_regret, data.regret
    if before is not None and after is not None:
        share = f'{after / before:.0%} of {number(before)} before' if before > 0 else 'none before'
        tiles.append(
            Tile(
                label='Regret of the plan shown last',
                value=number(after),
                note=share,
                mood='good' if after < before or after == 0.0 else 'bad',
            )
        )
    if data.error is not None:
        tiles.append(
            Tile(label='Error of θ', value=number(data.error), note='distance to what is wanted')
        )
    if data.posterior is not None:
        trusted = data.posterior.is_trustworthy
        tiles.append(
            Tile(
                label='Posterior',
                value='trusted' if trusted else 'not trusted',
                note='' if trusted else 'see below why',
                mood='good' if trusted else 'bad',
            )
        )
    latencies = [step.latency_sec for step in data.steps if step.latency_sec is not None]
    if latencies:
        tiles.append(
            Tile(
                label='Correction to new plan',
                value=f'{np.median(latencies):.2f} s',
                note=f'median; longest {max(latencies):.2f} s',
            )
        )
    if data.duration_sec is not None:
        tiles.append(Tile(label='Duration', value=_duration(data.duration_sec)))
    return tiles


def _plans_in_words(data: SessionData) -> str:
    plans = len(data.sequences)
    return f'of {plans} plan{"s" if plans > 1 else ""}' if plans else ''


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f'{minutes} min {rest:02d} s' if minutes else f'{rest} s'


def _plans(data: SessionData, figures: _Figures) -> str:
    from reward_learning_ros.study.session_figures import plans_figure

    learned = 'before and after' if data.final_plan is not None else 'before; nothing was learned'
    caption = f'The plan {learned}.'
    if data.sequences:
        caption += ' Arrows: where each correction began and how far it moved the plan.'
    if data.ideal is not None:
        caption += ' Dotted green: the best plan for what is wanted.'
    return figures.draw('plans', caption, plans_figure, data)


def _corrections(data: SessionData) -> str:
    if data.corrections:
        rows = [
            (
                str(index),
                f'{correction.onset_time_sec:.2f}',
                str(correction.onset_waypoint + 1),
                f'{correction.duration_sec:.2f}',
                f'{correction.peak_force:.1f}',
                f'{_CENTIMETRES * _largest(correction.delta_positions):.1f}',
                f'{correction.confidence:.2f}{" (unsure)" if _is_unsure(correction) else ""}',
            )
            for index, correction in enumerate(data.corrections, 1)
        ]
        columns = ('', 'onset (s)', 'waypoint', 'duration (s)', 'peak force (N)', 'moved (cm)')
        return html.table(
            (*columns, 'confidence'),
            rows,
            caption='Corrections as they were sensed; onsets are times in the plan.',
        )
    moved = [
        (str(int(np.flatnonzero(profile)[0]) + 1), number(_largest(displacement)))
        for sequence in data.sequences
        for profile, displacement in zip(
            sequence.resolved_profiles(), sequence.displacements, strict=True
        )
    ]
    if not moved:
        return html.paragraph('Nobody corrected the arm.')
    return html.table(
        ('', 'waypoint', 'moved'),
        [(str(index), *row) for index, row in enumerate(moved, 1)],
        caption='Corrections, in the coordinates of the task.',
    )


def _largest(displacement: np.ndarray) -> float:
    return float(np.linalg.norm(displacement, axis=1).max())


def _is_unsure(correction: Any) -> bool:
    return bool(correction.confidence < _UNSURE)


def _posterior(data: SessionData, figures: _Figures) -> tuple[str, ...]:
    posterior = data.posterior
    if posterior is None:
        return (html.paragraph('Nothing: there was no inference.'),)
    from reward_learning_ros.study.session_figures import intervals_figure, pairs_figure

    given = f' β was given: {posterior.beta_samples[0]:g}.' if posterior.beta_is_fixed else ''
    wanted = ' Green: what the participant wants.' if data.theta_star is not None else ''
    return (
        figures.draw(
            'intervals',
            f'What each feature weighs to the participant.{given}',
            intervals_figure,
            data,
            posterior,
        ),
        _statistics(data, posterior),
        figures.draw('pairs', f'Draws from the posterior.{wanted}', pairs_figure, data, posterior),
    )


def _statistics(data: SessionData, posterior: Posterior) -> str:
    numbers = posterior.diagnostics
    names = [*posterior.feature_names, 'β']
    truth: list[float | None] = [None] * len(names)
    if data.theta_star is not None:
        truth = [*map(float, data.theta_star), data.beta_star]
    rows = []
    for index, (name, values) in enumerate(zip(names, posterior.table().T, strict=True)):
        row = [name, *(number(value) for value in values)]
        if name == 'β' and posterior.beta_is_fixed:
            row[2:] = ['given', '', '', '']
            row += ['', '']
        else:
            row += [f'{numbers["ess_bulk"][index]:.0f}', number(numbers['r_hat'][index])]
        rows.append(row if data.theta_star is None else [*row, number(truth[index])])
    columns = ['', 'mean', 'sd', '5 %', '50 %', '95 %', 'effective draws', 'R̂']
    return html.table(columns if data.theta_star is None else [*columns, 'wanted'], rows)


def _timeline(data: SessionData, figures: _Figures) -> str:
    if not data.steps:
        return ''
    from reward_learning_ros.study.session_figures import timeline_figure

    held = html.table(
        ('corrections', 'not shown because'),
        [(str(step.corrections), '; '.join(step.reasons)) for step in data.steps if step.reasons],
        caption='Plans that were learned but not shown to the participant.',
        text_columns=(1,),
    )
    return (
        figures.draw('timeline', 'What was known after each inference.', timeline_figure, data)
        + held
    )


def _quality(data: SessionData) -> tuple[str, ...]:
    posterior = data.posterior
    if posterior is None:
        return ()
    numbers = posterior.diagnostics
    words = [html.note(_sentence(text), 'bad') for text in posterior.warnings]
    if not words:
        words = [html.note('Nothing speaks against this posterior.', 'good')]
    values = {
        f'largest R̂ (at most {MAX_R_HAT})': number(numbers['max_r_hat']),
        f'fewest effective draws (at least {MIN_ESS:.0f})': f'{numbers["min_ess_bulk"]:.0f}',
        'effective draws of the tails': f'{numbers["min_ess_tail"]:.0f}',
        'method': posterior.method,
        'draws': f'{posterior.chains.shape[0]} × {posterior.chains.shape[1]}',
    }
    for name, label, style in _COUNTED:
        if name in numbers:
            values[label] = format(numbers[name], style)
    if not np.isnan(posterior.relevance):
        values['P(features explain it)'] = f'{posterior.relevance:.2f}'
    return (*words, html.facts(values))


# What samplers count, in words, and how it is written.
_COUNTED = (
    ('outer_acceptance', 'outer moves accepted', '.0%'),
    ('inner_acceptance', 'inner moves accepted', '.0%'),
    ('inner_steps', 'inner moves', '.0f'),
    ('stuck_auxiliaries', 'auxiliaries that never moved', '.1%'),
    ('effective_members', 'effective ensemble members', '.1f'),
    ('corrections_outside', 'corrections outside the space', '.0f'),
)


def _sentence(text: str) -> str:
    return f'{text[:1].upper()}{text[1:]}.'


def _faults(data: SessionData) -> str:
    if not data.faults:
        return html.note('Nothing was reported.', 'good')
    return html.table(
        ('after (s)', 'where', 'what'),
        [(number(fault.time_sec, 1), fault.source, fault.text) for fault in data.faults],
        text_columns=(1, 2),
    )


def _in_words(name: str, value: Any) -> Any:
    """Return a value of the configuration as it is said."""
    if value is not None:
        return value
    return 'inferred' if name == 'beta' else 'none'


def _circumstances(data: SessionData) -> tuple[str, ...]:
    when = '' if data.started is None else data.started.strftime('%Y-%m-%d %H:%M:%S %Z').strip()
    first = {
        'study': data.study or '–',
        'participant': data.participant or '–',
        'trial': data.trial,
        'task': data.task.name,
        'started': when or '–',
        'seed': data.seed,
    }
    chosen = {
        name: _in_words(name, value)
        for name, value in data.configuration.items()
        if name not in first
    }
    return (
        html.facts(first),
        html.subsection('Configuration', html.facts(chosen)),
        html.subsection('Versions', html.facts(data.versions)),
    )

"""The report of a session: one page that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from reward_learning_ros.core.errors import MissingExtraError
from reward_learning_ros.core.posterior import MAX_R_HAT, MIN_ESS, Posterior
from reward_learning_ros.core.text import counted
from reward_learning_ros.figures import html_page as html
from reward_learning_ros.figures.html_page import Tile, number
from reward_learning_ros.interface import Correction, PassCorrections, ThetaSummary
from reward_learning_ros.session.session_data import ABORTED, PassOutcome, SessionData

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
        html.section('Pass by pass', *_passes(data, figures)),
        html.section('What was done', _plans(data, figures), _corrections(data)),
        html.section('What was learned', *_posterior(data, figures)),
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
        from reward_learning_ros.figures.figure_style import publication_style
        from reward_learning_ros.figures.html_page import inline_svg

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
    count = max(data.correction_count, sum(isinstance(c, Correction) for c in data.corrections))
    passes = max(len(data.passes), len(data.sequences))
    tiles = [
        Tile(
            label='Corrections',
            value=str(count),
            note=f'in {counted(passes, "pass", "passes")}' if passes else '',
        )
    ]
    regret = _regret_tile(data)
    if regret is not None:
        tiles.append(regret)
    if data.error is not None:
        tiles.append(
            Tile(
                label='Error of θ',
                value=number(data.error),
                note=f'distance to what is wanted; unasked {number(data.unasked_error)}',
            )
        )
    shown = [each for each in data.passes if each.is_active and each.theta is not None]
    if shown and shown[-1].theta is not None:
        share = data.learned_share_of(shown[-1].theta)
        tiles.append(
            Tile(
                label='Learned of θ', value=f'{share:.0%}', note='of the prior’s variance is gone'
            )
        )
    if data.trusted is not None:
        trusted = data.trusted
        tiles.append(
            Tile(
                label='Posterior',
                value='trusted' if trusted else 'not trusted',
                note='' if trusted else 'see below why',
                mood='good' if trusted else 'bad',
            )
        )
    waits = [each.wait_sec for each in data.passes if each.wait_sec is not None]
    latencies = [each.latency_sec for each in data.passes if each.latency_sec is not None]
    if waits:
        note = (
            f'median; after the last push {np.median(latencies):.2f} s' if latencies else 'median'
        )
        tiles.append(
            Tile(label='Wait for the next plan', value=f'{np.median(waits):.2f} s', note=note)
        )
    elif latencies:
        tiles.append(
            Tile(
                label='Last push to new plan',
                value=f'{np.median(latencies):.2f} s',
                note=f'median; longest {max(latencies):.2f} s',
            )
        )
    if data.duration_sec is not None:
        tiles.append(Tile(label='Duration', value=_duration(data.duration_sec)))
    return tiles


def _regret_tile(data: SessionData) -> Tile | None:
    """Return the Regret beside that of who asks nobody, which is what must be beaten."""
    after, unasked, before = data.regret, data.unasked_regret, data.initial_regret
    if after is None or unasked is None:
        return None
    return Tile(
        label='Regret of the plan shown last',
        value=number(after, 4),
        note=f'unasked {number(unasked, 4)}, initial plan {number(before, 4)}',
        mood='good' if after < unasked or after == 0.0 else 'bad',
    )


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f'{minutes} min {rest:02d} s' if minutes else f'{rest} s'


def _plans(data: SessionData, figures: _Figures) -> str:
    from reward_learning_ros.session.session_figures import plans_figure

    learned = 'before and after' if data.final_plan is not None else 'before; nothing was learned'
    caption = f'The plan {learned}.'
    if data.sequences:
        caption += ' Arrows: where each correction began and how far it moved the plan.'
    if data.ideal is not None:
        caption += ' Dotted green: the best plan for what is wanted.'
    return figures.draw('plans', caption, plans_figure, data)


def _corrections(data: SessionData) -> str:
    passes = [each for each in data.corrections if isinstance(each, PassCorrections)]
    if passes:
        stamps = [each.plan_stamp_ns for each in data.passes or passes]
        numbers = {stamp_ns: number for number, stamp_ns in enumerate(stamps, 1)}
        return _pushes(passes, numbers) + _contacts(data, numbers)
    sensed = [each for each in data.corrections if isinstance(each, Correction)]
    if sensed:
        rows = [
            (
                str(index),
                f'{correction.onset_time_sec:.2f}',
                str(correction.onset_waypoint + 1),
                f'{correction.duration_sec:.2f}',
                f'{correction.peak_force:.1f}',
                f'{_CENTIMETRES * _largest(correction.delta_positions):.1f}',
                _confidence(correction.confidence),
            )
            for index, correction in enumerate(sensed, 1)
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
        for profile, displacement, is_push in zip(
            sequence.resolved_profiles(), sequence.displacements, sequence.is_push, strict=True
        )
        if is_push
    ]
    if not moved:
        return html.paragraph('Nobody corrected the arm.')
    return html.table(
        ('', 'waypoint', 'moved'),
        [(str(index), *row) for index, row in enumerate(moved, 1)],
        caption='Corrections, in the coordinates of the task.',
    )


def _pushes(passes: list[PassCorrections], numbers: Mapping[int, int]) -> str:
    """Return how far each pass was pushed at each waypoint of which something is known."""
    times = sorted({float(time) for each in passes for time in each.times_sec})
    if not times:
        return html.paragraph('Nothing is known of what was done to the passes.')
    rows = []
    for each in passes:
        sizes = np.linalg.norm(each.delta_positions, axis=1)
        pushed = [_pushed(*pair) for pair in zip(sizes, each.is_push, strict=True)]
        told = dict(zip(each.times_sec.tolist(), pushed, strict=True))
        name = f'pass {numbers.get(each.plan_stamp_ns, "–")}'
        rows.append((name, *(told.get(time, '?') for time in times)))
    return html.table(
        ('time in the plan (s)', *(f'{time:.1f}' for time in times)),
        rows,
        caption='How far (cm) each waypoint and all later ones were pushed; a dot where nobody '
        'pushed, a question mark where it is not known.',
    )


def _pushed(size_m: float, is_push: bool) -> str:
    return f'{_CENTIMETRES * size_m:.1f}' if is_push else '·'


def _contacts(data: SessionData, numbers: Mapping[int, int]) -> str:
    return html.table(
        ('', 'pass', 'onset (s)', 'duration (s)', 'peak force (N)', 'moved (cm)', 'confidence'),
        [
            (
                str(index),
                str(numbers.get(contact.plan_stamp_ns, '–')),
                f'{contact.onset_plan_sec:.2f}',
                f'{contact.duration_sec:.2f}',
                f'{contact.peak_force_n:.1f}',
                f'{_CENTIMETRES * float(np.linalg.norm(contact.displacement_m)):.1f}',
                _confidence(contact.confidence),
            )
            for index, contact in enumerate(data.contacts, 1)
        ],
        caption='Contacts as they were sensed; onsets are times in the plan.',
    )


def _confidence(value: float) -> str:
    return f'{value:.2f}{" (unsure)" if value < _UNSURE else ""}'


def _largest(displacement: np.ndarray) -> float:
    return float(np.linalg.norm(displacement, axis=1).max())


def _posterior(data: SessionData, figures: _Figures) -> tuple[str, ...]:
    posterior = data.posterior
    if posterior is None:
        return (html.paragraph('Nothing: there was no inference.'),)
    from reward_learning_ros.session.session_figures import intervals_figure, pairs_figure

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


def _passes(data: SessionData, figures: _Figures) -> tuple[str, ...]:
    if not data.passes:
        return ()
    from reward_learning_ros.session.session_figures import timeline_figure

    told = html.table(
        ('pass', 'pushes', 'what the arm has understood'),
        [
            (str(index), str(each.pushes), _understood(data, each))
            for index, each in enumerate(data.passes, 1)
        ],
        text_columns=(2,),
    )
    held = html.table(
        ('pass', 'not shown because'),
        [
            (str(index), '; '.join(each.reasons))
            for index, each in enumerate(data.passes, 1)
            if each.reasons
        ],
        caption='Plans that were learned but not shown to the participant.',
        text_columns=(1,),
    )
    learned = any(each.theta is not None for each in data.passes)
    drawn = ''
    if learned:
        caption = 'What was known before the first pass and after each.'
        drawn = figures.draw('timeline', caption, timeline_figure, data)
    return told, drawn, _intervals_by_pass(data) if learned else '', _live(data), held


def _live(data: SessionData) -> str:
    """Return what was believed while people pushed, beside what was kept."""
    rows = []
    for index, each in enumerate(data.passes, 1):
        if each.live_theta is None:
            continue
        live = (number(float(value), 2) for value in each.live_theta.mean)
        kept = [''] * data.task.size
        if each.theta is not None:
            kept = [number(float(value), 2) for value in each.theta.mean]
        pairs = (f'{one} / {other}' for one, other in zip(live, kept, strict=True))
        rows.append((f'pass {index}', *pairs, str(each.live_updates), number(each.live_distance)))
    if not rows:
        return ''
    return html.table(
        ('', *data.task.feature_names, 'updates', 'distance'),
        rows,
        caption='The mean of θ as it was believed last during the pass, by tables of log Z, and '
        'as it was kept. Distance: of a component, on average, from the same passes.',
    )


def _understood(data: SessionData, outcome: PassOutcome) -> str:
    text = data.understood_of(outcome)
    return text if outcome.is_active else f'{text} (undone)'


def _intervals_by_pass(data: SessionData) -> str:
    """Return the intervals of θ before and after each pass, with what they are worth."""
    is_known = data.theta_star is not None
    rows = [
        _interval_row(data, 'prior', data.prior, data.unasked_error, data.unasked_regret, is_known)
    ]
    for index, each in enumerate(data.passes, 1):
        if each.theta is None:
            continue
        error = data.error_of(each.theta.mean)
        regret = None if each.trajectory is None else data.regret_of(each.trajectory)
        rows.append(_interval_row(data, f'pass {index}', each.theta, error, regret, is_known))
    if data.theta_star is not None:
        wanted = [number(float(value), 2) for value in data.theta_star]
        rows.append(('wanted', *wanted, '', '', ''))
    columns = ('after', *data.task.feature_names, 'learned')
    caption = (
        'The 90 % interval of each weight. Learned: how much of the prior’s variance is gone.'
    )
    if is_known:
        caption += (
            ' Regret: of the plan that was shown next; that of the prior is of the plan of who '
            f'asks nobody. The initial plan has {number(data.initial_regret, 4)}.'
        )
    return html.table(
        (*columns, 'Error', 'Regret') if is_known else columns, rows, caption=caption
    )


def _interval_row(
    data: SessionData,
    name: str,
    theta: ThetaSummary,
    error: float | None,
    regret: float | None,
    is_known: bool,
) -> tuple[str, ...]:
    low, _, high = theta.quantiles
    intervals = (
        f'{number(float(lower), 2)} to {number(float(upper), 2)}'
        for lower, upper in zip(low, high, strict=True)
    )
    # Of the prior nothing was learned.
    share = '' if theta is data.prior else f'{data.learned_share_of(theta):.0%}'
    measures = (number(error), number(regret, 4)) if is_known else ()
    return (name, *intervals, share.replace('-', '−'), *measures)


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

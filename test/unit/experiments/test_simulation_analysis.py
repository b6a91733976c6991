"""What is said of simulated studies, on rows whose effects are known."""

import json

import numpy as np
import pytest

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.experiments import simulation_figures as figures
from reward_learning_ros.experiments.budget import ALL_METHODS
from reward_learning_ros.experiments.rows import Row, Timing
from reward_learning_ros.experiments.simulation_analysis import analyse_simulations, analyse_study
from reward_learning_ros.experiments.simulation_report import (
    analysis_mapping,
    analysis_text,
    write_analysis,
)
from reward_learning_ros.experiments.simulations import EXACT
from reward_learning_ros.experiments.user_study import CONDITIONS
from reward_learning_ros.experiments.working_example import working_example
from reward_learning_ros.figures.figure_style import METHOD_STYLES

# How much worse each method is than Double MH.
WORSE = {'ignore': 0.3, 'sampling': 0.0, 'maximum': 0.1, 'double_mh': 0.0, 'double_mh_one': 0.02}


def row(rng, human, method, base, *, task='push', beta=5.0, dependence='independent', goal=''):
    error = base + WORSE.get(method, 0.0) + 0.03 * rng.normal()
    return Row(
        task=task,
        beta=beta,
        human=human,
        goal=goal,
        method=method,
        dependence=dependence,
        error=error,
        regret=max(0.0, 0.1 * (error - 0.4)),
        theta=(0.6, 0.8),
        estimate=(1.0, 0.0),
    )


@pytest.fixture(scope='module')
def simulated():
    rng = np.random.default_rng(0)
    rows = []
    for task in ('push', 'close'):
        for beta in (5.0, 25.0):
            for human in range(20):
                base = 0.3 + 0.1 * rng.random()
                rows += [
                    row(rng, human, method, base, task=task, beta=beta)
                    for method in (*ALL_METHODS, EXACT)
                ]
    timings = [
        Timing(
            task=r.task,
            beta=r.beta,
            human=r.human,
            method=r.method,
            dependence=r.dependence,
            seconds=0.1 * (1 + r.human),
        )
        for r in rows
    ]
    return rows, analyse_simulations(rows, timings)


@pytest.fixture(scope='module')
def studied():
    rng = np.random.default_rng(1)
    rows = []
    for human in range(6):
        for task in ('press', 'reach'):
            for goal in ('a', 'b'):
                base = 0.4 + 0.1 * rng.random()
                for method, dependence in CONDITIONS:
                    worse = 0.15 if dependence == 'independent' and method != 'ignore' else 0.0
                    rows.append(
                        row(
                            rng,
                            human,
                            method,
                            base + worse,
                            task=task,
                            dependence=dependence,
                            goal=goal,
                        )
                    )
    return analyse_study(rows)


def found(analysis, title, measure='error'):
    return next(f for f in analysis.families if f.title == title and f.measure == measure)


def test_means_have_their_standard_errors(simulated):
    rows, analysis = simulated
    errors = [r.error for r in rows if (r.task, r.beta, r.method) == ('close', 25.0, 'maximum')]
    cell = analysis.cell(task='close', beta=25.0, method='maximum')
    assert cell.error == pytest.approx(np.mean(errors))
    assert cell.error_se == pytest.approx(np.std(errors, ddof=1) / np.sqrt(20))


def test_what_is_worse_is_found_worse_and_what_is_equal_is_not(simulated):
    family = found(simulated[1], 'Double MH against the other methods')
    assert len(family.comparisons) == 4 * 3
    for _, comparison in family.comparisons:
        assert comparison.first == 'double_mh'
        if comparison.second in ('ignore', 'maximum'):
            assert comparison.p_holm < 0.001
            assert comparison.difference < 0.0
        else:
            # Equal but for chance, which one in twenty of such differences exceeds.
            assert abs(comparison.effect_size) < 1.0
            assert comparison.p_holm > 0.001


def test_one_correction_spans_all_tasks_and_betas(simulated):
    family = found(simulated[1], 'Double MH against the other methods')
    smallest = min((c for _, c in family.comparisons), key=lambda c: c.p)
    assert smallest.p_holm == pytest.approx(12 * smallest.p)


def test_every_place_has_its_analysis_of_variance(simulated):
    places = [place for place, measure, _ in simulated[1].effects if measure == 'error']
    assert places == ['push, β = 5', 'push, β = 25', 'close, β = 5', 'close, β = 25']


def test_the_study_finds_dependence_and_says_how_many_to_invite(studied):
    (dependence,) = (
        effect
        for _, measure, effect in studied.effects
        if measure == 'error' and effect.name == 'dependence'
    )
    # Participant and task together are one subject, as in the paper.
    assert dependence.df == (1, 11)
    assert dependence.p_corrected < 0.001
    pairs = [
        (comparison.first, comparison.second)
        for _, comparison in found(studied, 'dependent against independent').comparisons
    ]
    assert ('double_mh dependent', 'double_mh independent') in pairs
    assert ('double_mh dependent', 'double_mh_one independent') in pairs
    assert all(c.p_holm < 0.001 for _, c in studied.families[0].comparisons)
    plans = {(plan.first, plan.second): plan for _, measure, plan in studied.plans}
    assert plans[pairs[-1]].participants < 10


def test_the_mixed_model_finds_what_was_put_in(studied):
    model = next(model for _, measure, model in studied.models if measure == 'error')
    assert model.converged
    values = {c.name: c for c in model.coefficients}
    assert values['ignore'].value == pytest.approx(0.3, abs=0.05)
    assert values['independent'].value == pytest.approx(0.15, abs=0.05)
    assert 'reach' in values


def test_a_person_who_is_missing_in_a_condition_is_noticed(simulated):
    with pytest.raises(InvalidInputError, match='not every subject'):
        analyse_simulations(simulated[0][:-1])


def test_all_of_it_is_json_and_text(simulated, studied):
    for analysis in (simulated[1], studied):
        text = json.dumps(analysis_mapping(analysis), allow_nan=False)
        assert json.loads(text)['cells']
        assert 'Holm' in analysis_text(analysis)
    assert 'processor time' in analysis_text(simulated[1])


def test_what_is_written_holds_no_time(simulated, tmp_path):
    write_analysis(simulated[1], tmp_path)
    written = (tmp_path / 'statistics.txt').read_text()
    assert 'processor time' not in written
    assert (tmp_path / 'tests.csv').read_text().count('\n') == 1 + 2 * 4 * (3 + 6)


def draw_twice(draw, result, folder, suffix):
    paths = [folder / f'{draw.__name__}{number}{suffix}' for number in range(2)]
    for path in paths:
        draw(result, path)
    assert paths[0].stat().st_size > 4000
    return [path.read_bytes() for path in paths]


@pytest.fixture(scope='module')
def drawn(simulated, tmp_path_factory):
    return draw_twice(
        figures.draw_simulations, simulated[1], tmp_path_factory.mktemp('drawn'), '.svg'
    )


def test_the_same_result_is_the_same_figure(drawn, studied, tmp_path):
    assert drawn[0] == drawn[1]
    example = working_example(runs=2)
    for draw, result in (
        (figures.draw_study, studied),
        (figures.draw_approximations, example),
        (figures.draw_comparison, example),
    ):
        one, two = draw_twice(draw, result, tmp_path, '.svg')
        assert one == two


@pytest.mark.parametrize(('suffix', 'magic'), [('.pdf', b'%PDF'), ('.png', b'\x89PNG')])
def test_figures_come_in_other_formats_too(studied, tmp_path, suffix, magic):
    one, two = draw_twice(figures.draw_study, studied, tmp_path, suffix)
    assert one.startswith(magic)
    assert one == two


def test_stars_mark_what_is_significant(simulated, drawn):
    text = drawn[0].decode()
    marked = text.count('>*<')
    significant = [
        comparison
        for family in simulated[1].families
        if family.title.startswith('Double MH against')
        for _, comparison in family.comparisons
        if comparison.p_holm < 0.05
    ]
    assert marked == len(significant) > 0
    assert METHOD_STYLES['double_mh_one'].label in text


def test_a_figure_of_an_unknown_format_is_refused(studied, tmp_path):
    with pytest.raises(InvalidInputError, match='svg'):
        figures.draw_study(studied, tmp_path / 'figure.gif')

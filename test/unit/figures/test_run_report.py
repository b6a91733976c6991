"""Reports of runs, inline figures and the pages that hold them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.study_fixtures import read_page

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.experiments.simulation_analysis import Analysis, Cell, Family
from reward_learning_ros.experiments.simulation_report import analysis_section
from reward_learning_ros.figures.figure_style import (
    BLUE,
    new_figure,
    publication_style,
    save_figure,
)
from reward_learning_ros.figures.html_page import Tile, inline_svg, number
from reward_learning_ros.figures.run_report import (
    FigureBlock,
    RunReport,
    Section,
    TableBlock,
    run_report,
    with_uncertainty,
    write_run,
)
from reward_learning_ros.study.mixed_model import Coefficient, MixedModel
from reward_learning_ros.study.statistics import compare_with
from reward_learning_ros.study.statistics_tables import model_table


def drawn() -> object:
    with publication_style():
        figure, panels = new_figure()
        panels[0, 0].plot([0, 1], [0, 1], 'o-', color=BLUE, label='one < two & three')
        panels[0, 0].set_title('0.123456 of them')
        panels[0, 0].legend()
    return figure


def report(**changes) -> RunReport:
    return RunReport(
        **{
            'title': 'A <run>',
            'tiles': [Tile(label='people', value='7', note='of 9', mood='good')],
            'sections': [
                Section(
                    title='Results',
                    paragraphs=['Lower is better.'],
                    warnings=['It did not converge.'],
                    blocks=[
                        FigureBlock(name='first', figure=drawn(), caption='A line.'),
                        FigureBlock(name='second', figure=drawn(), caption='Another.'),
                        TableBlock(
                            columns=('', 'Error'), rows=[('a & b', with_uncertainty(0.5, 0.01))]
                        ),
                    ],
                ),
                Section(title='Nothing'),
            ],
            'configuration': {'seed': 3},
            **changes,
        }
    )


def test_a_page_holds_all_that_was_found() -> None:
    page = read_page(run_report(report()))
    for words in ('A <run>', 'of 9', 'It did not converge', 'a & b', '0.500 ± 0.010', 'seed'):
        assert words in page.text
    assert page.tags.count('svg') == 2
    assert 'Nothing' not in page.text
    assert 'one < two & three' in page.text
    # Coordinates are shortened, numbers to be read are not.
    assert '0.123456 of them' in page.text


def test_figures_are_written_beside_the_page_the_same_each_time(tmp_path: Path) -> None:
    first = write_run(report(), tmp_path / 'a')
    second = write_run(report(), tmp_path / 'b')
    files = sorted(path.relative_to(tmp_path / 'a') for path in (tmp_path / 'a').rglob('*.*'))
    assert [path.name for path in files] == [
        'first.pdf', 'first.svg', 'second.pdf', 'second.svg', 'report.html',
    ]  # fmt: skip
    for path in files:
        assert (tmp_path / 'a' / path).read_bytes() == (tmp_path / 'b' / path).read_bytes()
    assert first.name == second.name == 'report.html'
    (tmp_path / 'file').write_text('', encoding='utf-8')
    with pytest.raises(InvalidInputError, match='cannot be written'):
        write_run(report(sections=()), tmp_path / 'file')


def test_a_figure_on_a_page_follows_the_colours_of_the_page(tmp_path: Path) -> None:
    path = tmp_path / 'figure.svg'
    with publication_style():
        figure = drawn()
        save_figure(figure, path)
        for source in (figure, path):
            svg = inline_svg(source, 'name', 'a line that <rises>')
            assert 'var(--blue)' in svg
            assert BLUE.lower() not in svg.lower()
            assert 'aria-label="a line that &lt;rises&gt;"' in svg
            assert 'href="#name-' in svg
            assert 'DejaVu' not in svg


@pytest.mark.parametrize(
    ('value', 'text'), [(None, '–'), (float('nan'), '–'), (-0.5, '−0.500'), (2, '2.000')]
)
def test_numbers_are_written_as_in_print(value, text: str) -> None:
    assert number(value) == text


def test_a_simulation_is_told_with_its_uncertainty(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / 'figure.svg'
    with publication_style():
        save_figure(drawn(), path)
    values = {'double_mh': rng.normal(0.2, 0.1, 9), 'ignore': rng.normal(0.6, 0.1, 9)}
    comparisons = compare_with('double_mh', values, ['ignore'])
    cell = {'task': 'push', 'beta': 5.0, 'dependence': 'independent', 'count': 9}
    analysis = Analysis(
        cells=tuple(
            Cell(
                **cell,
                method=name,
                error=float(v.mean()),
                error_se=0.03,
                regret=0.1,
                regret_se=0.01,
            )
            for name, v in values.items()
        ),
        effects=(),
        families=(
            Family(title='All', measure='error', comparisons=(('push, β = 5', comparisons[0]),)),
        ),
    )
    page = read_page(
        run_report(report(sections=[analysis_section('Simulations', analysis, path)]))
    )
    assert f'{values["ignore"].mean():.3f} ± 0.030' in page.text
    assert 'push, β = 5: double_mh − ignore' in page.text
    assert '< .001' in page.text


def test_a_model_that_did_not_converge_says_so() -> None:
    model = MixedModel(
        coefficients=(
            Coefficient(name='mean', value=1.0, standard_error=0.1, p=0.5, interval=(0.8, 1.2)),
        ),
        participant_sd=0.1,
        trial_sd=0.2,
        residual_sd=0.3,
        observations=12,
        converged=False,
    )
    table = model_table(model, 'A model.')
    assert 'did not converge' in table.caption
    assert table.rows == [('mean', '1.000', '0.100', '[0.800, 1.200]', '.500')]

"""The report of a run, of simulations or of an analysis: figures, tables, how they came about."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import reward_learning_ros
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.figures import html_page as html
from reward_learning_ros.figures.figure_style import publication_style, save_figure
from reward_learning_ros.figures.html_page import Tile, inline_svg, number

REPORT_FILE = 'report.html'
# What numbers depend on besides their seed.
_LIBRARIES = ('numpy', 'scipy', 'numba', 'mujoco', 'statsmodels', 'pandas')


@dataclass(frozen=True, kw_only=True)
class TableBlock:
    """A table: texts, with the uncertainty of each number in its cell."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ''
    text_columns: Sequence[int] = ()


@dataclass(frozen=True, kw_only=True)
class FigureBlock:
    """A figure with its caption, as a block of a report.

    The figure is one of Matplotlib, drawn in `publication_style`, or the SVG file of one.
    """

    name: str
    """Letters, digits and `-`: also the name of its files."""
    figure: Any
    caption: str


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the report: paragraphs, then tables and figures in their order."""

    title: str
    paragraphs: Sequence[str] = ()
    blocks: Sequence[TableBlock | FigureBlock] = ()
    warnings: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """The content of the report of an experiment.

    Attributes:
        title: What was run.
        subtitle: A line below it.
        tiles: Numbers to be seen first.
        sections: What came out.
        configuration: All that determined it, the seed included.
        made: When; None leaves it out, so that the same run gives the same page.
    """

    title: str
    subtitle: str = ''
    tiles: Sequence[Tile] = ()
    sections: Sequence[Section] = ()
    configuration: Mapping[str, Any] = field(default_factory=dict)
    made: datetime.datetime | None = None


def run_report(report: RunReport) -> str:
    """Return the report of a run as one HTML page, without any link to elsewhere."""
    with publication_style():
        sections = [_section(section) for section in report.sections]
    made = {} if report.made is None else {'made': report.made.strftime('%Y-%m-%d %H:%M:%S %Z')}
    return html.page(
        report.title,
        [
            html.heading(report.title, report.subtitle),
            html.tiles(report.tiles),
            *sections,
            html.section(
                'How it was run',
                html.facts({**made, **report.configuration}),
                html.subsection('Versions', html.facts(versions())),
            ),
        ],
    )


def write_run(report: RunReport, folder: Path) -> Path:
    """Write the page, and each figure as SVG and PDF; return where the page is."""
    with publication_style():
        for section in report.sections:
            for block in section.blocks:
                if isinstance(block, FigureBlock) and not isinstance(block.figure, Path):
                    for suffix in ('.svg', '.pdf'):
                        save_figure(block.figure, folder / 'figures' / f'{block.name}{suffix}')
    path = folder / REPORT_FILE
    write_text(path, run_report(report))
    return path


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically.

    Raises:
        InvalidInputError: It cannot be written.
    """
    temporary = path.with_name(f'.{path.name}.{os.getpid()}')
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.write_text(text, encoding='utf-8')
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InvalidInputError(f'{path} cannot be written: {error}') from error


def with_uncertainty(value: float, half: float, digits: int = 3) -> str:
    """Return a number with its uncertainty."""
    return f'{number(value, digits)} ± {number(half, digits)}'


def versions() -> dict[str, str]:
    """Return the versions of this package and of those that its numbers depend on."""
    found = {
        'reward_learning_ros': reward_learning_ros.__version__,
        'python': platform.python_version(),
    }
    for name in _LIBRARIES:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def _section(section: Section) -> str:
    blocks = [
        html.figure(inline_svg(block.figure, block.name, block.caption), block.caption)
        if isinstance(block, FigureBlock)
        else html.table(
            block.columns, block.rows, caption=block.caption, text_columns=block.text_columns
        )
        for block in section.blocks
    ]
    return html.section(
        section.title,
        *(html.note(text, 'bad') for text in section.warnings),
        *(html.paragraph(text) for text in section.paragraphs),
        *blocks,
    )

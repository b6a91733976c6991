"""One look for all figures: colours that colour-blind people can tell apart, bars with errors."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros.core.errors import InvalidInputError, MissingExtraError

FIGURE_FORMATS = ('.svg', '.pdf', '.png')
# Widths of one and of two columns of a journal page.
COLUMN_IN, PAGE_IN = 3.5, 7.16
PNG_DPI = 200

# The palette of Okabe and Ito; what it colours also differs in hatching, dashes and markers.
BLACK, GREY = '#000000', '#4d4d4d'
ORANGE, SKY, GREEN, YELLOW = '#E69F00', '#56B4E9', '#009E73', '#F0E442'
BLUE, VERMILION, PURPLE = '#0072B2', '#D55E00', '#CC79A7'
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, YELLOW, BLACK)

_SETTINGS: dict[str, Any] = {
    'font.size': 8.0,
    # The names of features and tasks are what people call them: a $ in one begins no formula.
    'text.parse_math': False,
    'font.family': 'sans-serif',
    'font.sans-serif': ['DejaVu Sans'],
    'axes.titlesize': 8.5,
    'axes.labelsize': 8.0,
    'axes.linewidth': 0.7,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.axisbelow': True,
    'axes.grid': True,
    'axes.grid.axis': 'y',
    'grid.color': '#d9d9d9',
    'grid.linewidth': 0.5,
    'xtick.labelsize': 7.5,
    'ytick.labelsize': 7.5,
    'legend.fontsize': 7.5,
    'legend.frameon': False,
    'lines.linewidth': 1.4,
    'lines.markersize': 3.5,
    'errorbar.capsize': 2.0,
    'hatch.linewidth': 0.5,
    'savefig.dpi': PNG_DPI,
    # Text stays text, to be searched and edited, and the same figure is the same file.
    'pdf.fonttype': 42,
    'svg.fonttype': 'none',
    'svg.hashsalt': 'reward_learning_ros',
}


@dataclass(frozen=True, kw_only=True)
class SeriesStyle:
    """How one series looks, in bars and in lines."""

    label: str
    color: str
    hatch: str = ''
    marker: str = 'o'
    dashes: Any = '-'


# The methods look the same in every figure. The paper's one auxiliary is a paler Double MH.
METHOD_STYLES: Mapping[str, SeriesStyle] = {
    'ignore': SeriesStyle(label='Ignore', color=GREY, marker='s', dashes=':'),
    'sampling': SeriesStyle(label='Sampling', color=ORANGE, hatch='////', marker='^', dashes='--'),
    'maximum': SeriesStyle(label='Maximum', color=BLUE, hatch=r'\\\\', marker='D', dashes='-.'),
    'double_mh': SeriesStyle(label='Double MH', color=GREEN),
    'double_mh_one': SeriesStyle(
        label='Double MH, one auxiliary', color='#7fceb9', hatch='xxxx', marker='v', dashes='-'
    ),
    'double_mh_screened': SeriesStyle(
        label='Double MH, screened', color='#00664b', hatch='++++', marker='P', dashes='-'
    ),
    'tabulated': SeriesStyle(label='Tabulated', color=VERMILION, hatch='....', marker='*'),
    'exact': SeriesStyle(label='Exact', color=PURPLE, hatch='----', marker='x', dashes=':'),
}


def series_style(name: str, index: int = 0) -> SeriesStyle:
    """Return the style of a method, or one of the palette for anything else."""
    if name in METHOD_STYLES:
        return METHOD_STYLES[name]
    return SeriesStyle(label=name, color=PALETTE[index % len(PALETTE)])


@contextmanager
def publication_style() -> Iterator[None]:
    """Draw and save in the style of this package, whatever the user's settings are."""
    require_matplotlib()
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield


def require_matplotlib() -> None:
    """Say which extra to install if there is no Matplotlib."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtraError('matplotlib', 'study', 'drawing') from error
    # Figures are made without a window.
    matplotlib.use('Agg')


def new_figure(
    *, width_in: float = PAGE_IN, height_in: float = 2.4, rows: int = 1, columns: int = 1
) -> tuple[Any, np.ndarray]:
    """Return a figure and its panels (rows, columns); to be called in `publication_style`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width_in, height_in), layout='constrained')
    return figure, figure.subplots(rows, columns, squeeze=False)


def check_figure_path(path: Path) -> Path:
    """Return the path of a figure to be written, or say which formats there are."""
    if path.suffix.lower() not in FIGURE_FORMATS:
        raise InvalidInputError(f'{path} must end in {" or ".join(FIGURE_FORMATS)}')
    return path


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure as SVG, PDF or PNG, whole or not at all; the same figure, the same bytes."""
    suffix = check_figure_path(path).suffix.lower()
    undated = {'.svg': {'Date': None}, '.pdf': {'CreationDate': None}, '.png': {}}[suffix]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix='.', suffix=suffix)
        os.close(handle)
        try:
            figure.savefig(temporary, format=suffix[1:], metadata=undated)
            # mkstemp gives the file to its owner alone.
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InvalidInputError(f'{path} cannot be written: {error}') from error


def draw_bars(
    panel: Any,
    groups: Sequence[str],
    series: Mapping[str, tuple[Any, Any]],
) -> dict[str, np.ndarray]:
    """Draw groups of bars, each bar with its uncertainty.

    Args:
        panel: Where.
        groups: (G,) names along the axis.
        series: For each series, the heights (G,) and the half lengths (G,) of the error bars.

    Returns:
        Where along the axis the bars (G,) of each series stand.
    """
    width = 0.8 / max(1, len(series))
    places = {}
    for index, (name, (heights, errors)) in enumerate(series.items()):
        style = series_style(name, index)
        x = np.arange(len(groups)) + (index - (len(series) - 1) / 2) * width
        panel.bar(
            x,
            heights,
            width=0.92 * width,
            yerr=errors,
            label=style.label,
            color=style.color,
            hatch=style.hatch,
            edgecolor='white' if style.hatch else style.color,
            error_kw={'ecolor': BLACK, 'elinewidth': 0.9},
        )
        places[name] = x
    panel.set_xticks(np.arange(len(groups)), groups)
    panel.tick_params(axis='x', length=0)
    return places


def draw_line(
    panel: Any,
    x: Any,
    y: Any,
    errors: Any = None,
    *,
    style: SeriesStyle,
    label: str | None = None,
    markers: bool = True,
) -> None:
    """Draw a line, with its uncertainty as a shaded band."""
    panel.plot(
        x,
        y,
        color=style.color,
        linestyle=style.dashes,
        marker=style.marker if markers else None,
        label=style.label if label is None else label,
    )
    if errors is not None:
        low, high = np.asarray(y) - errors, np.asarray(y) + errors
        panel.fill_between(x, low, high, color=style.color, alpha=0.22, linewidth=0.0)


def mark_significance(panel: Any, left: float, right: float, height: float, text: str) -> None:
    """Draw a bracket from bar to bar with a star or a p-value above it."""
    low, high = panel.get_ylim()
    tick = 0.012 * (high - low)
    panel.plot(
        [left, left, right, right],
        [height, height + tick, height + tick, height],
        color=BLACK,
        linewidth=0.8,
    )
    panel.text((left + right) / 2, height + tick, text, ha='center', va='bottom', fontsize=7.0)

"""Figures as SVG inside an HTML page, in the page's colours, by day and by night."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from reward_learning_ros.figures import figure_style

# What the page's style sheet calls the colours that figures are drawn in.
_COLOR_NAMES: Mapping[str, str] = {
    '#000000': 'ink',
    '#ffffff': 'paper',
    '#d9d9d9': 'grid',
    '#b0b0b0': 'grid',
    figure_style.GREY: 'grey',
    figure_style.BLUE: 'blue',
    figure_style.ORANGE: 'orange',
    figure_style.GREEN: 'green',
    figure_style.VERMILION: 'vermilion',
    figure_style.PURPLE: 'purple',
    figure_style.SKY: 'sky',
}
_FIRST_TAG = re.compile(r'<svg\b[^>]*>')
_VIEW_BOX = re.compile(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"')
_COLOR = re.compile(r'#[0-9a-fA-F]{6}\b')
_REFERENCE = re.compile(r'(?:xlink:)?href="#([^"]+)"|url\(#([^)]+)\)')
_IDENTITY = re.compile(r' id="([^"]+)"')
_TAG = re.compile(r'<[^>]*>')
_FRACTION = re.compile(r'(\d\.\d\d)\d+')
# Points that a figure is wide to pixels of the page.
_SCALE = 1.8


def inline_svg(figure: Any, name: str, description: str) -> str:
    """Return a figure as an `svg` element.

    Args:
        figure: A Matplotlib figure, to be called in the style that it was drawn in; or the SVG
            file that one was saved in.
        name: Of the figure, one of its own on the page: letters and `-`.
        description: What is to be seen, for those who cannot.
    """
    if isinstance(figure, Path):
        text = figure.read_text(encoding='utf-8')
    else:
        buffer = io.StringIO()
        figure.savefig(
            buffer, format='svg', transparent=True, metadata={'Date': None, 'Creator': None}
        )
        text = buffer.getvalue()
    # The page has its own head, and no link to elsewhere.
    text = text[_FIRST_TAG.search(text).start() :]  # type: ignore[union-attr]
    for part in ('metadata', 'style'):
        text = re.sub(rf'<{part}\b.*?</{part}>', '', text, flags=re.DOTALL)
    text = re.sub(r'<!--.*?-->', '', text, flags=re.DOTALL)
    text = _COLOR.sub(_named_color, _own_names(shortened(text), name))
    # The font of the page; none of them is as wide as the one that the figure was laid out with.
    text = text.replace("'DejaVu Sans'", 'system-ui')
    width, height = (float(number) for number in _VIEW_BOX.search(text).groups())  # type: ignore[union-attr]
    tag = (
        f'<svg viewBox="0 0 {width:g} {height:g}" style="max-width: {_SCALE * width:.0f}px" '
        f'role="img" aria-label="{escape(description)}">'
    )
    return _FIRST_TAG.sub(lambda _: tag, text, count=1).replace('xlink:href', 'href').strip()


def shortened(text: str) -> str:
    """Return an SVG with coordinates of two decimals: half as long, and looking the same."""
    # Inside tags only: numbers that are to be read stay as they are.
    return _TAG.sub(lambda tag: _FRACTION.sub(r'\1', tag[0]), text)


def _own_names(text: str, name: str) -> str:
    """Give the parts that are referred to a name that no other figure has; drop other names."""
    used = {first or second for first, second in _REFERENCE.findall(text)}
    text = _IDENTITY.sub(
        lambda found: f' id="{name}-{found[1]}"' if found[1] in used else '', text
    )
    return _REFERENCE.sub(
        lambda found: f'href="#{name}-{found[1]}"' if found[1] else f'url(#{name}-{found[2]})',
        text,
    )


def _named_color(found: re.Match[str]) -> str:
    for color, name in _COLOR_NAMES.items():
        if found[0].lower() == color.lower():
            return f'var(--{name})'
    return found[0]

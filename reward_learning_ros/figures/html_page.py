"""HTML pages that need nothing but themselves: light and dark, on the screen and on paper."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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


_STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #ffffff; --soft: #f4f5f6;
  --line: #d5d8dc; --grid: #dddddd; --grey: #4d4d4d; --blue: #0072B2; --orange: #E69F00;
  --green: #009E73; --vermilion: #D55E00; --purple: #CC79A7; --sky: #56B4E9; --faint: #5f6670; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #16181b; --soft: #202327;
  --line: #3b4047; --grid: #34383e; --grey: #a6a6a6; --blue: #4fb0ea; --orange: #f0b429;
  --green: #2cc79a; --vermilion: #f58a42; --purple: #e3a0c4; --sky: #7cc8f2; --faint: #a0a7b0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 2rem 1.25rem 4rem; color: var(--ink);
  background: var(--paper); font: 16px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .2rem; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .6rem; padding-bottom: .2rem;
  border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
p { margin: .4rem 0 .8rem; max-width: 50rem; }
.under { color: var(--faint); margin-top: 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .75rem;
  margin: 1.2rem 0; }
.tile { background: var(--soft); border-left: 4px solid var(--line); border-radius: 4px;
  padding: .55rem .8rem; }
.tile b { display: block; font-size: 1.35rem; line-height: 1.25; }
.tile small { color: var(--faint); display: block; line-height: 1.3; }
.good { border-left-color: var(--green); } .bad { border-left-color: var(--vermilion); }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr));
  gap: .15rem 2rem; margin: .5rem 0; }
dl div { display: flex; gap: .6rem; border-bottom: 1px solid var(--line); padding: .12rem 0; }
dt { color: var(--faint); flex: 0 0 55%; } dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: .6rem 0 1.5rem; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .75rem; text-align: right; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { color: var(--faint); font-weight: 600; vertical-align: bottom; }
th:first-child, td:first-child, .text { text-align: left; padding-left: 0; }
caption { caption-side: bottom; text-align: left; color: var(--faint); padding-top: .4rem; }
.note { border-left: 4px solid var(--line); background: var(--soft); padding: .5rem .9rem;
  margin: .6rem 0; border-radius: 4px; max-width: 50rem; }
.note.bad::before { content: "⚠ "; color: var(--vermilion); }
.note.good::before { content: "✓ "; color: var(--green); }
figure { margin: .8rem 0 1.4rem; }
figure svg { display: block; width: 100%; height: auto; fill: var(--ink); }
figure svg * { stroke-linejoin: round; stroke-linecap: butt; }
figcaption { color: var(--faint); font-size: .92rem; max-width: 50rem; margin-top: .3rem; }
@media print { :root { color-scheme: light; --ink: #000; --paper: #fff; --soft: #f4f5f6;
  --line: #c8c8c8; --grid: #dddddd; --grey: #4d4d4d; --blue: #0072B2; --orange: #E69F00;
  --green: #009E73; --vermilion: #D55E00; --purple: #CC79A7; --sky: #56B4E9; --faint: #444; }
  @page { margin: 14mm; } html { font-size: 9.5pt; }
  body { max-width: none; padding: 0; font-size: 1rem; }
  figure, tr, .tile, .note { break-inside: avoid; } h2, h3 { break-after: avoid; }
  .tile, .note { print-color-adjust: exact; } }
"""


@dataclass(frozen=True, kw_only=True)
class Tile:
    """A number to be seen first: what it is, its value, and a word on it."""

    label: str
    value: str
    note: str = ''
    mood: str = ''
    """`good`, `bad` or neither."""


def page(title: str, body: Iterable[str]) -> str:
    """Return a complete HTML page from its sections."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n'
        + '\n'.join(part for part in body if part)
        + '\n</body>\n</html>\n'
    )


def heading(title: str, under: str) -> str:
    """Return the title of a page and the line below it."""
    return f'<h1>{escape(title)}</h1>\n<p class="under">{escape(under)}</p>'


def section(title: str, *parts: str) -> str:
    """Return a section; empty if there is nothing in it."""
    inside = '\n'.join(part for part in parts if part)
    return f'<section>\n<h2>{escape(title)}</h2>\n{inside}\n</section>' if inside else ''


def paragraph(text: str) -> str:
    """Return a paragraph of HTML."""
    return f'<p>{escape(text)}</p>'


def note(text: str, mood: str = '') -> str:
    """Return a highlighted paragraph of HTML."""
    return f'<p class="note {mood}">{escape(text)}</p>'


def tiles(items: Sequence[Tile]) -> str:
    """Return a row of tiles, each with a number, as HTML."""
    cells = ''.join(
        f'<div class="tile {tile.mood}"><small>{escape(tile.label)}</small>'
        f'<b>{escape(tile.value)}</b><small>{escape(tile.note)}</small></div>\n'
        for tile in items
    )
    return f'<div class="tiles">\n{cells}</div>' if items else ''


def facts(values: Mapping[str, Any]) -> str:
    """Return names and values in columns as HTML."""
    rows = ''.join(
        f'<div><dt>{escape(str(name))}</dt><dd>{escape(str(value))}</dd></div>\n'
        for name, value in values.items()
    )
    return f'<dl>\n{rows}</dl>' if rows else ''


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str = '',
    text_columns: Sequence[int] = (),
) -> str:
    """Return a table of texts; empty if it has no row.

    Args:
        columns: Their names; the first one names the rows.
        rows: Of as many texts each.
        caption: What is below it.
        text_columns: Those that hold words rather than numbers.
    """

    def line(cells: Sequence[str], kind: str) -> str:
        marked = (
            f'<{kind}{" class=" + chr(34) + "text" + chr(34) if index in text_columns else ""}>'
            f'{escape(cell)}</{kind}>'
            for index, cell in enumerate(cells)
        )
        return f'<tr>{"".join(marked)}</tr>\n'

    body = ''.join(line(row, 'td') for row in rows)
    if not body:
        return ''
    below = f'<caption>{escape(caption)}</caption>' if caption else ''
    return (
        f'<div class="wide"><table>{below}\n<thead>{line(columns, "th")}</thead>\n'
        f'<tbody>{body}</tbody></table></div>'
    )


def figure(svg: str, caption: str) -> str:
    """Return a figure with its caption as HTML."""
    return f'<figure>\n{svg}\n<figcaption>{escape(caption)}</figcaption>\n</figure>'


def subsection(title: str, inside: str) -> str:
    """Return a part of a section; empty if there is nothing in it."""
    return f'<h3>{escape(title)}</h3>\n{inside}' if inside else ''


def number(value: float | None, digits: int = 3) -> str:
    """Return a number as text, with a real minus; a dash where there is none."""
    if value is None or value != value:
        return '–'
    return f'{value:.{digits}f}'.replace('-', '−')

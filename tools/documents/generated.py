"""Fill pages with what is generated: `<!-- generated: NAME -->` becomes what its function returns.

`<!-- file: PATH -->` becomes a Markdown file of the repository, its links made those of the page.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.documents import notebooks, pages
from tools.pins import ROOT

DOCS = ROOT / 'docs'
# Documents of the repository that have a page of their own on the site.
PAGES = {
    'CHANGELOG.rst': 'changelog.md',
    'CONTRIBUTING.md': 'contributing.md',
    'README.md': 'index.md',
}

# Where something is generated.
MARK = re.compile(r'^<!-- generated: ([a-z-]+) -->$', re.MULTILINE)
_FILE = re.compile(r'^<!-- file: (\S+) -->$', re.MULTILINE)
_NOTEBOOK = re.compile(r'^<!-- notebook: (\S+) -->$', re.MULTILINE)
_LINK = re.compile(r'\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)')
_MERMAID = re.compile(r'^```mermaid\n.*?^```\n', re.MULTILINE | re.DOTALL)


def setup(app: Any) -> None:
    """Connect with Sphinx."""
    app.connect('source-read', _fill)


def _fill(app: Any, name: str, source: list[str]) -> None:
    source[0] = filled(source[0], DOCS / f'{name}.md')


def filled(text: str, page: Path, functions: dict[str, Callable[[], str]] | None = None) -> str:
    """Return the text of a page with its marks replaced.

    Args:
        text: Of the page.
        page: Its path.
        functions: What generates each name.

    Raises:
        KeyError: A mark has a name that nothing generates.
    """
    known = pages.FUNCTIONS if functions is None else functions
    text = MARK.sub(lambda match: known[match.group(1)](), text)
    text = _FILE.sub(lambda match: _from_file(ROOT / match.group(1), page), text)
    text = _NOTEBOOK.sub(lambda match: notebooks.as_markdown(ROOT / match.group(1)), text)
    # Drawn by the browser, it would need a script from the network.
    text = _MERMAID.sub(lambda match: pages.FUNCTIONS['session-states'](), text)
    return _LINK.sub(lambda match: f']({_within_site(match, page)})', text)


def _from_file(path: Path, page: Path) -> str:
    text = path.read_text(encoding='utf-8')

    def moved(match: re.Match[str]) -> str:
        target = (path.parent / match.group(1)).resolve()
        return f']({os.path.relpath(target, page.parent)}{match.group(2) or ""})'

    return _LINK.sub(moved, text)


def _within_site(match: re.Match[str], page: Path) -> str:
    """Return the link, to the page of the site that shows the same where there is one."""
    target = (page.parent / match.group(1)).resolve()
    if target.parent == ROOT and target.name in PAGES:
        target = DOCS / PAGES[target.name]
    return os.path.relpath(target, page.parent) + (match.group(2) or '')

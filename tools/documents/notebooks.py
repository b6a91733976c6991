"""A notebook as a page: its text, its code, and what that printed."""

from __future__ import annotations

import json
from pathlib import Path

from tools.documents.blocks import printed_by


def as_markdown(path: Path) -> str:
    """Return the cells of a notebook as Markdown."""
    parts = []
    for cell in json.loads(path.read_text(encoding='utf-8'))['cells']:
        source = ''.join(cell['source'])
        if cell['cell_type'] == 'markdown':
            parts.append(f'{source}\n')
            continue
        parts.append(f'```python\n{source}\n```\n')
        printed = printed_by(cell)
        if printed:
            parts.append(f'```text\n{printed.rstrip()}\n```\n')
    return '\n'.join(parts)

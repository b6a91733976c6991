"""Count Python files and lines of the package and of what surrounds it.

python -m tools.size
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = 'reward_learning_ros'
PARTS = (PACKAGE, 'test', 'tools', 'benchmarks')


def count(folder: Path) -> tuple[int, int]:
    """Return the numbers of Python files and of their lines."""
    paths = list(folder.rglob('*.py'))
    return len(paths), sum(len(path.read_text(encoding='utf-8').splitlines()) for path in paths)


def rows(root: Path) -> Iterator[tuple[str, int, int]]:
    """Yield name, files and lines: parts of the repository, then packages."""
    for part in PARTS:
        yield part, *count(root / part)
    for folder in sorted((root / PACKAGE).iterdir()):
        if (folder / '__init__.py').exists():
            yield f'  {folder.name}', *count(folder)


def main() -> int:
    """Print the table."""
    for name, files, lines in rows(ROOT):
        print(f'{name:<24}{files:>5} files{lines:>8,} lines')
    return 0


if __name__ == '__main__':
    sys.exit(main())

"""Find places of the package that share more lines than a few.

python -m tools.duplicates

Lines are compared as the tokens that they hold, so that neither comments nor layout count. Imports
and docstrings are left out. A place that is alike on purpose says so in a comment `alike: why`
among its lines.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / 'reward_learning_ros'
# So many lines may be alike.
MAX_SHARED = 10
EXCUSE = '# alike: '
_LAYOUT = {
    tokenize.NEWLINE,
    tokenize.NL,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of code: its number, and its tokens without comments."""

    number: int
    tokens: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Shared:
    """Lines that two places have in common.

    Attributes:
        first: file and first line.
        second: file and first line.
        lines: how many.
    """

    first: tuple[str, int]
    second: tuple[str, int]
    lines: int

    def __str__(self) -> str:
        return (
            f'{self.lines:3d} lines  {self.first[0]}:{self.first[1]}  '
            f'{self.second[0]}:{self.second[1]}'
        )


def code_lines(source: str) -> list[Line]:
    """Return the lines that count: code without imports and docstrings, closing brackets aside."""
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)) or (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    tokens: dict[int, list[str]] = defaultdict(list)
    excused: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        number = token.start[0]
        if token.type == tokenize.COMMENT:
            if token.string.startswith(EXCUSE):
                excused.add(number)
        elif token.type not in _LAYOUT and number not in left_out:
            tokens[number].append(token.string)
    lines = [Line(number=number, tokens=tuple(tokens[number])) for number in sorted(tokens)]
    # A line that is nothing but brackets and commas says nothing.
    lines = [line for line in lines if any(any(c.isalnum() for c in t) for t in line.tokens)]
    return [
        Line(number=line.number, tokens=('excused', str(id(source)), str(line.number)))
        if line.number - 1 in excused
        else line
        for line in lines
    ]


def find_shared(sources: dict[str, str], max_shared: int = MAX_SHARED) -> Iterator[Shared]:
    """Yield each longest run of more than `max_shared` lines that two places have in common.

    Args:
        sources: Text of each file by its name.
        max_shared: So many may be alike.
    """
    files = {name: code_lines(text) for name, text in sources.items()}
    window = max_shared + 1
    places: dict[tuple[tuple[str, ...], ...], list[tuple[str, int]]] = defaultdict(list)
    for name, lines in files.items():
        for index in range(len(lines) - window + 1):
            key = tuple(line.tokens for line in lines[index : index + window])
            places[key].append((name, index))
    seen: set[tuple[str, int, str, int]] = set()
    for found in places.values():
        for number, (first, i) in enumerate(found):
            for second, j in found[number + 1 :]:
                if (first, i - 1, second, j - 1) in seen or (first == second and j < i + window):
                    seen.add((first, i, second, j))
                    continue
                seen.add((first, i, second, j))
                length = window
                one, other = files[first], files[second]
                while (
                    i + length < len(one)
                    and j + length < len(other)
                    and one[i + length].tokens == other[j + length].tokens
                ):
                    length += 1
                yield Shared(
                    first=(first, one[i].number),
                    second=(second, other[j].number),
                    lines=length,
                )


def sources_of(folder: Path) -> dict[str, str]:
    """Return the text of each Python file below a folder by its name there."""
    return {
        str(path.relative_to(folder)): path.read_text(encoding='utf-8')
        for path in sorted(folder.rglob('*.py'))
    }


def main() -> int:
    """Print what is shared; 1 if anything is."""
    found = sorted(find_shared(sources_of(PACKAGE)), key=lambda shared: -shared.lines)
    for shared in found:
        print(shared)
    return int(bool(found))


if __name__ == '__main__':
    sys.exit(main())

"""The code blocks of the documents: what is to be run, and what it is said to print.

A block is run if its language is `sh`, `console` or `python`, unless a comment before it says why
not:

    <!-- not run: needs the real arm -->

In a `console` block each line after `$ ` is a command, and what follows it is what it prints. What
the `python` block before prints stands in a `text` block after this comment:

    <!-- printed -->

`…` in what is printed stands for anything, and alone in a line for any number of lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SHELL, CONSOLE, PYTHON = 'sh', 'console', 'python'
RUN = (SHELL, CONSOLE, PYTHON)
# Shown, and nothing that could be run.
SHOWN = ('text', 'yaml', 'mermaid', 'json', 'bibtex')
ANYTHING = '…'
PROMPT = '$ '
NOTEBOOK = '.ipynb'

_FENCE = re.compile(r'^(?P<fence>```+)(?P<language>.*)$')
_COMMENT = re.compile(r'^<!-- (?P<text>.*?) -->$')
_NOT_RUN = 'not run: '
_PRINTED = 'printed'
_AFTER = re.compile(r'^<!-- after: (\S+) -->$', re.MULTILINE)


class DocumentError(Exception):
    """A document has a block that cannot be understood; the message says where and why."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """One block of code.

    Attributes:
        page: the document.
        line: of its first line of code, from 1.
        language: one of `RUN`.
        code: what is run.
        not_run: why it is not run; empty if it is.
        printed: what it prints; None if nothing is said about that.
    """

    page: Path
    line: int
    language: str
    code: str
    not_run: str = ''
    printed: str | None = None

    @property
    def place(self) -> str:
        """Where it stands."""
        return f'{self.page.name}:{self.line}'

    @property
    def commands(self) -> list[tuple[str, str]]:
        """The commands of a console block, each with what it prints."""
        found: list[tuple[str, str]] = []
        for line in self.code.splitlines():
            if line.startswith(PROMPT):
                found.append((line[len(PROMPT) :], ''))
            elif not found:
                raise DocumentError(f'{self.place}: a console block begins with "{PROMPT}"')
            elif found[-1][0].endswith('\\') and not found[-1][1]:
                found[-1] = (f'{found[-1][0]}\n{line}', '')
            else:
                command, printed = found[-1]
                found[-1] = (command, f'{printed}{line}\n')
        return found


def read(page: Path) -> list[Block]:
    """Return the blocks of a document or a notebook, in their order.

    Raises:
        DocumentError: A block has no language, or one that is not known.
    """
    text = page.read_text(encoding='utf-8')
    return list(_of_notebook(page, text) if page.suffix == NOTEBOOK else _of_page(page, text))


def goes_after(page: Path) -> Path | None:
    """Return the document in whose folder, and after which, this one is run."""
    text = page.read_text(encoding='utf-8')
    if page.suffix == NOTEBOOK:
        name = json.loads(text)['metadata'].get('after')
    else:
        match = _AFTER.search(text)
        name = match.group(1) if match else None
    return (page.parent / name).resolve() if name else None


def _of_page(page: Path, text: str) -> Iterator[Block]:
    waiting: Block | None = None
    for language, first, lines, comment in _fences(page, text.splitlines()):
        code = ''.join(f'{line}\n' for line in lines)
        if comment == _PRINTED:
            if waiting is None or waiting.language != PYTHON:
                raise DocumentError(f'{page}:{first}: nothing before it prints this')
            yield _with_printed(waiting, code)
            waiting = None
            continue
        if waiting is not None:
            yield waiting
            waiting = None
        if language in SHOWN or language.startswith('{'):
            continue
        if language not in RUN:
            known = ', '.join((*RUN, *SHOWN))
            raise DocumentError(f'{page}:{first}: a block in {language!r}; known: {known}')
        reason = comment[len(_NOT_RUN) :] if comment.startswith(_NOT_RUN) else ''
        waiting = Block(page=page, line=first, language=language, code=code, not_run=reason)
    if waiting is not None:
        yield waiting


def _with_printed(block: Block, text: str) -> Block:
    return Block(
        page=block.page,
        line=block.line,
        language=block.language,
        code=block.code,
        not_run=block.not_run,
        printed=text,
    )


def _fences(page: Path, lines: Sequence[str]) -> Iterator[tuple[str, int, list[str], str]]:
    """Yield language, number of the first line, lines, and the comment before each block."""
    comment = ''
    number = 0
    while number < len(lines):
        match = _FENCE.match(lines[number])
        if match is None:
            said = _COMMENT.match(lines[number])
            if said:
                comment = said.group('text')
            elif lines[number].strip():
                comment = ''
            number += 1
            continue
        first = number + 1
        try:
            end = list(lines).index(match.group('fence'), first)
        except ValueError:
            raise DocumentError(f'{page}:{first}: the block has no end') from None
        yield match.group('language').strip(), first + 1, list(lines[first:end]), comment
        comment = ''
        number = end + 1


def _of_notebook(page: Path, text: str) -> Iterator[Block]:
    for number, cell in enumerate(json.loads(text)['cells'], start=1):
        if cell['cell_type'] == 'code':
            yield Block(
                page=page,
                line=number,
                language=PYTHON,
                code=''.join(cell['source']),
                printed=printed_by(cell) or None,
            )


def printed_by(cell: dict[str, Any]) -> str:
    """Return the text that a cell of a notebook is said to print."""
    return ''.join(
        ''.join(output['text'])
        for output in cell['outputs']
        if output['output_type'] == 'stream' and output['name'] == 'stdout'
    )


def is_as_said(printed: str, said: str) -> bool:
    """Tell whether what was printed is what the document says, but for spaces at line ends."""
    return _matches(_lines(printed), _lines(said))


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip('\n').split('\n')]


def _matches(printed: list[str], said: list[str]) -> bool:
    if not said:
        return not printed
    if said[0].strip() == ANYTHING:
        return any(_matches(printed[skipped:], said[1:]) for skipped in range(len(printed) + 1))
    if not printed:
        return False
    pattern = '.*'.join(re.escape(part) for part in said[0].split(ANYTHING))
    return bool(re.fullmatch(pattern, printed[0])) and _matches(printed[1:], said[1:])

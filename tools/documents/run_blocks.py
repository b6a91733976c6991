"""Run the code blocks of the documents, and compare what they print with what they say.

python -m tools.documents.run_blocks [PAGE …] [--list]

The blocks of a page run in their order in one empty folder. `make` is that of this repository, but
what it would run in an environment of its own runs in this one.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.documents.blocks import (
    CONSOLE,
    PYTHON,
    Block,
    DocumentError,
    goes_after,
    is_as_said,
    read,
)
from tools.domains import claimed_domain
from tools.pins import ROOT

# Longer than this, a block is one for which the reason not to run it is the time it takes.
_TIMEOUT_SEC = 900.0
_MAKE = """\
#!{python}
import os, subprocess, sys
said = subprocess.run(
    ['/usr/bin/env', '-i', 'PATH=/usr/local/bin:/usr/bin:/bin', 'make', '-n', '-s', '-C', {root!r},
     *sys.argv[1:]],
    stdout=subprocess.PIPE, universal_newlines=True,
)
if said.returncode:
    sys.exit(said.returncode)
for line in said.stdout.replace('\\\\\\n', ' ').splitlines():
    # `python -m tools.environment … --with LAYER [--in-build] COMMAND`
    command = line.partition(' --with ')[2].partition(' ')[2].replace('--in-build ', '', 1)
    code = subprocess.run(['bash', '-c', command]).returncode
    if code:
        sys.exit(code)
"""


def documents() -> list[Path]:
    """Return the documents whose blocks are run, those that go after another one behind it."""
    found = [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md']
    found += sorted((ROOT / 'docs').rglob('*.md')) + sorted((ROOT / 'docs').rglob('*.ipynb'))
    return sorted(found, key=lambda page: goes_after(page) is not None)


def main(arguments: list[str] | None = None) -> int:
    """Run the blocks, print a line for each, and return 0 if all did what they say."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').split('\n')[0])
    parser.add_argument('pages', nargs='*', type=Path, help='all documents unless given')
    parser.add_argument('--list', action='store_true', help='only say what would be run')
    options = parser.parse_args(arguments)
    pages = [page.resolve() for page in options.pages] or documents()
    try:
        blocks = {page: read(page) for page in pages}
    except DocumentError as error:
        print(f'error: {error}', file=sys.stderr)
        return 1
    if options.list:
        for block in (block for found in blocks.values() for block in found):
            print(f'{_name(block)}  {block.language}  {block.not_run or "run"}')
        return 0
    failures = 0
    with tempfile.TemporaryDirectory(prefix='documents-') as folder, claimed_domain() as domain:
        variables = _variables(Path(folder), domain)
        os.environ.update(variables)
        for page, found in blocks.items():
            work = Path(folder) / (goes_after(page) or page).relative_to(ROOT).with_suffix('')
            work.mkdir(parents=True, exist_ok=True)
            failures += _run_page(found, work)
    print(f'{failures} of {sum(map(len, blocks.values()))} blocks failed')
    return 1 if failures else 0


def _run_page(blocks: list[Block], folder: Path) -> int:
    names: dict[str, Any] = {'__name__': '__main__'}
    failures = 0
    for block in blocks:
        if block.not_run:
            print(f'{_name(block)}  not run: {block.not_run}', flush=True)
            continue
        started_sec = time.monotonic()
        with _within(folder):
            problem = _run_python(block, names) if block.language == PYTHON else _run_shell(block)
        took = f'{time.monotonic() - started_sec:.1f} s'
        print(f'{_name(block)}  {took}  {"FAILED" if problem else "as said"}', flush=True)
        if problem:
            failures += 1
            print(problem, flush=True)
    return failures


def _run_python(block: Block, names: dict[str, Any]) -> str:
    """Run a block in the names of its page, and return what is wrong; empty if nothing is."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(block.code, str(block.page), 'exec'), names)
    except Exception:
        return traceback.format_exc()
    return _difference(printed.getvalue(), block.printed)


def _run_shell(block: Block) -> str:
    commands = block.commands if block.language == CONSOLE else [(block.code, None)]
    for command, said in commands:
        try:
            done = subprocess.run(
                ['bash', '-euo', 'pipefail', '-c', command],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_SEC,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f'{command}\ntook longer than {_TIMEOUT_SEC:.0f} s'
        if done.returncode:
            return f'{command}\nexit code {done.returncode}\n{done.stdout}{done.stderr}'
        problem = _difference(done.stdout, said)
        if problem:
            return f'{command}\n{problem}'
    return ''


def _difference(printed: str, said: str | None) -> str:
    if said is None or is_as_said(printed, said):
        return ''
    return f'--- the document says\n{said}--- it printed\n{printed}'


def _variables(folder: Path, domain: int) -> dict[str, str]:
    """Return what the blocks run with: this Python's commands, and a `make` that uses them."""
    commands = folder / 'bin'
    commands.mkdir()
    make = commands / 'make'
    make.write_text(_MAKE.format(python=sys.executable, root=str(ROOT)), encoding='utf-8')
    make.chmod(0o755)
    own = str(Path(sys.executable).parent)
    return {
        'PATH': os.pathsep.join([str(commands), own, os.environ.get('PATH', os.defpath)]),
        # What is documented is this source tree, whatever is installed.
        'PYTHONPATH': os.pathsep.join(filter(None, [str(ROOT), os.environ.get('PYTHONPATH', '')])),
        'ROS_DOMAIN_ID': str(domain),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        'REPOSITORY': str(ROOT),
        # Lines are as long as they are, not as the terminal is wide.
        'COLUMNS': '100',
        'MPLBACKEND': 'agg',
    }


@contextlib.contextmanager
def _within(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _name(block: Block) -> str:
    return f'{block.page.relative_to(ROOT)}:{block.line}'


if __name__ == '__main__':
    sys.exit(main())

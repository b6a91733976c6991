"""Resolve tools/pins.txt again: the newest versions that go together, for each supported Python.

    python3 -m tools.update_pins [--keep]

What is resolved stands in one place each: setup.py for what the layers of an environment need,
tools/pins.py for the installer and the wheels of ROS 2.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterable, List, Optional

from tools import interpreters, pins
from tools.console import ProblemError, say
from tools.pins import PINS, ROOT

VENV = ROOT / '.venv-pins'
HEADER = """\
# Every version that an environment of this repository may hold. One section for each layer, with
# all that it needs; Jazzy's and Kilted's wheels share distribution names, so each has a venv.
# Made with `make pins`; do not edit by hand.
"""


def main(arguments: Optional[List[str]] = None) -> int:
    """Write the pins file, whole or not at all."""
    parser = argparse.ArgumentParser(
        prog='python3 -m tools.update_pins', description=(__doc__ or '').split('\n')[0]
    )
    parser.add_argument(
        '--keep', action='store_true', help='keep the versions that are there; resolve new ones'
    )
    options = parser.parse_args(arguments)
    try:
        sections = resolve_all(make_resolver(), options.keep)
    except ProblemError as problem:
        print(f'error: {problem}', file=sys.stderr)
        return 1
    written = PINS.with_name(PINS.name + '.new')
    written.write_text(render(sections), encoding='utf-8')
    written.replace(PINS)
    say(f'wrote {PINS.relative_to(ROOT)}: {count(sections)}')
    return 0


def resolve_all(uv: str, keep: bool) -> Dict[str, List[str]]:
    """Return the lines of every section; a package has one version wherever it stands."""
    asked = {pins.INSTALLER: list(pins.INSTALLER_PACKAGES)}
    asked.update((layer, pins.requirements(layer)) for layer in pins.LAYERS)
    together = resolve(
        uv, [line for lines in asked.values() for line in lines], kept(asked) if keep else []
    )
    sections = {name: resolve(uv, lines, together) for name, lines in asked.items()}
    for distribution in pins.DISTRIBUTIONS:
        wheels = pins.ros_wheels(distribution)
        constraints = [*together, *(kept([distribution]) if keep else [])]
        found = resolve(uv, [*wheels, *sections[pins.SESSION]], constraints)
        sections[distribution] = [line for line in found if line not in sections[pins.SESSION]]
    return sections


def kept(sections: Iterable[str]) -> List[str]:
    """Return the lines of those sections that are there."""
    lines = []
    for section in sections:
        try:
            lines += pins.read(section)
        except ProblemError:
            continue
    return lines


def render(sections: Dict[str, List[str]]) -> str:
    """Return the text of the pins file."""
    parts = ['[{}]\n{}\n'.format(name, '\n'.join(lines)) for name, lines in sections.items()]
    return '\n'.join([HEADER, *parts])


def count(sections: Dict[str, List[str]]) -> str:
    """Return how many lines each section has, in words."""
    return ', '.join(f'{len(lines)} in [{name}]' for name, lines in sections.items())


def make_resolver() -> str:
    """Return the path of uv, from a venv of its own."""
    uv = VENV / 'bin' / 'uv'
    if not uv.exists():
        say(f'making {VENV.name}')
        run([interpreters.find().path, '-m', 'venv', '--clear', str(VENV)])
        run([str(VENV / 'bin' / 'python'), '-m', 'pip', 'install', '--quiet', 'uv'])
    return str(uv)


def resolve(uv: str, requirements: Iterable[str], constraints: Iterable[str]) -> List[str]:
    """Return the resolved versions, one line each, for every Python from the oldest on."""
    with tempfile.TemporaryDirectory() as folder:
        listed, allowed = Path(folder) / 'requirements.in', Path(folder) / 'constraints.txt'
        listed.write_text('\n'.join(requirements) + '\n')
        allowed.write_text('\n'.join(constraints) + '\n')
        style = ['--universal', '--python-version', interpreters.SUPPORTED[0]]
        style += ['--no-annotate', '--no-header', '--quiet', '--constraints', str(allowed)]
        words = run([uv, 'pip', 'compile', *style, str(listed)])
    # The universal resolution covers Windows too, which this package does not run on.
    return [line for line in words.splitlines() if line and "== 'win32'" not in line]


def run(command: List[str]) -> str:
    """Return what a command prints, or raise with what it complains of."""
    variables = dict(os.environ, PIP_USER='0')
    done = subprocess.run(
        command,
        cwd=str(ROOT),
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    if done.returncode:
        raise ProblemError(f'{" ".join(command[:4])} …:\n{done.stderr.strip()}')
    return done.stdout


if __name__ == '__main__':
    sys.exit(main())

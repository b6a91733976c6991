"""Resolve tools/pins.txt anew: the newest versions that go together, for each supported Python.

    python3 -m tools.update_pins

What is resolved stands in one place each: setup.py for what every environment holds, tools/pins.py
for the build tools and the wheels of ROS 2.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterable, List

from tools import interpreters, pins
from tools.console import ProblemError, say
from tools.pins import PINS, ROOT

VENV = ROOT / '.venv-pins'
HEADER = """\
# Every version that an environment of this repository holds. One section per set of packages that
# are resolved together; Jazzy's and Kilted's wheels share distribution names, so each has a venv.
# Made with `make pins`; do not edit by hand.
"""


def main() -> int:
    """Write the pins file, whole or not at all."""
    try:
        uv = make_resolver()
        common = resolve(uv, pins.BUILD_TOOLS, ['setup.py', *extras()])
        sections = {pins.COMMON: common}
        for distribution in pins.DISTRIBUTIONS:
            found = resolve(uv, [*pins.ros_wheels(distribution), *common], [])
            sections[distribution] = [line for line in found if line not in common]
    except ProblemError as problem:
        print(f'error: {problem}', file=sys.stderr)
        return 1
    written = PINS.with_name(PINS.name + '.new')
    written.write_text(render(sections), encoding='utf-8')
    written.replace(PINS)
    say(f'wrote {PINS.relative_to(ROOT)}: {count(sections)}')
    return 0


def extras() -> List[str]:
    """Return the options that ask for the extras of setup.py."""
    return [option for extra in pins.EXTRAS for option in ('--extra', extra)]


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


def resolve(uv: str, requirements: Iterable[str], sources: List[str]) -> List[str]:
    """Return the resolved versions, one line each, for every Python from the oldest on."""
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / 'requirements.in'
        listed.write_text('\n'.join(requirements) + '\n')
        style = ['--universal', '--python-version', interpreters.SUPPORTED[0]]
        style += ['--no-annotate', '--no-header', '--quiet']
        words = run([uv, 'pip', 'compile', *style, str(listed), *sources])
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

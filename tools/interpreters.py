"""Find a Python that this package runs on."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

from tools.console import ProblemError

SUPPORTED = ('3.10', '3.11', '3.12', '3.13')
# Tried in this order when the Python that started the tools is not a supported one: the Pythons
# of Ubuntu 24.04 (Jazzy), Debian 12, Debian 13 and Ubuntu 22.04 (Humble).
PREFERRED = ('3.12', '3.11', '3.13', '3.10')


class Interpreter(NamedTuple):
    """A Python outside any venv."""

    path: str
    version: str


def find(version: Optional[str] = None) -> Interpreter:
    """Return the Python of a version, or the one that is running, or the best that is here."""
    running = f'{sys.version_info[0]}.{sys.version_info[1]}'
    for wanted in (version,) if version else (running, *PREFERRED):
        if wanted not in SUPPORTED:
            continue
        if wanted == running:
            # Within a venv, the Python that the venv was made from.
            path = getattr(sys, '_base_executable', None) or sys.executable
            return Interpreter(os.path.realpath(path), wanted)
        for path in _candidates(wanted):
            found = _ask(path)
            if found and found.version == wanted:
                return found
    supported = ', '.join(SUPPORTED)
    if version and version not in SUPPORTED:
        raise ProblemError(f'Python {version} is not supported; supported: {supported}.')
    if version:
        raise ProblemError(
            f'Python {version} is not here. On Debian or Ubuntu, where the release has it: '
            f'`sudo apt install python{version} python{version}-venv`; elsewhere: '
            f'`pyenv install {version}`.'
        )
    raise ProblemError(
        f'this is Python {running}, and none of the supported ones ({supported}) is here. On '
        'Debian 12 or Ubuntu 22.04 and later: `sudo apt install python3 python3-venv`; '
        'elsewhere: `pyenv install 3.12`.'
    )


def _candidates(version: str) -> Iterator[str]:
    """Yield where a Python of this version may be: on the PATH, and where pyenv keeps them."""
    roots = [Path.home() / '.pyenv']
    if 'PYENV_ROOT' in os.environ:
        roots.insert(0, Path(os.environ['PYENV_ROOT']))
    on_path = shutil.which('python' + version)
    if on_path:
        yield on_path
        # pyenv's shim exists for each installed version but starts only the selected ones.
        if Path(on_path).parent.name == 'shims':
            roots.insert(0, Path(on_path).parent.parent)
    for root in roots:
        for directory in sorted((root / 'versions').glob(version + '.*'), reverse=True):
            yield str(directory / 'bin' / 'python')


def _ask(path: str) -> Optional[Interpreter]:
    """Return what an interpreter says of itself, or None if it does not start."""
    code = (
        'import os, sys; print("%d.%d" % sys.version_info[:2]); '
        'print(os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable))'
    )
    try:
        asked = subprocess.run(
            [path, '-c', code],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            universal_newlines=True,
        )
    except OSError:
        return None
    if asked.returncode:
        return None
    version, executable = asked.stdout.splitlines()
    return Interpreter(executable, version)

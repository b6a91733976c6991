"""Make a virtual environment once, whole, and by one process at a time."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Callable, Dict, Iterator, List, NamedTuple, Optional

from tools.console import ProblemError, Progress, say
from tools.interpreters import Interpreter
from tools.pins import ROOT

PACKAGE = 'reward_learning_ros'
STAMP = f'{PACKAGE}.stamp'
LOG = 'install.log'
CONSTRAINTS = 'constraints.txt'
# What a person's own pip settings must not redirect: everything goes into the venv.
PIP_SETTINGS = {'PIP_USER': '0', 'PIP_NO_INPUT': '1', 'PIP_PROGRESS_BAR': 'off'}
PIP_REDIRECTIONS = ('PIP_TARGET', 'PIP_PREFIX', 'PIP_ROOT', 'PIP_CONSTRAINT', 'PIP_REQUIREMENT')


class Recipe(NamedTuple):
    """Everything that decides what is in an environment."""

    venv: Path
    interpreter: Interpreter
    sees_system_packages: bool
    # The only versions that pip may choose, where it chooses.
    pins: List[str]
    # What pip is asked for, call by call.
    installations: List[List[str]]
    # A text whose change asks for new installations, but not for a new venv.
    package: str
    variables: Dict[str, str]
    # A module that compiles what would otherwise be compiled when it is used first.
    compiler: Optional[str] = None


def ensure(recipe: Recipe) -> None:
    """Make the environment, or bring it up to date, unless it already holds just this."""
    if _is_current(recipe):
        return
    _refuse_foreign(recipe.venv)
    with _locked(recipe.venv) as lock:
        # Another process may have made it while this one waited.
        if not _is_current(recipe):
            _make(recipe, lock)


def interpreter_of(venv: Path) -> Optional[Interpreter]:
    """Return the Python that a venv was made from, or None if either is not there any more."""
    found = _read(venv / STAMP).get('interpreter')
    return Interpreter(*found) if found and os.path.exists(found[0]) else None


def _make(recipe: Recipe, lock: IO[str]) -> None:
    venv, stamp = recipe.venv, recipe.venv / STAMP
    whole = _contents(recipe)
    if _read(stamp).get('base') == whole['base']:
        say(f'updating {venv.name}')
        # Without its stamp, an environment whose update was cut short is made anew.
        stamp.unlink()
    else:
        say(f'making {venv.name} with Python {recipe.interpreter.version} (once, 2 to 5 minutes)')
        _make_empty(recipe)
    (venv / CONSTRAINTS).write_text('\n'.join(recipe.pins) + '\n')
    for arguments in recipe.installations:
        _install(recipe, lock, arguments)
    _link_share(venv)
    if recipe.compiler:
        _compile(recipe, lock, recipe.compiler)
    # Written last, and by renaming: a venv with a stamp is whole.
    written = venv / (STAMP + '.new')
    written.write_text(json.dumps(whole))
    written.rename(stamp)


def _is_current(recipe: Recipe) -> bool:
    return _read(recipe.venv / STAMP) == _contents(recipe)


def _read(stamp: Path) -> Dict[str, Any]:
    """Return what a stamp says is in its venv; nothing if the venv is not whole."""
    try:
        found = json.loads(stamp.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _contents(recipe: Recipe) -> Dict[str, Any]:
    """Return what decides whether the venv can be kept, and whether its package can be."""
    base = [
        # A venv that was moved, or whose Python was replaced, does not run.
        str(recipe.venv),
        *recipe.interpreter,
        str(recipe.sees_system_packages),
        *recipe.pins,
        *(argument for arguments in recipe.installations for argument in arguments),
    ]
    return {
        'interpreter': list(recipe.interpreter),
        'base': _digest(base),
        'package': _digest([recipe.package]),
    }


def _digest(texts: List[str]) -> str:
    return hashlib.sha256('\n'.join(texts).encode()).hexdigest()


def _lock_path(venv: Path) -> Path:
    return venv.with_name(venv.name + '.lock')


def _refuse_foreign(venv: Path) -> None:
    """Raise rather than replace a folder that somebody else made under this name."""
    if venv.exists() and not (_lock_path(venv).exists() or (venv / STAMP).exists()):
        raise ProblemError(
            f'{venv} is here, but was not made by this repository. Move it away: an environment '
            'with pinned versions takes its place.'
        )


@contextmanager
def _locked(venv: Path) -> Iterator[IO[str]]:
    """Hold the lock on a venv; the system releases it when the last holder ends."""
    with open(str(_lock_path(venv)), 'w') as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f'another run is making {venv.name}; waiting for it')
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock


def _make_empty(recipe: Recipe) -> None:
    """Make an empty venv in place of whatever is there."""
    venv, version = recipe.venv, recipe.interpreter.version
    shutil.rmtree(str(venv), ignore_errors=True)
    options = ['--system-site-packages'] if recipe.sees_system_packages else []
    made = subprocess.run(
        [recipe.interpreter.path, '-m', 'venv', '--clear', *options, str(venv)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
        env=recipe.variables,
    )
    if made.returncode:
        shutil.rmtree(str(venv), ignore_errors=True)
        raise ProblemError(
            f'Python {version} cannot make a virtual environment. On Debian or Ubuntu: '
            f'`sudo apt install python{version}-venv`. Its own words:\n{made.stdout.strip()}'
        )


def _install(recipe: Recipe, lock: IO[str], arguments: List[str]) -> None:
    """Run pip with its words in a log; show progress, and the log's end if it fails."""
    variables = {k: v for k, v in recipe.variables.items() if k not in PIP_REDIRECTIONS}
    variables.update(PIP_SETTINGS)
    # Python compiles what is imported; compiling everything at once takes longer.
    command = ['pip', 'install', '--no-compile', '-c', str(recipe.venv / CONSTRAINTS), *arguments]
    if _run_module(recipe, lock, command, variables, _last_step):
        log = recipe.venv / LOG
        last = '\n'.join(log.read_text(errors='replace').splitlines()[-20:])
        raise ProblemError(
            f'pip could not install the packages; the next run starts over. Its last words '
            f'(all of them: {log}):\n{last}'
        )


def _compile(recipe: Recipe, lock: IO[str], module: str) -> None:
    """Compile ahead; a failure is told, but what is missing is compiled when it is used."""
    if _run_module(recipe, lock, [module], recipe.variables, lambda log: f'compiling ({module})'):
        say(f'{module} failed, so the first session will take longer; see {recipe.venv / LOG}')


def _run_module(
    recipe: Recipe,
    lock: IO[str],
    command: List[str],
    variables: Dict[str, str],
    step: Callable[[Path], str],
) -> int:
    """Run a module of Python with its words in a log, show progress, and return its exit code."""
    log = recipe.venv / LOG
    started_sec = time.monotonic()
    progress = Progress()
    with open(str(log), 'a') as output:
        process = subprocess.Popen(
            [str(recipe.venv / 'bin' / 'python'), '-m', *command],
            cwd=str(ROOT),
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # Should this process be killed, the next one waits until its child has ended too.
            pass_fds=[lock.fileno()],
        )
        try:
            while process.poll() is None:
                progress.update(time.monotonic() - started_sec, step(log))
                try:
                    process.wait(timeout=0.5)
                except subprocess.TimeoutExpired:
                    continue
        finally:
            progress.close()
            if process.poll() is None:
                process.terminate()
                process.wait()
    return process.returncode


def _last_step(log: Path) -> str:
    """Return what pip is doing, as its log tells."""
    with open(str(log), 'rb') as words:
        words.seek(0, os.SEEK_END)
        words.seek(-min(words.tell(), 4096), os.SEEK_END)
        lines = words.read().decode(errors='replace').splitlines()
    steps = ('Requirement', 'Collecting', 'Downloading', 'Building', 'Installing')
    for line in reversed(lines):
        if line.strip().startswith(steps):
            return line.strip()
    return 'starting pip'


def _link_share(venv: Path) -> None:
    """Let the ament index find the package: an editable installation leaves its data files out."""
    share = venv / 'share'
    links = {
        share / 'ament_index' / 'resource_index' / 'packages' / PACKAGE: f'resource/{PACKAGE}',
        share / PACKAGE / 'package.xml': 'package.xml',
        share / PACKAGE / 'launch': 'launch',
        share / PACKAGE / 'config': 'config',
    }
    for link, target in links.items():
        link.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(str(link)):
            link.symlink_to(ROOT / target)

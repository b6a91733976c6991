"""Make a virtual environment once, layer by layer, and by one process at a time."""

import errno
import fcntl
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Callable, Iterator, List, Tuple

from tools import installer, pins
from tools.console import ProblemError, Steps, say
from tools.installer import Command
from tools.pins import ROOT
from tools.recipe import (
    PACKAGE,
    STAMP,
    Recipe,
    can_be_kept,
    contents,
    is_current,
    read_stamp,
    write_stamp,
)

LOG = 'install.log'
CONSTRAINTS = 'constraints.txt'
REQUIREMENTS = 'requirements.txt'
SETTINGS = 'setuptools.cfg'
# The lines of output that a compiler prints: first how many kernels it has, then each of them.
ANNOUNCED, COMPILED = 'kernels ', 'compiled '
# What the steps take on two ordinary cores, for the first guess of what is left.
MAKING_SEC, FETCHING_SEC, COMPILING_SEC = 5.0, 6.0, 60.0
# A package by uv, or by pip, which also looks for the versions.
RESOLVED_SEC, UNRESOLVED_SEC = 0.15, 2.0
WITHOUT_WORDS = (0.0, '')


def ensure(recipe: Recipe) -> None:
    """Make the environment, or add to it, unless it already holds all that is asked for."""
    if is_current(recipe):
        return
    try:
        with _locked(recipe.venv) as lock:
            # Another process may have made it while this one waited.
            if not is_current(recipe):
                _refuse_foreign(recipe.venv)
                _Making(recipe, lock).make()
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise _full_disk(recipe.venv) from error


def _refuse_foreign(venv: Path) -> None:
    """Raise rather than replace a folder that somebody else made under this name."""
    if venv.is_symlink() or (venv.exists() and not venv.is_dir()):
        is_foreign = True
    else:
        is_foreign = venv.exists() and not (venv / STAMP).exists() and any(venv.iterdir())
    if is_foreign:
        raise ProblemError(
            f'{venv} was made by something else than this repository: move it away, or name '
            'another folder for all that is made, `make BUILD=<folder> …`.'
        )


@contextmanager
def _locked(venv: Path) -> Iterator[IO[str]]:
    """Hold the lock on a venv; the system releases it when the last holder ends."""
    try:
        venv.parent.mkdir(parents=True, exist_ok=True)
        lock = open(str(venv.with_name(venv.name + '.lock')), 'w')  # noqa: SIM115
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise
        raise _elsewhere(f'{venv.parent} cannot be written to') from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f'another run is making {venv.name}; waiting for it')
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock


class _Making:
    """Makes what an environment lacks, step by step; what was made stays if a later one fails."""

    def __init__(self, recipe: Recipe, lock: IO[str]) -> None:
        self._recipe = recipe
        self._lock = lock
        self._venv = recipe.venv
        self._wanted = contents(recipe)
        found = read_stamp(recipe.venv)
        self._found = found if can_be_kept(self._wanted, found) else {}
        self._requirements = self._missing_requirements()
        self._installs_package = self._is_missing('package')
        # Where the words of the last process begin in the log.
        self._log_start = 0

    def make(self) -> None:
        """Make all that is missing."""
        todo = self._todo()
        if self._found:
            say(f'updating {self._venv} for: {", ".join(self._recipe.layers)}')
        else:
            python = f'Python {self._recipe.interpreter.version}'
            say(f'making {self._venv} with {python} for: {", ".join(self._recipe.layers)}')
        self._steps = Steps([(name, typical_sec) for name, typical_sec, _ in todo])
        try:
            for _, _, act in todo:
                self._steps.begin()
                act()
        finally:
            self._steps.close()

    def _todo(self) -> List[Tuple[str, float, Callable[[], None]]]:
        """Return the steps that are necessary, with what each takes."""
        todo: List[Tuple[str, float, Callable[[], None]]] = []
        if not self._found:
            todo.append(('making an empty environment', MAKING_SEC, self._make_empty))
        if not self._found.get('has_installer'):
            todo.append(('fetching the installer', FETCHING_SEC, self._install_installer))
        if self._requirements or self._installs_package:
            count = self._count_asked()
            each_sec = RESOLVED_SEC if self._recipe.is_resolved else UNRESOLVED_SEC
            what = PACKAGE
            if self._requirements:
                what = f'{count} package' + ('s' if count > 1 else '')
            todo.append((f'installing {what}', count * each_sec + 3.0, self._install))
        if self._is_missing('kernels'):
            todo.append(('compiling the numerical code', COMPILING_SEC, self._compile))
        return todo

    def _is_missing(self, part: str) -> bool:
        return self._wanted[part] not in (None, self._found.get(part))

    def _missing_requirements(self) -> List[str]:
        """Return the lines of the layers that are not there yet, each once."""
        layers = self._found.get('layers', {})
        missing = [name for name in self._recipe.layers if name not in layers]
        return list(dict.fromkeys(line for name in missing for line in self._recipe.layers[name]))

    def _count_asked(self) -> int:
        """Return how many packages are asked for; some are for other Pythons only."""
        python = self._recipe.interpreter.version
        return max(1, pins.count_packages(self._requirements, python))

    def _write_stamp(self, is_changing: bool) -> None:
        """Say what is in the venv; one whose change was cut short is made anew."""
        self._found['is_changing'] = is_changing
        for key in ('interpreter', 'base'):
            self._found[key] = self._wanted[key]
        write_stamp(self._venv, self._found)

    def _make_empty(self) -> None:
        """Make an empty venv in place of whatever is there."""
        recipe, version = self._recipe, self._recipe.interpreter.version
        shutil.rmtree(str(self._venv), ignore_errors=True)
        self._venv.mkdir()
        self._write_stamp(is_changing=True)
        options = ['--system-site-packages'] if recipe.sees_system_packages else []
        words = [recipe.interpreter.path, '-m', 'venv', *options, str(self._venv)]
        if self._run([Command(words, recipe.variables)]):
            said = self._words().strip()
            self._raise_if_disk_is_full()
            shutil.rmtree(str(self._venv), ignore_errors=True)
            raise ProblemError(
                f'Python {version} cannot make a virtual environment. On Debian or Ubuntu: '
                f'`sudo apt install python{version}-venv`. Its own words:\n{said}'
            )

    def _install_installer(self) -> None:
        """Install what installs the rest; without uv where there is no wheel of it."""
        by_pip = installer.pip(self._venv, self._recipe.variables)
        lines = self._recipe.installer
        without_uv = [line for line in lines if not line.startswith('uv==')]
        for asked in [lines, without_uv] if lines != without_uv else [lines]:
            arguments = self._arguments(asked, ['--only-binary', ':all:'])
            if not asked or not self._run([by_pip.with_arguments(arguments)]):
                self._found['has_installer'] = True
                self._write_stamp(is_changing=False)
                return
            self._raise_if_nothing_helps()
        raise self._failure('pip')

    def _install(self) -> None:
        """Install the missing layers, and this package if it is missing."""
        recipe, venv = self._recipe, self._venv
        options = ['--no-build-isolation', *(['--no-deps'] if recipe.is_resolved else [])]
        if recipe.constraints:
            (venv / CONSTRAINTS).write_text('\n'.join(recipe.constraints) + '\n')
            options += ['--constraint', str(venv / CONSTRAINTS)]
        options += ['--editable', str(ROOT)] if self._installs_package else []
        arguments = self._arguments(self._requirements, options)
        variables = {'DIST_EXTRA_CONFIG': str(self._write_settings())}
        installed = self._count_installed()
        self._write_stamp(is_changing=True)
        for name, command in self._installers():
            code = self._run(
                [command.with_arguments(arguments, variables)],
                lambda words: installer.fetched_share(
                    words, self._count_asked(), self._count_installed() - installed
                ),
            )
            if not code:
                break
            self._raise_if_nothing_helps()
            if name == 'pip':
                raise self._failure(name)
            say(f'uv could not install the packages, so pip tries; see {venv / LOG}')
        if self._installs_package:
            _link_share(venv)
            self._found['package'] = self._wanted['package']
        self._found.setdefault('layers', {}).update(self._wanted['layers'])
        self._write_stamp(is_changing=False)

    def _write_settings(self) -> Path:
        """Tell setuptools to write nothing into the source tree, which may be read-only."""
        build = self._venv / 'build'
        build.mkdir(exist_ok=True)
        path = self._venv / SETTINGS
        path.write_text(f'[egg_info]\negg_base = {build}\n\n[build]\nbuild_base = {build}\n')
        return path

    def _installers(self) -> Iterator[Tuple[str, Command]]:
        """Yield what to install with: uv where it does as pip is told, then pip."""
        by_pip = installer.pip(self._venv, self._recipe.variables)
        if self._recipe.is_resolved and (self._venv / 'bin' / 'uv').exists():
            settings = installer.pip_settings(by_pip)
            by_uv = installer.uv(self._venv, self._recipe.variables, settings)
            if by_uv is not None:
                yield 'uv', by_uv
        yield 'pip', by_pip

    def _arguments(self, lines: List[str], options: List[str]) -> List[str]:
        path = self._venv / REQUIREMENTS
        path.write_text('\n'.join(lines) + '\n')
        return [*options, *(['--requirement', str(path)] if lines else [])]

    def _count_installed(self) -> int:
        return len(list((self._venv / 'lib').glob('python*/site-packages/*.dist-info')))

    def _compile(self) -> None:
        """Compile ahead; a failure is told, but what is missing is compiled when it is used."""
        python, recipe = str(self._venv / 'bin' / 'python'), self._recipe
        commands = [
            Command([python, '-m', *words], recipe.variables) for words in recipe.compilers
        ]
        if self._run(commands, _compiled_share):
            say(
                'the numerical code could not be compiled ahead, so the first session will take '
                f'longer; see {self._venv / LOG}'
            )
        self._found['kernels'] = self._wanted['kernels']
        self._write_stamp(is_changing=False)

    def _raise_if_disk_is_full(self) -> None:
        if installer.FULL_DISK.search(self._words()):
            raise _full_disk(self._venv)

    def _raise_if_nothing_helps(self) -> None:
        """Raise if something failed for want of a disk or a network."""
        self._raise_if_disk_is_full()
        if installer.CLOSED_PROXY.search(self._words()):
            self._write_stamp(is_changing=False)
            raise ProblemError(
                'the proxy asks for a name and a password: put them into HTTPS_PROXY, as '
                'http://name:password@host:port, and run the same command again (details: '
                f'{self._venv / LOG}).'
            )
        if installer.LOST_NETWORK.search(self._words()):
            # Both installers fetch everything before they install anything.
            self._write_stamp(is_changing=False)
            raise ProblemError(
                'no connection to the package index, or it broke off: when the network is back, '
                'run the same command again, and it goes on with what is here (details: '
                f'{self._venv / LOG}).'
            )

    def _failure(self, name: str) -> ProblemError:
        last = '\n'.join(self._words().splitlines()[-10:])
        return ProblemError(
            f'{name} could not install the packages (all its words: {self._venv / LOG}):\n{last}'
        )

    def _run(
        self,
        commands: List[Command],
        share: Callable[[str], Tuple[float, str]] = lambda words: WITHOUT_WORDS,
    ) -> int:
        """Run commands at the same time, with their words in the log; return a bad exit code."""
        processes: List['subprocess.Popen[bytes]'] = []
        try:
            with open(str(self._venv / LOG), 'ab') as output:
                self._log_start = output.tell()
                for command in commands:
                    processes.append(self._start(command, output))
            for process in processes:
                while process.poll() is None:
                    self._steps.update(*share(self._words()))
                    try:
                        process.wait(timeout=0.5)
                    except subprocess.TimeoutExpired:
                        continue
        finally:
            for process in processes:
                if process.poll() is None:
                    process.terminate()
                    process.wait()
        return next((process.returncode for process in processes if process.returncode), 0)

    def _start(self, command: Command, output: IO[bytes]) -> 'subprocess.Popen[bytes]':
        try:
            return subprocess.Popen(
                command.words,
                cwd=str(ROOT),
                env=command.variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Should this process be killed, the next one waits until its child has ended too.
                pass_fds=[self._lock.fileno()],
            )
        except PermissionError as error:
            # Some disks are mounted so that nothing on them may be run.
            raise _elsewhere(f'{command.words[0]} may not be run') from error

    def _words(self) -> str:
        """Return what the last commands said."""
        with open(str(self._venv / LOG), 'rb') as log:
            log.seek(self._log_start)
            return log.read().decode('utf-8', errors='replace')


def _compiled_share(words: str) -> Tuple[float, str]:
    lines = words.splitlines()
    announced = [line[len(ANNOUNCED) :] for line in lines if line.startswith(ANNOUNCED)]
    count = sum(line.startswith(COMPILED) for line in lines)
    total = max(sum(int(text) for text in announced if text.isdigit()), count)
    return (count / total, f'{count} of {total} kernels') if count else WITHOUT_WORDS


def _elsewhere(problem: str) -> ProblemError:
    return ProblemError(
        f'{problem}: name another folder for all that is made, `make BUILD=<folder> …`.'
    )


def _full_disk(venv: Path) -> ProblemError:
    return ProblemError(
        f'the disk of {venv} is full: make room (a session needs 1 GB, the tests 2 GB) and run '
        'the same command again.'
    )


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

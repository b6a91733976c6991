"""A venv is made once, layer by layer, and what goes wrong is told in a sentence."""

from __future__ import annotations

import os
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
import zipfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import packaging
import pytest
import setuptools
import wheel

from tools import environment, interpreters, virtual_environment
from tools import recipe as recipes
from tools.console import ProblemError
from tools.interpreters import Interpreter
from tools.pins import ROOT
from tools.recipe import Recipe
from tools.virtual_environment import LOG, REQUIREMENTS


def write_wheel(folder: Path, name: str, files: dict[str, str] | None = None) -> Path:
    """Write a package that installs anywhere: a wheel is an archive with a little metadata."""
    path = folder / f'{name}-1.0-py3-none-any.whl'
    files = {
        f'{name}.py': 'answer = 42\n',
        **(files or {}),
        f'{name}-1.0.dist-info/METADATA': f'Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n',
        f'{name}-1.0.dist-info/WHEEL': 'Wheel-Version: 1.0\nTag: py3-none-any\n',
    }
    record = f'{name}-1.0.dist-info/RECORD'
    with zipfile.ZipFile(path, 'w') as archive:
        for file, text in {**files, record: '\n'.join(f'{f},,' for f in (*files, record))}.items():
            entry = zipfile.ZipInfo(file)
            entry.external_attr = 0o100755 << 16
            archive.writestr(entry, text)
    return path


@pytest.fixture
def wheels(tmp_path) -> Path:
    folder = tmp_path / 'wheels'
    folder.mkdir()
    for name in ('tiny', 'more'):
        write_wheel(folder, name)
    return folder


@pytest.fixture(scope='module')
def copying_python(tmp_path_factory) -> Interpreter:
    """A Python that copies one empty venv for all tests: each takes seconds to make.

    A copy runs: what is called in it is its Python, which finds its packages beside itself.
    """
    real = interpreters.find()
    folder = tmp_path_factory.mktemp('python')
    subprocess.run([real.path, '-m', 'venv', str(folder / 'venv')], check=True)
    path = folder / 'python'
    path.write_text(
        '#!/bin/sh\n'
        '[ "$*" = "-m venv $3" ] || exec "$0.real" "$@"\n'
        f'exec cp -R "{folder / "venv"}/." "$3"\n'
    )
    path.chmod(0o755)
    path.with_name('python.real').symlink_to(real.path)
    return Interpreter(str(path), real.version)


@pytest.fixture
def recipe(tmp_path, wheels, copying_python) -> Recipe:
    """An environment with a package of a folder; a person's own pip settings do not count."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith('PIP_')}
    for name in environment.SOURCED_VARIABLES:
        variables.pop(name, None)
    variables.update(
        PIP_CONFIG_FILE=os.devnull, PIP_NO_INDEX='1', PIP_FIND_LINKS=str(wheels), PIP_RETRIES='1'
    )
    variables['UV_CACHE_DIR'] = str(tmp_path / 'uv')
    return Recipe(
        venv=tmp_path / 'build' / '.venv',
        interpreter=copying_python,
        sees_system_packages=False,
        installer=[],
        layers={'session': ['tiny==1.0']},
        is_resolved=True,
        constraints=[],
        variables=variables,
    )


def installations_in(venv: Path) -> int:
    return (venv / LOG).read_text().count('Successfully installed')


def modules_in(venv: Path) -> set[str]:
    found = (venv / 'lib').glob('python*/site-packages/*.py')
    return {path.stem for path in found} & {'tiny', 'more'}


def test_two_runs_at_the_same_time_make_one_venv_and_a_third_makes_none(recipe):
    recipe = recipe._replace(interpreter=interpreters.find())
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(virtual_environment.ensure, [recipe, recipe]))
    virtual_environment.ensure(recipe)
    assert installations_in(recipe.venv) == 1
    assert modules_in(recipe.venv) == {'tiny'}
    assert recipes.interpreter_of(recipe.venv) == recipe.interpreter


def test_another_layer_is_added_to_the_same_venv_and_changed_versions_make_a_new_one(recipe):
    virtual_environment.ensure(recipe)
    mark = recipe.venv / 'made before'
    mark.touch()
    more = recipe._replace(layers={'test': ['tiny==1.0', 'more==1.0']})
    virtual_environment.ensure(more)
    assert modules_in(recipe.venv) == {'tiny', 'more'}
    # Who asks for less finds all there.
    virtual_environment.ensure(recipe)
    assert installations_in(recipe.venv) == 2
    assert mark.exists()
    virtual_environment.ensure(recipe._replace(layers={'test': ['more==1.0']}))
    assert modules_in(recipe.venv) == {'more'}
    assert not mark.exists()


def test_a_venv_whose_making_was_cut_short_is_made_anew(recipe):
    virtual_environment.ensure(recipe)
    left = recipe.venv / 'left behind'
    left.touch()
    found = recipes.read_stamp(recipe.venv)
    recipes.write_stamp(recipe.venv, {**found, 'is_changing': True})
    virtual_environment.ensure(recipe)
    assert not left.exists()
    assert modules_in(recipe.venv) == {'tiny'}


@pytest.fixture
def tree(tmp_path) -> Path:
    """A private copy of this repository as in an archive, in a folder with spaces."""
    made = ('.git', '.venv*', '.*_cache', '.hypothesis', '__pycache__', '*.egg-info', 'build')
    made += ('install', 'log', 'sessions', 'results', 'shared')
    return Path(
        shutil.copytree(ROOT, tmp_path / 'a b' / 'tree', ignore=shutil.ignore_patterns(*made))
    )


def test_this_package_is_installed_without_a_trace_in_its_tree(
    recipe, tree, tmp_path, monkeypatch
):
    """As a read-only tree needs it."""
    # What builds it comes from this environment: there is no index here.
    links = tmp_path / 'links'
    links.mkdir()
    for module in (setuptools, wheel, packaging):
        folder = Path(module.__file__).parent
        (links / folder.name).symlink_to(folder)
        for metadata in folder.parent.glob(f'{folder.name}-*.dist-info'):
            (links / metadata.name).symlink_to(metadata)
    monkeypatch.setattr(virtual_environment, 'ROOT', tree)
    before = set(tree.rglob('*'))
    variables = {**recipe.variables, 'PYTHONPATH': str(links)}
    virtual_environment.ensure(recipe._replace(variables=variables, package='as it is'))
    assert set(tree.rglob('*')) == before
    assert (recipe.venv / 'bin' / 'reward_learning').is_file()
    share = recipe.venv / 'share'
    assert (share / 'reward_learning_ros' / 'package.xml').is_file()
    assert (share / 'ament_index/resource_index/packages/reward_learning_ros').is_file()


def test_what_compiles_ahead_runs_when_sources_change_and_may_fail(recipe, capsys):
    compiled = recipe._replace(compilers=(('tiny',), ('json.tool', '--help')))
    virtual_environment.ensure(compiled)
    assert 'could not be compiled' not in capsys.readouterr().err
    broken = compiled._replace(compilers=(('tiny',), ('no_such_module',)), sources='changed')
    virtual_environment.ensure(broken)
    assert 'could not be compiled' in capsys.readouterr().err
    assert 'no_such_module' in (recipe.venv / LOG).read_text()
    virtual_environment.ensure(broken)
    assert capsys.readouterr().err == ''


def test_what_pip_complains_of_is_shown_and_the_venv_does_not_count(recipe):
    broken = recipe._replace(layers={'session': ['no-such-package==1.0']})
    with pytest.raises(ProblemError, match=r'(?s)install\.log.*no-such-package'):
        virtual_environment.ensure(broken)
    assert not recipes.is_current(broken)


def test_a_python_that_cannot_make_a_venv_names_the_package_to_install(recipe, tmp_path):
    path = tmp_path / 'python'
    path.write_text('#!/bin/sh\necho ensurepip is not available\nexit 1\n')
    path.chmod(0o755)
    without = recipe._replace(interpreter=Interpreter(str(path), '3.11'))
    with pytest.raises(ProblemError, match=r'(?s)apt install python3\.11-venv.*ensurepip is not'):
        virtual_environment.ensure(without)
    assert not recipe.venv.exists()


def in_one_sentence(problem: pytest.ExceptionInfo[ProblemError]) -> str:
    """Return a message, which must be one line and one sentence."""
    text = str(problem.value)
    assert '\n' not in text
    assert text.count('. ') == 0
    return text


def test_a_folder_of_somebody_else_is_not_replaced(recipe):
    recipe.venv.mkdir(parents=True)
    (recipe.venv / 'pyvenv.cfg').touch()
    with pytest.raises(ProblemError, match='move it away, or name another') as problem:
        virtual_environment.ensure(recipe)
    assert 'BUILD=' in in_one_sentence(problem)
    assert list(recipe.venv.iterdir()) == [recipe.venv / 'pyvenv.cfg']


@pytest.mark.parametrize('kind', ['file', 'dangling link', 'link'])
def test_what_is_no_folder_is_not_replaced(recipe, kind, tmp_path):
    recipe.venv.parent.mkdir(parents=True)
    if kind == 'file':
        recipe.venv.touch()
    else:
        target = tmp_path / 'elsewhere'
        recipe.venv.symlink_to(target)
        if kind == 'link':
            target.mkdir()
    with pytest.raises(ProblemError, match='move it away, or name another') as problem:
        virtual_environment.ensure(recipe)
    in_one_sentence(problem)
    assert recipe.venv.is_symlink() == (kind != 'file')


def test_where_nothing_can_be_written_another_folder_is_asked_for(recipe):
    # Not even root may make a folder there.
    with pytest.raises(ProblemError, match='cannot be written to') as problem:
        virtual_environment.ensure(recipe._replace(venv=Path('/sys/kernel/.venv')))
    assert 'BUILD=' in in_one_sentence(problem)


class Index(socketserver.ThreadingTCPServer):
    """A package index of the wheels in a folder, which breaks off some of its answers."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(('127.0.0.1', 0), IndexHandler)
        self.folder = folder
        self.broken = ''
        # What it answers instead of a package; 407 is the answer of a proxy.
        self.status = 200
        self.sent: Counter[str] = Counter()

    @property
    def url(self) -> str:
        return f'http://127.0.0.1:{self.server_address[1]}/'


class IndexHandler(BaseHTTPRequestHandler):
    server: Index

    def do_GET(self) -> None:
        name = self.path.strip('/')
        if not name.endswith('.whl'):
            links = [path.name for path in self.server.folder.glob(f'{name}-*.whl')]
            content = ''.join(f'<a href="/{link}">{link}</a>' for link in links).encode()
        else:
            content = (self.server.folder / name).read_bytes()
        is_refused = self.server.status != 200 and name.endswith('.whl')
        self.send_response(self.server.status if is_refused else 200)
        if is_refused:
            self.send_header('Content-Length', '0')
            self.end_headers()
            return
        self.send_header('Content-Type', 'text/html' if '.whl' not in name else 'application/zip')
        self.send_header('Content-Length', str(len(content)))
        self.end_headers()
        if self.server.broken and name.startswith(self.server.broken):
            self.wfile.write(content[: len(content) // 2])
            self.connection.close()
            return
        self.server.sent[name] += 1
        self.wfile.write(content)

    def log_message(self, *words: object) -> None:
        """Say nothing."""


@pytest.fixture
def index(wheels) -> Iterator[Index]:
    with Index(wheels) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def over_network(recipe: Recipe, url: str) -> Recipe:
    variables = {**recipe.variables, 'PIP_INDEX_URL': url, 'NO_PROXY': '127.0.0.1'}
    del variables['PIP_NO_INDEX'], variables['PIP_FIND_LINKS']
    return recipe._replace(variables=variables, layers={'session': ['tiny==1.0', 'more==1.0']})


@pytest.fixture(params=['uv', 'pip'])
def networked(request, recipe, index, wheels) -> Recipe:
    """A recipe over the index, by uv or by pip."""
    networked = over_network(recipe, index.url)
    if request.param == 'pip':
        return networked
    uv = Path(sys.prefix) / 'bin' / 'uv'
    assert uv.exists(), 'an environment made by this repository has uv'
    # The uv of this environment, as a package: the real one is large.
    script = f'#!/bin/sh\nexec "{uv}" "$@"\n'
    write_wheel(wheels, 'uv', {'uv-1.0.data/scripts/uv': script})
    return networked._replace(installer=['uv==1.0'])


def test_without_a_network_that_is_told_in_one_sentence_and_the_venv_is_kept(recipe, index):
    # A port that is closed: somebody has it, and nobody listens.
    with socket.socket() as silent:
        silent.bind(('127.0.0.1', 0))
        url = f'http://127.0.0.1:{silent.getsockname()[1]}/'
        away = over_network(recipe, url)._replace(installer=['tiny==1.0'])
        with pytest.raises(ProblemError, match='no connection to the package index') as problem:
            virtual_environment.ensure(away)
    assert 'run the same command again' in in_one_sentence(problem)
    mark = recipe.venv / 'made before'
    mark.touch()
    back = over_network(recipe, index.url)
    virtual_environment.ensure(back._replace(installer=['tiny==1.0']))
    assert mark.exists()
    assert modules_in(recipe.venv) == {'tiny', 'more'}


def test_a_network_lost_in_between_goes_on_with_what_was_fetched(networked, index):
    index.broken = 'more-1.0'
    with pytest.raises(ProblemError, match='no connection to the package index') as problem:
        virtual_environment.ensure(networked)
    in_one_sentence(problem)
    assert modules_in(networked.venv) == set()
    mark = networked.venv / 'made before'
    mark.touch()
    index.broken = ''
    virtual_environment.ensure(networked)
    assert mark.exists()
    assert modules_in(networked.venv) == {'tiny', 'more'}
    if networked.installer:
        assert index.sent['tiny-1.0-py3-none-any.whl'] == 1


@pytest.mark.parametrize(
    ('status', 'words'), [(503, 'no connection to the package index'), (407, 'HTTPS_PROXY')]
)
def test_an_index_or_a_proxy_that_refuses_is_told_in_one_sentence(networked, index, status, words):
    if networked.installer:
        # By uv: pip has brought it before.
        virtual_environment.ensure(networked._replace(layers={}))
    index.status = status
    with pytest.raises(ProblemError, match=words) as problem:
        virtual_environment.ensure(networked)
    assert 'run the same command again' in in_one_sentence(problem)
    index.status = 200
    virtual_environment.ensure(networked)
    assert modules_in(networked.venv) == {'tiny', 'more'}


def test_a_full_disk_is_told_in_one_sentence(recipe, tmp_path):
    # Writing to this device fails as on a full disk: first in what pip builds, then in the venv.
    source = tmp_path / 'large-1.0'
    source.mkdir()
    (source / 'setup.py').write_text("open('/dev/full', 'w').write('x' * 100_000)\n")
    large = recipe._replace(layers={'session': [f'large @ file://{source}']})
    with pytest.raises(ProblemError, match='is full: make room') as problem:
        virtual_environment.ensure(large)
    in_one_sentence(problem)
    virtual_environment.ensure(recipe)
    (recipe.venv / REQUIREMENTS).unlink()
    (recipe.venv / REQUIREMENTS).symlink_to('/dev/full')
    with pytest.raises(ProblemError, match='is full: make room'):
        virtual_environment.ensure(recipe._replace(layers={'test': ['more==1.0']}))


def run_make(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    # Nor what the make says to others that may have started these tests.
    others = ('ROS_DISTRO', 'MAKEFLAGS', 'MAKELEVEL', 'MFLAGS')
    kept = {name: os.environ[name] for name in os.environ if name not in others}
    return subprocess.run(
        ['make', *words, f'PYTHON={sys.executable}'],
        cwd=folder,
        env={**kept, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_make_says_in_one_line_what_is_wrong(tmp_path):
    """From the Makefile on: the folder for the environment is somebody else's."""
    build = tmp_path / 'a folder with spaces'
    (build / '.venv').mkdir(parents=True)
    (build / '.venv' / 'pyvenv.cfg').touch()
    ended = run_make(ROOT, 'lint', f'BUILD={build}')
    assert ended.returncode != 0
    said = [line for line in ended.stderr.splitlines() if not line.startswith('make')]
    assert len(said) == 1
    assert said[0].startswith(f'error: {build / ".venv"} was made by something else')


def test_make_works_in_a_folder_with_spaces(tree, recipe, wheels):
    """From the Makefile to a program of the environment, in a tree that is no clone."""
    write_wheel(wheels, 'ruff', {'ruff-1.0.data/scripts/ruff': '#!/bin/sh\necho "in $PWD: $*"\n'})
    (tree / 'tools' / 'pins.txt').write_text('[installer]\ntiny==1.0\n[lint]\nruff==1.0\n')
    settings = {name: recipe.variables[name] for name in recipe.variables if 'PIP_' in name}
    assert 'the test suite' in run_make(tree, 'help').stdout
    ended = run_make(tree, 'lint', **settings)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == [
        f'in {tree}: check .',
        f'in {tree}: format --check .',
    ]
    # Another folder beside it, with spaces too; and one that cannot be.
    build = tree.parent / 'build here'
    assert run_make(tree, 'lint', f'BUILD={build}', **settings).returncode == 0
    assert (build / '.venv' / 'bin' / 'ruff').is_file()
    (build / '.venv-kilted').touch()
    refused = run_make(tree, 'lint', f'BUILD={build}', 'ROS=kilted', **settings)
    assert refused.returncode != 0
    assert 'move it away' in refused.stderr

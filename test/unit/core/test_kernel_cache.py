"""Machine code is found by every copy of the package, and is never that of another source."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reward_learning_ros.core import kernel_cache

PACKAGE = Path(kernel_cache.__file__).resolve().parents[1]
KERNEL = """
from reward_learning_ros.core.constant import FACTOR
from reward_learning_ros.core.kernel_cache import numba

@numba.njit(cache=True)
def scaled(value):
    return FACTOR * value
"""
# Prints what the kernel gives, and how many overloads were found and how many compiled.
RUN = """
import json, sys
from reward_learning_ros.core.kernel import scaled
results = [scaled(value) for value in json.loads(sys.argv[1])]
stats = scaled.stats
print(json.dumps([results, sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]))
"""


@pytest.fixture
def cache(tmp_path) -> Path:
    return tmp_path / 'cache'


def write_copy(folder: Path, factor: int = 2) -> Path:
    """Write a copy of the package that has one kernel only, with a constant of another file."""
    core = folder / 'reward_learning_ros' / 'core'
    core.mkdir(parents=True)
    for file in (core.parent / '__init__.py', core / '__init__.py'):
        file.touch()
    shutil.copy(kernel_cache.__file__, core)
    (core / 'constant.py').write_text(f'FACTOR = {factor}\n')
    (core / 'kernel.py').write_text(KERNEL)
    return folder


def run(copy: Path, cache: Path, values: list[float]) -> tuple[list[float], int, int]:
    """Return results, hits and misses of a process that uses the copy."""
    variables = {**os.environ, 'XDG_CACHE_HOME': str(cache), 'PYTHONPATH': str(copy)}
    variables.pop('NUMBA_CACHE_DIR', None)
    variables.pop('NUMBA_DISABLE_JIT', None)
    command = [sys.executable, '-c', RUN, json.dumps(values)]
    ended = subprocess.run(
        command, cwd=copy, env=variables, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    results, hits, misses = json.loads(ended.stdout)
    return results, hits, misses


def kept_files(cache: Path) -> list[Path]:
    return sorted(cache.rglob('*.nbc'))


def test_another_copy_finds_what_one_has_compiled(tmp_path, cache):
    first, second = write_copy(tmp_path / 'first'), write_copy(tmp_path / 'second copy')
    assert run(first, cache, [3]) == ([6], 0, 1)
    assert run(second, cache, [3]) == ([6], 1, 0)
    assert not list(first.rglob('*.nb?'))


def test_a_change_in_an_imported_file_compiles_anew_and_leaves_the_other_copy_its_own(
    tmp_path, cache
):
    first = write_copy(tmp_path / 'first')
    second = write_copy(tmp_path / 'second', factor=5)
    assert run(first, cache, [3]) == ([6], 0, 1)
    assert run(second, cache, [3]) == ([15], 0, 1)
    assert run(first, cache, [3]) == ([6], 1, 0)


def test_damaged_files_are_replaced(tmp_path, cache):
    copy = write_copy(tmp_path / 'copy')
    run(copy, cache, [3])
    (file,) = kept_files(cache)
    whole = file.read_bytes()
    # The second is what a full disk leaves.
    for damaged in (b'', whole[: len(whole) // 2], whole[:-1] + b'?'):
        file.write_bytes(damaged)
        assert run(copy, cache, [3]) == ([6], 0, 1)
    assert run(copy, cache, [3]) == ([6], 1, 0)


def test_where_nothing_can_be_written_kernels_are_compiled_all_the_same(tmp_path):
    copy = write_copy(tmp_path / 'copy')
    blocked = tmp_path / 'a file'
    blocked.touch()
    # Permissions do not stop root; a file in the place of a folder does.
    in_tree = copy / 'reward_learning_ros' / '__pycache__' / 'kernels'
    in_tree.parent.mkdir()
    in_tree.touch()
    assert run(copy, blocked, [3]) == ([6], 0, 1)
    in_tree.unlink()
    run(copy, blocked, [3])
    assert run(copy, blocked, [3]) == ([6], 1, 0)


def test_processes_that_write_at_the_same_time_do_not_mix_up_their_kernels(tmp_path, cache):
    copy = write_copy(tmp_path / 'copy')
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda value: run(copy, cache, [value])[0], [3, 3.5, 3, 3.5]))
    assert found == [[6], [7.0], [6], [7.0]]
    assert run(copy, cache, [3, 3.5]) == ([6, 7.0], 2, 0)


def test_what_was_not_used_for_longest_is_removed_first(tmp_path):
    for age, name in enumerate(('newest', 'older', 'oldest')):
        (tmp_path / name).mkdir()
        (tmp_path / name / 'kernel.nbc').write_bytes(bytes(1000))
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    kernel_cache.prune(tmp_path, max_bytes=2500)
    assert {path.name for path in tmp_path.iterdir()} == {'newest', 'older'}


def imported_names(path: Path) -> set[str]:
    """Return the full names that a module imports when it is imported itself."""
    names = set()
    for node in ast.parse(path.read_text(encoding='utf-8')).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f'{path}: the cache does not follow relative imports'
            names |= {f'{node.module}.{alias.name}' for alias in node.names}
    return {name for name in names if name.startswith(kernel_cache.NAME)}


def files_with_kernels() -> list[Path]:
    return [path for path in PACKAGE.rglob('*.py') if 'njit' in path.read_text(encoding='utf-8')]


def test_all_that_a_file_with_kernels_imports_is_followed():
    assert len(files_with_kernels()) > 10
    for path in files_with_kernels():
        followed = kernel_cache.source_files(path)
        for name in imported_names(path):
            module = PACKAGE.parent.joinpath(*name.split('.')).with_suffix('.py')
            within = module.parent.with_suffix('.py')
            assert {module, within, module.parent / '__init__.py'} & followed, f'{path}: {name}'


def test_every_file_with_kernels_has_them_kept_here():
    ours = {f'{kernel_cache.NAME}.core.{name}' for name in ('compiled', 'kernel_cache')}
    for path in files_with_kernels():
        if path.name != 'kernel_cache.py':
            assert {name.rpartition('.')[0] for name in imported_names(path)} & ours, path


SECOND_PROCESS = """
from numba.core import event
compiled = []
class Listener(event.Listener):
    def on_start(self, event): compiled.append(str(event.data['dispatcher']))
    def on_end(self, event): pass
event.register('numba:compile', Listener())
from reward_learning_ros.core.samplers import double_mh, normalizer
assert double_mh.double_mh_chain.signatures
print(compiled)
"""


def test_a_second_process_compiles_none_of_the_sampler():
    """Neither do the functions of typed lists, whose key had been another one in each process."""
    variables = {name: os.environ[name] for name in os.environ if name != 'NUMBA_DISABLE_JIT'}
    command = [sys.executable, '-c', SECOND_PROCESS]
    subprocess.run(command, cwd=PACKAGE.parent, env=variables, check=True, capture_output=True)
    second = subprocess.run(
        command, cwd=PACKAGE.parent, env=variables, check=True, capture_output=True, text=True
    )
    assert second.stdout.strip() == '[]'

"""Numba, set up to keep its machine code where every copy of this package finds it.

Numba would keep it beside each source file, for that copy alone, and would not notice a change in
a file that a kernel imports. Here each compiled overload is one file in the user's cache. Its
folder is named after all that decides what the code does: the source, what it imports of this
package, the versions of Python, Numba and NumPy. So there is nothing to invalidate, and two
processes that write at the same time cannot mix up their entries, as they could in the numbered
files of Numba.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba as numba
import numpy as np
from numba import njit as njit
from numba.core import config, dispatcher, serialize
from numba.core.caching import FunctionCache

ROOT = Path(__file__).resolve().parents[2]
NAME = 'reward_learning_ros'
# About 10 MB for each state of the sources: enough for a day of changes and a few releases.
MAX_BYTES = 256_000_000
# A folder that was used is marked so, but not with every start of a process.
_MARK_PERIOD_SEC = 86_400.0
# Settings of Numba that do not change the code.
_HARMLESS = (
    'NUMBA_CACHE_DIR',
    'NUMBA_DEBUG_CACHE',
    'NUMBA_DISABLE_JIT',
    'NUMBA_NUM_THREADS',
    'NUMBA_THREADING_LAYER',
)
_DIGEST_BYTES = 32
# Imports at a line's beginning: kernels see nothing of what is imported within functions.
_IMPORT = re.compile(
    rf'^(?:from ({NAME}[\w.]*) import (\([^)]*\)|[^\n]*)|import ({NAME}[\w.]*))', re.MULTILINE
)


def cache_folders() -> list[Path]:
    """Return where machine code is looked for, and kept in the first that can be written to."""
    folders = []
    if config.CACHE_DIR:
        folders.append(Path(config.CACHE_DIR) / NAME)
    user = os.environ.get('XDG_CACHE_HOME', '')
    with contextlib.suppress(RuntimeError):  # there is no home
        # The specification says that a relative path is to be ignored.
        home = Path(user) if os.path.isabs(user) else Path.home() / '.cache'
        folders.append(home / NAME / 'kernels')
    return [*folders, ROOT / NAME / '__pycache__' / 'kernels']


def prune(folder: Path, max_bytes: int = MAX_BYTES) -> None:
    """Remove what was not used for longest, until the rest of a cache folder is small enough."""
    entries = []
    with contextlib.suppress(OSError):
        for entry in folder.iterdir():
            size = sum(path.stat().st_size for path in entry.iterdir())
            entries.append((entry.stat().st_mtime, size, entry))
    total = sum(size for _, size, _ in entries)
    for _, size, entry in sorted(entries):
        if total <= max_bytes:
            return
        shutil.rmtree(entry, ignore_errors=True)
        total -= size


@functools.cache
def source_files(path: Path) -> frozenset[Path]:
    """Return a file of this package and all that it imports of it, directly or not."""
    found: set[Path] = set()
    waiting = [path]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting += _imported_files(current)
    return frozenset(found)


@functools.cache
def _imported_files(path: Path) -> tuple[Path, ...]:
    files: list[Path] = []
    for module, names, plain in _IMPORT.findall(_text(path)):
        listed = re.findall(r'\w+', re.sub(r'#.*|\bas \w+', '', names)) if names else ()
        # A name is a module of its own, or something within the one that it is imported from.
        inner = [_file_of(f'{module}.{name}') for name in listed]
        outer = [] if inner and all(inner) else [_file_of(plain or module)]
        files += [file for file in (*inner, *outer) if file is not None]
    return tuple(files)


@functools.cache
def _file_of(module: str) -> Path | None:
    path = ROOT.joinpath(*module.split('.'))
    for candidate in (path.with_suffix('.py'), path / '__init__.py'):
        if candidate.is_file():
            return candidate
    return None


@functools.cache
def _text(path: Path) -> str:
    return path.read_text(encoding='utf-8')


@functools.cache
def _circumstances() -> str:
    """Return what decides on the code beside its source; the processor is in Numba's own key."""
    settings = sorted(
        f'{name}={value}'
        for name, value in os.environ.items()
        if name.startswith('NUMBA_') and name not in _HARMLESS
    )
    # Numba has imported LLVM, which is not a requirement of our own.
    llvm = sys.modules['llvmlite'].__version__
    versions = (sys.version, numba.__version__, llvm, np.__version__)
    return '\n'.join((*versions, *settings))


@functools.cache
def _stamp(path: Path) -> str:
    digest = hashlib.sha256(_circumstances().encode())
    for source in sorted(source_files(path)):
        digest.update(f'\n{source.relative_to(ROOT)}\n{_text(source)}'.encode())
    return digest.hexdigest()[:_DIGEST_BYTES]


class KernelFiles:
    """The compiled overloads of one function, each in a file; in place of Numba's index."""

    def __init__(self, folders: list[Path], name: str) -> None:
        self._folders = folders
        self._name = name

    def load(self, key: Any) -> Any:
        """Return what was compiled for a key; None if it is not there or damaged."""
        for folder in self._folders:
            try:
                kept = (folder / self._file_name(key)).read_bytes()
            except OSError:
                continue
            data = kept[_DIGEST_BYTES:]
            if hashlib.sha256(data).digest() != kept[:_DIGEST_BYTES]:
                continue
            found, compiled = pickle.loads(data)
            # Two types may have the same words for themselves.
            if found == key:
                _mark_used(folder)
                return compiled
        return None

    def save(self, key: Any, compiled: Any) -> None:
        """Keep what was compiled, where that is possible: what is not kept is compiled again."""
        data = serialize.dumps((key, compiled))
        for folder in self._folders:
            with contextlib.suppress(OSError):
                is_new = not folder.exists()
                folder.mkdir(parents=True, exist_ok=True)
                with _replacing(folder / self._file_name(key)) as file:
                    file.write(hashlib.sha256(data).digest() + data)
                if is_new:
                    prune(folder.parent)
                return

    def flush(self) -> None:
        """Forget all overloads."""
        for folder in self._folders:
            for path in folder.glob(f'{self._name}.*'):
                path.unlink(missing_ok=True)

    def _file_name(self, key: Any) -> str:
        return f'{self._name}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc'


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[Any]:
    """Open a file that takes the place of another, whole, when it is closed."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(descriptor, 'wb') as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _mark_used(folder: Path) -> None:
    with contextlib.suppress(OSError):
        if time.time() - folder.stat().st_mtime > _MARK_PERIOD_SEC:
            os.utime(folder)


class _Locator:
    """Tells Numba which functions are kept here: those of this package."""

    def __init__(self, py_func: Any, py_file: Path) -> None:
        self._py_file = str(py_file)
        self._line = py_func.__code__.co_firstlineno
        module = '.'.join(py_file.relative_to(ROOT / NAME).with_suffix('').parts)
        self.folders = [folder / f'{module}-{_stamp(py_file)}' for folder in cache_folders()]

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator | None:
        path = Path(py_file).resolve()
        return cls(py_func, path) if ROOT / NAME in path.parents and path.is_file() else None

    def ensure_cache_path(self) -> None:
        """Do nothing: a folder is made when there is something to keep."""

    def get_cache_path(self) -> str:
        return str(self.folders[0])

    def get_source_stamp(self) -> str:
        return self.folders[0].name

    def get_disambiguator(self) -> str:
        return str(self._line)


def _function_cache(py_func: Any) -> Any:
    """Return Numba's cache of a function, over files of our own if it is one of ours."""
    cache = FunctionCache(py_func)
    locator = cache._impl.locator
    if isinstance(locator, _Locator):
        cache._cache_file = KernelFiles(locator.folders, cache._impl.filename_base)
    return cache


def _install() -> None:
    kind = FunctionCache._impl_class
    kind._locator_classes = [_Locator, *kind._locator_classes]
    dispatcher.FunctionCache = _function_cache  # type: ignore[attr-defined]


_install()

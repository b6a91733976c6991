"""Trajectories that were simulated once: how they are kept on disk and looked up.

Nothing here simulates: whoever makes a library brings a function that does.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros.core.compiled import Features, features_kernel
from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError
from reward_learning_ros.core.grid import FeatureSource

# A change of how files are laid out makes all older ones foreign.
FORMAT = 1
# Libraries of one name that are kept: one may go back to another size or an older task.
KEPT_LIBRARIES = 4
CACHE_FOLDER = 'reward_learning_ros'
# Distance of waypoints, over all coordinates, up to which two trajectories are the same.
SAME = 1e-9
# How long work goes on in silence.
SILENT_SEC = 1.0

Arrays = Mapping[str, np.ndarray]
Report = Callable[[int, int], None]


class DamagedLibraryError(RewardLearningError):
    """A file is not the library that it should be; the message says why."""


class LibraryWarning(UserWarning):
    """A stored library was refused, or a new one could not be stored."""


def cache_directory() -> Path:
    """Return where libraries are kept: `$XDG_CACHE_HOME/reward_learning_ros`."""
    base = os.environ.get('XDG_CACHE_HOME', '')
    # The specification says that a relative path is to be ignored.
    root = Path(base) if os.path.isabs(base) else Path.home() / '.cache'
    return root / CACHE_FOLDER


def recipe_hash(recipe: Mapping[str, Any]) -> str:
    """Return the hash of everything that determines a library."""
    text = json.dumps(recipe, sort_keys=True, allow_nan=False, default=_plain)
    return hashlib.sha256(f'{FORMAT}\0{text}'.encode()).hexdigest()


def library_path(name: str, recipe: Mapping[str, Any], directory: Path | None = None) -> Path:
    """Return the file that a library with this recipe is kept in."""
    folder = cache_directory() if directory is None else Path(directory)
    return folder / f'{name}-{recipe_hash(recipe)[:20]}.npz'


def load_or_build(
    name: str,
    recipe: Mapping[str, Any],
    build: Callable[[Report], Arrays],
    directory: Path | None = None,
) -> Arrays:
    """Return the arrays of a library: from disk, or built now and stored.

    Args:
        name: Of the library; the first part of its file's name.
        recipe: Everything that determines it, as plain numbers, words, lists and mappings.
        build: Makes the arrays; told how to report the number done and the total.
        directory: Where to keep it; the user's cache by default.
    """
    path = library_path(name, recipe, directory)
    stored = _stored(path, recipe)
    if stored is not None:
        return stored
    with _only_builder(path):
        # Another process may have built it while this one waited.
        stored = _stored(path, recipe)
        if stored is not None:
            return stored
        with _progress_bar(f'simulating {name}') as report:
            arrays = dict(build(report))
        try:
            write_arrays(path, recipe, arrays)
            _forget_old(path)
        except OSError as error:
            warnings.warn(
                f'{path} cannot be written ({error}); the library is built again next time',
                LibraryWarning,
                stacklevel=2,
            )
    return _read_only(arrays)


def _stored(path: Path, recipe: Mapping[str, Any]) -> Arrays | None:
    """Return the arrays of a file; None if there is none, or none that can be used."""
    try:
        return read_arrays(path, recipe) if path.exists() else None
    except DamagedLibraryError as error:
        warnings.warn(f'{error}; it is built again', LibraryWarning, stacklevel=3)
        return None


@contextmanager
def _only_builder(path: Path) -> Iterator[None]:
    """Keep other processes of this machine from building the same library; they wait for it."""
    try:
        import fcntl

        path.parent.mkdir(parents=True, exist_ok=True)
        name = path.with_name(f'.{path.stem}.lock')
        lock = name.open('w', encoding='utf-8')
    except (ImportError, OSError):
        # Not on this system, or nothing can be kept: then each builds its own.
        yield
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            name.unlink(missing_ok=True)


def write_arrays(path: Path, recipe: Mapping[str, Any], arrays: Arrays) -> None:
    """Store arrays so that a reader finds all of them or none."""
    manifest = {
        'format': FORMAT,
        'recipe': recipe_hash(recipe),
        'described': json.loads(json.dumps(recipe, default=_plain)),
        'checksum': _checksum(arrays),
    }
    encoded = np.frombuffer(json.dumps(manifest).encode(), dtype=np.uint8)
    content: dict[str, Any] = {'manifest': encoded, **arrays}
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f'.{path.stem}-')
    try:
        with os.fdopen(handle, 'wb') as file:
            np.savez(file, **content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _forget_old(path: Path) -> None:
    """Delete all but the newest libraries of the same name: tasks change, disks fill."""
    of_this_name = [
        other
        for other in path.parent.glob(f'{path.stem.rpartition("-")[0]}-*{path.suffix}')
        if len(other.stem) == len(path.stem)
    ]
    for other in sorted(of_this_name, key=lambda other: other.stat().st_mtime)[:-KEPT_LIBRARIES]:
        other.unlink(missing_ok=True)


def read_arrays(path: Path, recipe: Mapping[str, Any]) -> Arrays:
    """Return the arrays of a file that must be of this recipe.

    Raises:
        DamagedLibraryError: The file is broken, of another recipe, or of another format.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        manifest = json.loads(arrays.pop('manifest').tobytes())
        found = {key: manifest[key] for key in ('format', 'recipe', 'checksum')}
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise DamagedLibraryError(f'{path} is no trajectory library ({error})') from error
    if found['format'] != FORMAT:
        raise DamagedLibraryError(f'{path} has format {found["format"]}, not {FORMAT}')
    if found['recipe'] != recipe_hash(recipe):
        raise DamagedLibraryError(f'{path} belongs to another world, task or size')
    if found['checksum'] != _checksum(arrays):
        raise DamagedLibraryError(f'{path} is damaged: its checksum does not match')
    return _read_only(arrays)


class TrajectoryLibrary(FeatureSource):
    """A trajectory space that is a set of simulated trajectories, and their features.

    Nothing is loaded or simulated before it is needed.
    """

    def __init__(
        self,
        load: Callable[[], Arrays],
        simulate: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        """Remember where trajectories come from.

        Args:
            load: Returns `trajectories` (N, n, m), `features` (N, d) and, from `neighbour_graph`,
                `offsets` (N + 1,) and `neighbours` (E,).
            simulate: Features (B, d) of trajectories (B, n, m) that are no members.
        """
        self._load = load
        self._simulate = simulate

    @cached_property
    def arrays(self) -> Arrays:
        """What was stored, by name."""
        return self._load()

    def __len__(self) -> int:
        return len(self.features)

    @property
    def trajectories(self) -> np.ndarray:
        """All trajectories (N, n, m) that there are."""
        return self.arrays['trajectories']

    @property
    def features(self) -> np.ndarray:
        """The features (N, d) of each."""
        return self.arrays['features']

    @cached_property
    def statistics(self) -> np.ndarray:
        """Features and, last, no effort, (N, d + 1): as the samplers weigh them."""
        return np.column_stack([self.features, np.zeros(len(self))])

    def prepare(self) -> None:
        """Load the library, or simulate it."""
        _ = self.arrays

    def compiled(self) -> Features:
        """Return features by which everything between the members is outside the space."""
        return no_features

    def evaluate(self, trajectories: np.ndarray) -> np.ndarray:
        """Return the features of members, or simulate what is none."""
        flat = trajectories.reshape(-1, *trajectories.shape[-2:])
        members, distances = self.nearest(flat)
        values = self.features[members].copy()
        others = np.flatnonzero(distances > SAME)
        if len(others):
            if self._simulate is None:
                raise InvalidInputError(
                    f'trajectory {others[0]} is no member of the library, and nothing simulates it'
                )
            values[others] = self._simulate(flat[others])
        return np.asarray(values.reshape(*trajectories.shape[:-2], -1))

    def nearest(self, trajectories: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest member (B,) of each trajectory (B, n, m), and how far it is (B,)."""
        distances, members = self._tree.query(trajectories.reshape(len(trajectories), -1))
        return np.asarray(members), np.asarray(distances)

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import cKDTree

        return cKDTree(self.trajectories.reshape(len(self), -1))


def neighbour_graph(points: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the symmetric graph of the nearest neighbours of points (N, p).

    Two points are linked if one is among the `count` nearest of the other.

    Returns:
        Offsets (N + 1,) and neighbours (E,): those of point i from offsets[i] to offsets[i + 1].
    """
    from scipy.spatial import cKDTree

    total = len(points)
    nearest = min(count, total - 1)
    _, found = cKDTree(points).query(points, k=nearest + 1, workers=-1)
    sources = np.repeat(np.arange(total), nearest + 1)
    targets = np.asarray(found).reshape(-1)
    links = np.concatenate([sources * total + targets, targets * total + sources])
    links = np.unique(links[np.concatenate([sources, targets]) != links % total])
    sources, targets = np.divmod(links, total)
    return np.searchsorted(sources, np.arange(total + 1)), targets


@features_kernel
def no_features(trajectory: np.ndarray, out: np.ndarray) -> None:
    """Fill `out` with NaN: the features of a trajectory that is no member of the library."""
    for index in range(out.shape[0]):
        out[index] = np.nan


def _checksum(arrays: Arrays) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f'{name}\0{array.dtype.str}\0{array.shape}\0'.encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _read_only(arrays: dict[str, np.ndarray]) -> Arrays:
    for array in arrays.values():
        array.setflags(write=False)
    return arrays


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f'a recipe cannot hold {type(value).__name__}')


@contextmanager
def _progress_bar(title: str) -> Iterator[Report]:
    """Show a bar on the standard error stream if the work goes on for more than a second."""
    from rich.console import Console
    from rich.progress import Progress

    started = time.monotonic()
    console = Console(file=sys.stderr)
    bar = Progress(console=console, transient=True)
    task = bar.add_task(title, total=None)
    shown = False

    def report(done: int, total: int) -> None:
        nonlocal shown
        if not shown and time.monotonic() - started > SILENT_SEC:
            shown = True
            if console.is_terminal:
                bar.start()
            else:
                # In a log a line says as much as a bar.
                console.print(f'{title}: {total} trajectories')
        bar.update(task, completed=done, total=total)

    try:
        yield report
    finally:
        bar.stop()

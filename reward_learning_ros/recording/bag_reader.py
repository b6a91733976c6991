"""Any rosbag2, whole or damaged, in the order of time and with little memory.

MCAP and SQLite, plain, compressed by file, chunk or message, in one file or several, from Humble
to Kilted. What is wrong is said, the rest is used, and nothing is changed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import zstandard

from reward_learning_ros.core.text import YamlError, read_yaml
from reward_learning_ros.recording.bag_repair import INFORMATION, METADATA_FILE
from reward_learning_ros.recording.blocks import MessageBlock
from reward_learning_ros.recording.mcap_storage import McapStorage
from reward_learning_ros.recording.message_types import decode
from reward_learning_ros.recording.problems import BagError, Problem, TopicInBag
from reward_learning_ros.recording.sqlite_storage import SqliteStorage

_STORAGES: dict[str, type[McapStorage] | type[SqliteStorage]] = {
    '.mcap': McapStorage,
    '.db3': SqliteStorage,
}
_COMPRESSED = '.zstd'
_PART_BYTES = 2**20


class BagMessage(NamedTuple):
    """One message of a bag."""

    topic: TopicInBag
    time_ns: int
    data: bytes
    file: Path

    def decoded(self) -> Any:
        """Return it as an object with its fields.

        Raises:
            BagError: It is no message of its type; names file, topic and time.
        """
        try:
            return decode(self.topic, self.data)
        except BagError as error:
            raise BagError(str(self.problem(str(error)))) from error

    def problem(self, text: str) -> Problem:
        """Return what is wrong with it, with its place."""
        return Problem(file=self.file, topic=self.topic.name, time_ns=self.time_ns, text=text)


class BagReader:
    """Reads the topics and messages of a bag; a context manager.

    Attributes:
        path: the bag's folder or file.
        topics: what is in it, by name.
        problems: what is wrong with it; grows while it is read.
    """

    def __init__(self, path: Path) -> None:
        """Open a bag.

        Args:
            path: The folder of a rosbag2, one of its files, or the folder of a session.

        Raises:
            BagError: There is no bag, or nothing of it can be read.
        """
        self.path = Path(path)
        self.topics: dict[str, TopicInBag] = {}
        self._problems: list[Problem] = []
        self._resources = contextlib.ExitStack()
        self._storages: list[McapStorage | SqliteStorage] = []
        # By the files' own names, also where a decompressed copy is read.
        self._files: list[Path] = []
        try:
            for file in self._find_files():
                self._open(file)
            if not self._storages:
                reasons = '; '.join(map(str, self._problems))
                raise BagError(f'{self.path}: nothing can be read: {reasons}')
            self._collect_topics()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> BagReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all files."""
        self._resources.close()

    @property
    def problems(self) -> list[Problem]:
        """What is wrong with the bag, as far as it was read."""
        return [*self._problems, *(p for storage in self._storages for p in storage.problems)]

    def blocks(
        self, names: Sequence[str], on_file: Callable[[Path], None] | None = None
    ) -> Iterator[tuple[Path, MessageBlock]]:
        """Yield the messages of topics, many at once, with the file that they are in.

        The number of a message's topic in a block is its place in `names`. Within a file messages
        are in the order of time; the files follow each other as they were written.
        """
        for file, storage in zip(self._files, self._storages, strict=True):
            if on_file is not None:
                on_file(file)
            for block in storage.blocks(names):
                yield file, block.decompressed(functools.partial(self._note, file, names, block))

    def messages(self, names: Sequence[str] | None = None) -> Iterator[BagMessage]:
        """Yield the messages of topics, by default of all."""
        chosen = list(self.topics if names is None else names)
        for file, block in self.blocks(chosen):
            for number, time_ns, data in block.messages():
                yield BagMessage(self.topics[chosen[number]], time_ns, data, file)

    def _note(
        self, file: Path, names: Sequence[str], block: MessageBlock, row: int, text: str
    ) -> None:
        """Remember what is wrong with a message of a block."""
        topic, time_ns = names[block.topic[row]], int(block.time_ns[row])
        self._problems.append(Problem(file=file, topic=topic, time_ns=time_ns, text=text))

    def _find_files(self) -> list[Path]:
        path = self.path
        if path.is_file():
            return [path]
        if not path.is_dir():
            raise BagError(f'{path}: there is no such file or folder')
        if not _bag_files(path) and (path / 'bag').is_dir():
            path = path / 'bag'
        there = _bag_files(path)
        listed = self._listed_files(path)
        missing = [file for file in listed if file not in there]
        for file in missing:
            self._problems.append(Problem(file=file, text=f'{METADATA_FILE} lists it, but is not'))
        unlisted = [file for file in there if file not in listed]
        if listed:
            for file in unlisted:
                text = f'{METADATA_FILE} does not list it; it is read all the same'
                self._problems.append(Problem(file=file, text=text))
        files = [file for file in listed if file in there] + unlisted
        if not files:
            raise BagError(f'{path}: holds no bag, that is neither a .mcap nor a .db3 file')
        return files

    def _listed_files(self, path: Path) -> list[Path]:
        """Return the files that metadata.yaml names, in their order."""
        file = path / METADATA_FILE
        if not file.exists():
            text = 'is missing; the files are read in the order of their names'
            self._problems.append(Problem(file=file, text=text))
            return []
        try:
            content = read_yaml(file, exponents=False)
            names = content[INFORMATION]['relative_file_paths']
            return [path / PurePath(name).name for name in names]
        except (YamlError, KeyError, TypeError) as error:
            text = f'cannot be used ({error}); the files are read in the order of their names'
        self._problems.append(Problem(file=file, text=text))
        return []

    def _open(self, file: Path) -> None:
        try:
            source = self._decompressed(file) if file.suffix == _COMPRESSED else file
            storage = _STORAGES[source.suffix](source, file)
        except KeyError:
            text = f'is of an unknown kind; known: {", ".join(_STORAGES)}'
            self._problems.append(Problem(file=file, text=text))
            return
        except (BagError, OSError) as error:
            reason = str(error).removeprefix(f'{file}: ')
            self._problems.append(Problem(file=file, text=reason))
            return
        self._resources.callback(storage.close)
        self._storages.append(storage)
        self._files.append(file)

    def _decompressed(self, file: Path) -> Path:
        """Return a copy of a compressed file, as far as it can be decompressed."""
        folder = Path(self._resources.enter_context(tempfile.TemporaryDirectory()))
        copy = folder / file.stem
        left_bytes = shutil.disk_usage(folder).free // 2
        with file.open('rb') as source, copy.open('wb') as target:
            try:
                reader = zstandard.ZstdDecompressor().stream_reader(
                    source, read_across_frames=True
                )
                while part := reader.read(_PART_BYTES):
                    left_bytes -= len(part)
                    if left_bytes < 0:
                        raise BagError(f'there is no room for it in {folder.parent}')
                    target.write(part)
            except (zstandard.ZstdError, BagError) as error:
                text = f'cannot be decompressed to its end ({error}); what comes before is used'
                self._problems.append(Problem(file=file, text=text))
        return copy

    def _collect_topics(self) -> None:
        for file, storage in zip(self._files, self._storages, strict=True):
            for topic in storage.topics:
                known = self.topics.get(topic.name)
                total = topic.count + (0 if known is None else known.count)
                self.topics[topic.name] = dataclasses.replace(known or topic, count=total)
                if topic.encoding != 'cdr':
                    text = f'is encoded as {topic.encoding!r}; only cdr is read'
                elif known is not None and known.type_name != topic.type_name:
                    text = f'is {topic.type_name} here, but {known.type_name} elsewhere'
                else:
                    continue
                self._problems.append(Problem(file=file, topic=topic.name, text=text))


def _bag_files(path: Path) -> list[Path]:
    """Return the storage files of a folder, numbers in their names in their own order."""
    found = [
        file
        for file in path.iterdir()
        if (file.with_suffix('') if file.suffix == _COMPRESSED else file).suffix in _STORAGES
    ]
    return sorted(
        found,
        key=lambda file: [
            (int(part), '') if part.isdigit() else (-1, part)
            for part in re.split(r'(\d+)', file.name)
        ],
    )

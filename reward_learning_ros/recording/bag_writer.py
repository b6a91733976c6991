"""A rosbag2 that survives its writer: MCAP files that are whole at any time, and metadata.yaml."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from pathlib import Path

import yaml

from reward_learning_ros.core.errors import UnknownNameError
from reward_learning_ros.parameters.shared import COMPRESSIONS, NO_COMPRESSION
from reward_learning_ros.recording.bag_repair import (
    METADATA_FILE,
    QOS_KEY,
    TYPE_HASH_KEY,
    FileInformation,
    TopicInformation,
    finish_file,
    information_of,
    metadata_texts,
)
from reward_learning_ros.recording.growing_mcap import GrowingMcap
from reward_learning_ros.recording.message_types import Topic, qos_to_mapping
from reward_learning_ros.recording.problems import BagError, BagWriteError

# Half of what may be lost.
FLUSH_PERIOD_SEC = 0.5
# A chunk is held in memory, by the writer and by every reader.
_MAX_CHUNK_BYTES = 4 * 2**20
# Every flush writes the index of the whole file again; a new file begins before that costs more
# than the messages do.
_CHUNKS_PER_FILE = 1200
# Who reads metadata.yaml wants to know which ROS wrote it; rosbags knows no better either.
_NO_DISTRIBUTION = 'unknown'


class BagWriter:
    """Writes serialized messages; after each flush the bag is one that every reader reads.

    If the bag is there already, because its writer was ended, a new file is added to it; no
    message that is there is overwritten.

    Attributes:
        path: the bag's folder.
        written: how many messages of each topic this writer has put into the bag.
        dropped: how many of each it could not.
    """

    def __init__(
        self,
        path: Path,
        topics: Iterable[Topic] = (),
        *,
        compression: str = NO_COMPRESSION,
        ros_distribution: str = _NO_DISTRIBUTION,
        flush_period_sec: float = FLUSH_PERIOD_SEC,
        chunks_per_file: int = _CHUNKS_PER_FILE,
    ) -> None:
        """Begin a bag, or go on with one.

        Args:
            path: Its folder.
            topics: Those that are known from the beginning.
            compression: Of each chunk, one of `COMPRESSIONS`.
            ros_distribution: What the messages come from, for metadata.yaml.
            flush_period_sec: How often to flush while messages come.
            chunks_per_file: When to begin a new file.

        Raises:
            BagWriteError: The folder cannot be written.
            BagError: The folder holds a bag in another storage, or something else.
        """
        if compression not in COMPRESSIONS:
            raise UnknownNameError('compression', compression, COMPRESSIONS)
        self.path = Path(path)
        self.written: dict[str, int] = {}
        self.dropped: dict[str, int] = {}
        self._compression = compression
        self._ros_distribution = ros_distribution
        self._period_sec = flush_period_sec
        self._chunks_per_file = chunks_per_file
        self._topics: dict[str, Topic] = {}
        self._qos: dict[str, str] = {}
        self._channels: dict[str, int] = {}
        # What metadata.yaml says; it changes with every message and topic.
        self._text = ''
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._finished = existing_files(self.path)
            self._file = self._new_file()
        except OSError as error:
            raise _write_error(self.path, error) from error
        for topic in topics:
            self.add_topic(topic)
        self.flush()

    def add_topic(self, topic: Topic) -> None:
        """Add a topic; its messages may come from now on."""
        if topic.name in self._topics:
            raise BagError(f'{self.path}: topic {topic.name} is there already')
        self._topics[topic.name] = topic
        self._qos[topic.name] = yaml.safe_dump(
            [qos_to_mapping(topic.qos)], sort_keys=False
        ).strip()
        self.written[topic.name] = 0
        self.dropped[topic.name] = 0
        self._add_to_file(topic)

    def write(self, topic: str, time_ns: int, data: bytes) -> None:
        """Take a message.

        Args:
            topic: One that was added.
            time_ns: When it was received.
            data: The serialized message, CDR with its encapsulation header.

        Raises:
            BagWriteError: It was time to flush, and that failed.
        """
        self._file.write(self._channels[topic], time_ns, data)
        if self._file.pending_bytes > _MAX_CHUNK_BYTES or time.monotonic() > self._next_flush_sec:
            self.flush()

    def flush(self) -> None:
        """Write all that was taken, the index, and metadata.yaml.

        Raises:
            BagWriteError: It cannot be written, so it is dropped; what was written before stays.
        """
        self._next_flush_sec = time.monotonic() + self._period_sec
        pending = self._file.pending
        counts = {name: pending.get(number, 0) for name, number in self._channels.items()}
        text, text_in_file = metadata_texts(
            [*self._finished, self._information(counts)], self._ros_distribution
        )
        if text == self._text:
            return
        fate = self.dropped
        try:
            # The two files cannot change at once. All but a renaming comes before the messages, so
            # that a killed writer hardly ever leaves a metadata.yaml that counts fewer of them.
            is_prepared = self._prepare_metadata_file(text)
            self._file.flush(text_in_file)
            fate = self.written
            if not is_prepared:
                self._new_metadata_file.write_text(text, encoding='utf-8')
            self._new_metadata_file.replace(self.path / METADATA_FILE)
            self._text = text
            if self._file.contents.chunks >= self._chunks_per_file:
                self._begin_next_file()
        except OSError as error:
            with contextlib.suppress(OSError):
                self._new_metadata_file.unlink(missing_ok=True)
            raise _write_error(self.path, error) from error
        finally:
            for name, count in counts.items():
                fate[name] += count

    def close(self) -> None:
        """Flush and close.

        Raises:
            BagWriteError: What was taken last could not be written; closed all the same.
        """
        try:
            self.flush()
        finally:
            self._file.close()

    def _information(self, pending: dict[str, int]) -> FileInformation:
        """Return what is in the present file once that which is pending is written."""
        contents = self._file.contents
        starts, ends = self._file.span_with_pending()
        return FileInformation(
            name=self._file.path.name,
            topics=tuple(
                TopicInformation(
                    name=topic.name,
                    type_name=topic.type_name,
                    qos=self._qos[topic.name],
                    type_hash=topic.type_hash,
                )
                for topic in self._topics.values()
            ),
            counts={
                name: contents.counts[number] + pending[name]
                for name, number in self._channels.items()
            },
            start_ns=starts,
            end_ns=ends,
        )

    def _new_file(self) -> GrowingMcap:
        number = len(self._finished)
        while (path := self.path / f'{self.path.name}_{number}.mcap').exists():
            number += 1
        return GrowingMcap(path, self._compression)

    def _add_to_file(self, topic: Topic) -> None:
        metadata = {QOS_KEY: self._qos[topic.name], TYPE_HASH_KEY: topic.type_hash}
        self._channels[topic.name] = self._file.add_channel(
            topic.name, topic.type_name, topic.definition, metadata
        )

    def _begin_next_file(self) -> None:
        finished = self._file
        self._finished.append(self._information(dict.fromkeys(self._channels, 0)))
        try:
            self._file = self._new_file()
        except OSError:
            self._finished.pop()
            raise
        finished.close()
        for topic in self._topics.values():
            self._add_to_file(topic)

    @property
    def _new_metadata_file(self) -> Path:
        """Takes the place of metadata.yaml as a whole: there is a readable one at any time."""
        return self.path / f'{METADATA_FILE}.new'

    def _prepare_metadata_file(self, text: str) -> bool:
        """Write what metadata.yaml will say; on a full disk the messages may still have room."""
        with contextlib.suppress(OSError):
            self._new_metadata_file.write_text(text, encoding='utf-8')
            return True
        return False


def finish_bag(path: Path) -> dict[str, str]:
    """Make a bag of MCAP files whole again after its writer was killed.

    A damaged file is rewritten from all that can be read of it, and stays beside the new one
    with `.damaged` after its name; metadata.yaml is written from what is in the files.

    Returns:
        What was wrong with each damaged file, by its name.

    Raises:
        BagError: There is no MCAP file, or one that is none.
        BagWriteError: It cannot be written.
    """
    try:
        damages = {file.name: finish_file(file) for file in _mcap_files(path)}
        if not damages:
            raise BagError(f'{path}: there is no MCAP file')
        files = existing_files(path)
        text, _ = metadata_texts(files, _NO_DISTRIBUTION)
        (path / METADATA_FILE).write_text(text, encoding='utf-8')
    except OSError as error:
        raise _write_error(path, error) from error
    return {name: damage for name, damage in damages.items() if damage}


def existing_files(path: Path) -> list[FileInformation]:
    """Return what the MCAP files of a folder say of themselves, damaged ones made whole.

    Raises:
        BagError: The folder holds something else than MCAP files and their metadata.
    """
    known = {METADATA_FILE, f'{METADATA_FILE}.new'}
    for entry in path.iterdir():
        is_ours = entry.suffix in ('.mcap', '.damaged', '.repaired') or entry.name in known
        if not is_ours:
            raise BagError(f'{path}: is not a bag of MCAP files, it holds {entry.name}')
    files = []
    for file in _mcap_files(path):
        finish_file(file)
        files.append(information_of(file))
    return files


def _mcap_files(path: Path) -> list[Path]:
    """Return the files of a bag in the order in which they were written."""
    return sorted(path.glob('*.mcap'), key=lambda file: (len(file.name), file.name))


def _write_error(path: Path, error: OSError) -> BagWriteError:
    return BagWriteError(f'{path}: cannot be written: {error.strerror or error}')

"""A SQLite file of a bag, as rosbag2 up to Humble writes by default."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import struct
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros.recording.blocks import CLOCK_JUMP_NS, MessageBlock, block_of
from reward_learning_ros.recording.problems import BagError, Problem, TopicInBag

_ROWS_PER_BLOCK = 4000
# In the head of a file: the size of a page, and the number of pages.
_HEAD = struct.Struct('>16xH10xI')
# SQLite keeps what a killed writer had not yet put into the file beside it.
_SIDE_FILES = ('-wal', '-journal')


class SqliteStorage:
    """Reads one file, and changes nothing.

    Attributes:
        path: of the file, as it is called.
        topics: what is in it.
        problems: what is wrong with it; grows while it is read.
    """

    def __init__(self, path: Path, name: Path | None = None) -> None:
        """Open a file and find out what is in it.

        Args:
            path: Of the file.
            name: What to call it; a copy is called as its original.

        Raises:
            BagError: It is not an SQLite file of rosbag2.
            OSError: It cannot be read.
        """
        self.path = name or path
        self.problems: list[Problem] = []
        self._resources = contextlib.ExitStack()
        self._is_cut = _is_cut(path)
        if self._is_cut:
            text = 'is shorter than it was; what can be read is used'
            self.problems.append(Problem(file=self.path, text=text))
        try:
            self._connection = self._connect(path)
            self._require_tables()
            rows = self._connection.execute(
                'SELECT id, name, type, serialization_format FROM topics ORDER BY id'
            ).fetchall()
            definitions = self._definitions()
            counts = self._counts()
        # SQLite quotes what is in a damaged file, whatever it is.
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self.close()
            raise BagError(f'{self.path}: is not an SQLite file of rosbag2 ({error})') from error
        except BaseException:
            self.close()
            raise
        self._ids: dict[int, str] = {}
        self.topics = []
        for row in rows:
            if not _is_of(row, (int, str, str, str)):
                text = f'topic {row[0]!r} is damaged; the rest is used'
                self.problems.append(Problem(file=self.path, text=text))
                continue
            number, topic, type_name, encoding = row
            self._ids[number] = topic
            text, text_format = definitions.get(type_name, ('', ''))
            self.topics.append(
                TopicInBag(
                    name=topic,
                    type_name=type_name,
                    definition=text,
                    definition_format=text_format,
                    encoding=encoding,
                    count=counts.get(number, 0),
                )
            )

    def close(self) -> None:
        """Close the file."""
        self._resources.close()

    def _connect(self, path: Path) -> sqlite3.Connection:
        beside = [
            side for suffix in _SIDE_FILES if (side := path.with_name(path.name + suffix)).exists()
        ]
        is_copied = bool(beside) or self._is_cut
        if is_copied:
            # SQLite would change the file to use what is beside it; and of a page that is cut off
            # it would make up the rest.
            folder = Path(self._resources.enter_context(tempfile.TemporaryDirectory()))
            for source in (path, *beside):
                shutil.copyfile(source, folder / source.name)
            path = folder / path.name
            if self._is_cut:
                os.truncate(path, path.stat().st_size // _page_size(path) * _page_size(path))
        options = '' if is_copied else '?mode=ro&immutable=1'
        connection = sqlite3.connect(f'{path.absolute().as_uri()}{options}', uri=True)
        self._resources.callback(connection.close)
        connection.text_factory = lambda text: text.decode(errors='replace')
        if self._is_cut:
            # Else SQLite reads nothing of a file that is shorter than its head says.
            connection.execute('PRAGMA writable_schema = ON')
        return connection

    def _require_tables(self) -> None:
        """Refuse a view in the place of a table: it can compute rows for ever."""
        found = self._connection.execute(
            "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN (?, ?)",
            ('topics', 'messages'),
        ).fetchone()
        if found != (2,):
            raise BagError(f'{self.path}: is not an SQLite file of rosbag2 (it lacks its tables)')

    def _definitions(self) -> dict[str, tuple[str, str]]:
        """Return the definition of each type and its format; older files have none."""
        try:
            rows = self._connection.execute(
                'SELECT topic_type, encoded_message_definition, encoding FROM message_definitions'
            ).fetchall()
        except sqlite3.OperationalError:
            return {}
        return {row[0]: (row[1], row[2]) for row in rows if _is_of(row, (str, str, str))}

    def _counts(self) -> dict[int, int]:
        """Return how many messages each topic has, as far as they can be counted."""
        counts: dict[int, int] = {}
        with contextlib.suppress(sqlite3.DatabaseError, UnicodeDecodeError):
            for (number,) in self._connection.execute('SELECT topic_id FROM messages'):
                counts[number] = counts.get(number, 0) + 1
        return counts

    def blocks(self, names: Sequence[str]) -> Iterator[MessageBlock]:
        """Yield the messages of some topics in the order of time; a topic's number is its place.

        Where the clock was set back a new time begins: the order of the file goes before.
        """
        numbers = {
            number: list(names).index(name) for number, name in self._ids.items() if name in names
        }
        newest_ns: int | None = None
        try:
            for query, limits in self._queries(', '.join(map(str, numbers))):
                cursor = self._connection.execute(query, limits)
                for batch in _batches(cursor):
                    # In a damaged file a column can hold anything.
                    rows = [row for row in batch if _is_of(row, (int, int, bytes)) and row[1] >= 0]
                    if len(rows) < len(batch):
                        text = f'damaged messages: {len(batch) - len(rows)}; the rest is used'
                        self.problems.append(Problem(file=self.path, time_ns=newest_ns, text=text))
                    if not rows:
                        continue
                    topic = np.array([numbers[row[0]] for row in rows], dtype=np.int64)
                    time_ns = np.array([row[1] for row in rows], dtype=np.int64)
                    newest_ns = int(time_ns[-1])
                    yield block_of(topic, time_ns, [row[2] for row in rows])
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            text = f'cannot be read any further ({error}); what comes before is used'
            self.problems.append(Problem(file=self.path, time_ns=newest_ns, text=text))

    def _queries(self, wanted: str) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield what to ask for, and its limits, for each part between jumps of the clock."""
        select = f'SELECT topic_id, timestamp, data FROM messages WHERE topic_id IN ({wanted})'
        if self._is_cut:
            # The index by time may be gone, and with it all order but that of the rows.
            yield f'{select} ORDER BY id', ()
            return
        first = 0
        jumps = self._connection.execute(
            'SELECT id, timestamp FROM (SELECT id, timestamp, timestamp - lag(timestamp) '
            "OVER (ORDER BY id) AS step FROM messages WHERE typeof(timestamp) = 'integer' "
            'AND timestamp >= 0) WHERE step < ? ORDER BY id',
            (-CLOCK_JUMP_NS,),
        ).fetchall()
        in_order = f'{select} AND id >= ? AND id < ? ORDER BY timestamp, id'
        for row, time_ns in jumps:
            text = 'the clock was set back here; the order of the file is kept'
            self.problems.append(Problem(file=self.path, time_ns=time_ns, text=text))
            yield in_order, (first, row)
            first = row
        yield in_order, (first, 2**62)


def _is_of(row: Any, kinds: tuple[type, ...]) -> bool:
    """Return whether the columns of a row are of some kinds."""
    return all(isinstance(value, kind) for value, kind in zip(row, kinds, strict=True))


def _batches(cursor: sqlite3.Cursor) -> Iterator[list[Any]]:
    """Yield rows, many at once, up to the one that cannot be read."""
    rows: list[Any] = []
    try:
        # fetchmany would lose what it had read before.
        for row in cursor:
            rows.append(row)
            if len(rows) == _ROWS_PER_BLOCK:
                yield rows
                rows = []
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        if rows:
            yield rows
        raise
    if rows:
        yield rows


def _is_cut(path: Path) -> bool:
    """Return whether a file is shorter than its own head says."""
    with path.open('rb') as stream:
        head = stream.read(_HEAD.size)
        size = stream.seek(0, os.SEEK_END)
    return len(head) < _HEAD.size or size < _page_size(path) * _HEAD.unpack(head)[1]


def _page_size(path: Path) -> int:
    with path.open('rb') as stream:
        head = stream.read(_HEAD.size)
    size = _HEAD.unpack(head)[0] if len(head) == _HEAD.size else 0
    # What 16 bits cannot say is written as 1.
    return int(size) if size > 1 else 2**16

"""Samples of the arm out of blocks of messages: what the correction recorder hears live."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype

from reward_learning_ros.recording.blocks import MessageBlock
from reward_learning_ros.recording.message_types import types_of
from reward_learning_ros.recording.problems import BagError, Problem, TopicInBag
from reward_learning_ros.recording.session_topics import (
    JOINTS,
    POSE,
    ROBOT_STATE,
    TORQUES,
    WRENCH,
    SessionTopics,
)
from reward_learning_ros.sensing.bulk_decoding import STAMP, BulkDecoder, DecodedRows
from reward_learning_ros.sensing.decoding import FRANKA_ROBOT_STATE
from reward_learning_ros.sensing.message_layout import DOUBLES, STRING, STRINGS, Field, Schema
from reward_learning_ros.sensing.samples import (
    JOINT_COUNT,
    STREAM_WIDTHS,
    WIDEST,
    Arrivals,
    Stream,
)

# For each part the fields that each stream is made of.
_FIELDS: dict[str, dict[Stream, tuple[str, ...]]] = {
    TORQUES: {Stream.TORQUE: ('effort',)},
    JOINTS: {Stream.JOINTS: ('position', 'velocity')},
    POSE: {Stream.POSE: ('pose',)},
    WRENCH: {Stream.WRENCH: ('wrench',)},
    ROBOT_STATE: {
        Stream.TORQUE: ('tau_ext_hat_filtered.effort',),
        Stream.JOINTS: ('measured_joint_state.position', 'measured_joint_state.velocity'),
        Stream.POSE: ('o_t_ee.pose',),
        Stream.WRENCH: ('o_f_ext_hat_k.wrench',),
    },
}
_BASES = {
    'float64': 'd',
    'int32': 'i',
    'uint32': 'I',
    'uint8': 'B',
    'byte': 'B',
    'bool': 'B',
    'octet': 'B',
}


class ArmSamples:
    """Turns the messages of the arm's topics into samples, in the order in which they came.

    Attributes:
        topics: names of the topics that it reads; a block numbers them in this order.
        problems: messages that could not be read: the first of each topic, and how many.
    """

    def __init__(self, topics: SessionTopics, joint_names: Sequence[str]) -> None:
        """Choose the topics as the correction recorder does: FrankaRobotState, or single ones.

        Args:
            topics: Of the bag.
            joint_names: The arm's joints in order.

        Raises:
            BagError: The bag has neither.
        """
        parts = (ROBOT_STATE,) if ROBOT_STATE in topics else (TORQUES, JOINTS, POSE)
        found = [topics[part] for part in parts]
        if WRENCH in topics and ROBOT_STATE not in topics:
            parts, found = (*parts, WRENCH), [*found, topics[WRENCH]]
        self.topics = [topic.name for topic in found]
        self._readers = [
            _TopicReader(topic, _FIELDS[part], joint_names)
            for part, topic in zip(parts, found, strict=True)
        ]

    @property
    def problems(self) -> list[Problem]:
        """What could not be read."""
        return [reader.problem for reader in self._readers if reader.problem is not None]

    def arrivals(self, file: Path, block: MessageBlock, first_topic: int = 0) -> Arrivals:
        """Return the samples of a block.

        Args:
            file: That the block is from.
            block: Messages, also of other topics.
            first_topic: The number that the block gives to the first of `topics`.
        """
        rows, streams, times, values = [], [], [], []
        for number, reader in enumerate(self._readers, start=first_topic):
            mine = np.flatnonzero(block.topic == number)
            if not len(mine):
                continue
            for stream, row, time_ns, value in reader.read(file, block.rows(mine)):
                rows.append(mine[row])
                streams.append(np.full(len(row), int(stream)))
                times.append(time_ns)
                values.append(value)
        if not rows:
            none = np.empty(0, dtype=np.int64)
            return Arrivals(stream=none, time_ns=none, values=np.empty((0, WIDEST)))
        # As they came: by message, and within one in the order of its streams.
        order = np.argsort(np.concatenate(rows), kind='stable')
        return Arrivals(
            stream=np.concatenate(streams)[order],
            time_ns=np.concatenate(times)[order],
            values=np.concatenate(values)[order],
        )


class _TopicReader:
    """Reads one topic."""

    def __init__(
        self,
        topic: TopicInBag,
        fields: dict[Stream, tuple[str, ...]],
        joint_names: Sequence[str],
    ) -> None:
        self._topic = topic
        self._fields = fields
        self._joint_names = tuple(joint_names)
        wanted = [name for names in fields.values() for name in names]
        # Joints are in the order of the message, unless it names them.
        self._named = 'effort' in wanted or 'position' in wanted
        wanted = [*wanted, 'name'] if self._named else wanted
        self._decoder = BulkDecoder(schema_of(topic, (*STAMP, *wanted)), wanted)
        self.problem: Problem | None = None
        self._failures = 0

    def read(
        self, file: Path, block: MessageBlock
    ) -> list[tuple[Stream, np.ndarray, np.ndarray, np.ndarray]]:
        """Return for each stream rows, stamps (k,) and values (k, 14)."""
        found = []
        for decoded in self._decoder.decode(block.buffer, block.start, block.end):
            order = self._order(decoded.strings)
            # Without a stamp of its own, a message is as old as its recording.
            time_ns = np.where(decoded.time_ns == 0, block.time_ns[decoded.rows], decoded.time_ns)
            for stream, names in self._fields.items():
                values = _values(decoded, names, order)
                if values is None or values.shape[1] != STREAM_WIDTHS[stream]:
                    needed = STREAM_WIDTHS[stream]
                    text = f'{" and ".join(names)} of {self._topic.type_name} must be {needed} '
                    self._note(file, block, decoded.rows, f'{text}numbers')
                    continue
                wide = np.zeros((len(values), WIDEST))
                wide[:, : values.shape[1]] = values
                found.append((stream, decoded.rows, time_ns, wide))
        if self._decoder.malformed:
            rows = np.array(list(self._decoder.malformed))
            self._note(file, block, rows, next(iter(self._decoder.malformed.values())))
        return found

    def _order(self, strings: tuple[str, ...]) -> list[int] | None:
        """Return which of a message's joints are the arm's, None for all as they are."""
        if not self._named or not set(self._joint_names) <= set(strings):
            return None
        return [strings.index(name) for name in self._joint_names]

    def _note(self, file: Path, block: MessageBlock, rows: np.ndarray, text: str) -> None:
        self._failures += len(rows)
        if self.problem is None:
            self._first = (file, int(block.time_ns[rows[0]]), text)
        file, time_ns, text = self._first
        more = f' (and {self._failures - 1} more)' if self._failures > 1 else ''
        self.problem = Problem(
            file=file, topic=self._topic.name, time_ns=time_ns, text=f'{text}{more}'
        )


def _values(
    decoded: DecodedRows, names: tuple[str, ...], order: list[int] | None
) -> np.ndarray | None:
    columns = [decoded.values[name] for name in names]
    if order is not None:
        if any(column.shape[1] <= max(order) for column in columns):
            return None
        columns = [column[:, order] for column in columns]
    elif any(column.shape[1] > JOINT_COUNT for column in columns):
        return None
    return np.hstack(columns)


def schema_of(topic: TopicInBag, wanted: Sequence[str]) -> Schema:
    """Return the fields of a topic's messages in order, by the definition that the bag holds.

    Args:
        topic: Of the bag.
        wanted: Names of fields that there must be.

    Raises:
        BagError: The type has fields that no layout can be found for, or lacks one.
    """
    try:
        schema = _grouped(_flat(types_of(topic), topic.type_name, topic))
        missing = [name for name in wanted if name not in {field.name for field in schema}]
        if missing:
            raise BagError(
                f'topic {topic.name}: the definition of {topic.type_name} in the bag has no field '
                f'{missing[0]}'
            )
    except BagError:
        if topic.type_name == 'franka_msgs/msg/FrankaRobotState':
            return tuple(
                field._replace(name=field.name.replace('.vectors', '.wrench'))
                for field in FRANKA_ROBOT_STATE
            )
        raise
    return schema


def _flat(store: Any, type_name: str, topic: TopicInBag, prefix: str = '') -> list[Field]:
    fields: list[Field] = []
    for name, (kind, detail) in store.fielddefs[type_name][1]:
        path = f'{prefix}{name}'
        if kind == Nodetype.NAME:
            fields += _flat(store, detail, topic, f'{path}.')
        elif kind == Nodetype.BASE and detail[0] == 'string':
            fields.append(Field(path, STRING))
        elif kind == Nodetype.BASE and detail[0] in _BASES:
            fields.append(Field(path, _BASES[detail[0]]))
        elif kind == Nodetype.ARRAY and detail[0][0] == Nodetype.BASE:
            base = detail[0][1][0]
            if base not in _BASES:
                raise _unreadable(topic, path)
            fields.append(Field(path, _BASES[base], detail[1]))
        elif kind == Nodetype.SEQUENCE and detail[0] == (Nodetype.BASE, ('string', 0)):
            fields.append(Field(path, STRINGS))
        elif kind == Nodetype.SEQUENCE and detail[0] == (Nodetype.BASE, ('float64', 0)):
            fields.append(Field(path, DOUBLES))
        else:
            raise _unreadable(topic, path)
    return fields


def _unreadable(topic: TopicInBag, path: str) -> BagError:
    return BagError(
        f'topic {topic.name}: field {path} of {topic.type_name}, as the bag defines it, is of a '
        'kind that is not read here'
    )


def _grouped(fields: list[Field]) -> Schema:
    """Join the numbers of one pose or wrench into one field: x, y, z … become `pose`."""
    grouped: list[Field] = []
    for field in fields:
        parts = field.name.split('.')
        for group in ('pose', 'wrench'):
            if group in parts and field.kind == 'd':
                name = '.'.join(parts[: parts.index(group) + 1])
                if grouped and grouped[-1].name == name:
                    grouped[-1] = Field(name, 'd', grouped[-1].size + 1)
                else:
                    grouped.append(Field(name, 'd'))
                break
        else:
            grouped.append(field)
    return tuple(grouped)

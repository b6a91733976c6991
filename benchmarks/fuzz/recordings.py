"""Cases of recordings: small bags of both storages, damaged."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from benchmarks.fuzz.campaign import Target
from benchmarks.fuzz.mutation import mutated
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import Plan, SessionStatus
from reward_learning_ros.interface.status import session_diagnostic_of
from reward_learning_ros.recording.bag_making import serialized_diagnostic, serialized_plan
from reward_learning_ros.recording.bag_reader import BagReader
from reward_learning_ros.recording.bag_writer import BagWriter, finish_bag
from reward_learning_ros.recording.message_types import describe_topic
from reward_learning_ros.recording.session_records import read_session

_BAG = 'bag'
_START_NS = 1_700_000_000 * 10**9
_PLAN = describe_topic('/plan', 'nav_msgs/msg/Path')
_STATUS = describe_topic('/session/status', 'diagnostic_msgs/msg/DiagnosticStatus')


def _rows() -> list[tuple[str, int, bytes]]:
    """Return the messages of a very short session."""
    plan = Plan(
        stamp_ns=_START_NS,
        frame_id='fr3_link0',
        positions=np.array([[0.3, 0.0, 0.5], [0.4, 0.1, 0.4]]),
        orientations=np.tile([1.0, 0.0, 0.0, 0.0], (2, 1)),
        times_sec=np.array([0.0, 1.0]),
    )
    status = serialized_diagnostic(session_diagnostic_of(SessionStatus(state='waiting')))
    return [
        ('/plan', _START_NS, serialized_plan(plan)),
        ('/session/status', _START_NS + 1, status),
        ('/session/status', _START_NS + 10**9, status),
    ]


def _mcap(folder: Path, compression: str) -> dict[str, bytes]:
    """Return the files of a bag that our own recorder wrote."""
    path = folder / _BAG
    writer = BagWriter(path, [_PLAN, _STATUS], compression=compression)
    for topic, time_ns, data in _rows():
        writer.write(topic, time_ns, data)
        writer.flush()
    writer.close()
    return {file.name: file.read_bytes() for file in path.iterdir()}


def _sqlite(folder: Path, mode: CompressionMode) -> dict[str, bytes]:
    """Return the files of a bag as ROS 2 wrote them before MCAP."""
    path = folder / _BAG
    store = get_typestore(Stores.ROS2_HUMBLE)
    writer = Writer(path, version=9, storage_plugin=StoragePlugin.SQLITE3)
    if mode is not CompressionMode.NONE:
        writer.set_compression(mode, CompressionFormat.ZSTD)
    with writer:
        connections = {
            topic.name: writer.add_connection(topic.name, topic.type_name, typestore=store)
            for topic in (_PLAN, _STATUS)
        }
        for topic, time_ns, data in _rows():
            writer.write(connections[topic], time_ns, data)
    return {file.name: file.read_bytes() for file in path.iterdir()}


def _made(make: Callable[[Path], dict[str, bytes]]) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        return make(Path(folder))


def _check(files: dict[str, bytes], changed: str, case: bytes) -> None:
    """Read a bag of which one file was changed, in every way in which bags are read."""
    refusals: list[RewardLearningError] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _BAG
        path.mkdir()
        for name, content in files.items():
            (path / name).write_bytes(case if name == changed else content)
        readers: list[Callable[[Path], object]] = [
            _read_all,
            read_session,
            partial(read_session, namespace=''),
        ]
        if changed.endswith('.mcap'):
            # The last one rewrites what is damaged.
            readers.append(finish_bag)
        for read in readers:
            try:
                read(path)
            except RewardLearningError as error:
                refusals.append(error)
    if refusals:
        raise refusals[0]


def _read_all(path: Path) -> None:
    with BagReader(path) as bag:
        for message in bag.messages():
            with contextlib.suppress(RewardLearningError):
                message.decoded()


def _target(name: str, reads: str, files: dict[str, bytes], changed: str) -> Target:
    return Target(
        name=name,
        reads=reads,
        cases=mutated([files[changed]]),
        check=lambda case: _check(files, changed, case),
    )


def targets() -> tuple[Target, ...]:
    """Return what reads recordings."""
    plain = _made(lambda folder: _mcap(folder, 'none'))
    packed = _made(lambda folder: _mcap(folder, 'zstd'))
    old = _made(lambda folder: _sqlite(folder, CompressionMode.NONE))
    old_packed = _made(lambda folder: _sqlite(folder, CompressionMode.MESSAGE))
    (mcap,) = (name for name in plain if name.endswith('.mcap'))
    (database,) = (name for name in old if name.endswith('.db3'))
    (packed_database,) = (name for name in old_packed if '.db3' in name)
    return (
        _target('mcap', 'MCAP files', plain, mcap),
        _target('mcap_zstd', 'MCAP files with compressed chunks', packed, mcap),
        _target('sqlite', 'SQLite files', old, database),
        _target('sqlite_zstd', 'SQLite files of compressed messages', old_packed, packed_database),
        _target('metadata', 'metadata.yaml of a bag', plain, 'metadata.yaml'),
    )

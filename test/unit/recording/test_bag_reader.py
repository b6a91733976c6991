"""Bags of all kinds, whole and damaged: what can be read is read, the rest is said."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from mcap.writer import CompressionType
from mcap.writer import Writer as McapWriter
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from test_bag_writer import TOPICS, read_by_us, text

from reward_learning_ros.recording.bag_reader import BagReader
from reward_learning_ros.recording.growing_mcap import GrowingMcap
from reward_learning_ros.recording.message_types import standard_types
from reward_learning_ros.recording.problems import BagError

NAMES = ('/a', '/b', '/c')
START_NS = 1_700_000_000_000_000_000


def messages(count=600, seed=1):
    """Topics, times and contents, in the order of time; times repeat now and then."""
    rng = np.random.default_rng(seed)
    times = START_NS + np.cumsum(rng.integers(0, 3, size=count)) * 1_000_000
    return [
        (NAMES[number], int(time_ns), text(f'{index} ' + 'x' * int(rng.integers(0, 3000))))
        for index, (number, time_ns) in enumerate(
            zip(rng.integers(0, 3, size=count), times, strict=True)
        )
    ]


def write_by_rosbags(path, rows, plugin, mode=CompressionMode.NONE, version=9):
    writer = Writer(path, version=version, storage_plugin=plugin)
    writer.set_compression(mode, CompressionFormat.ZSTD)
    with writer:
        connections = {
            name: writer.add_connection(name, 'std_msgs/msg/String', typestore=standard_types())
            for name in NAMES
        }
        for name, time_ns, data in rows:
            writer.write(connections[name], time_ns, data)


def read(path, names=None):
    with BagReader(path) as reader:
        found = [(m.topic.name, m.time_ns, m.data) for m in reader.messages(names)]
        return found, [str(problem) for problem in reader.problems]


def kinds():
    for plugin in StoragePlugin:
        for mode in CompressionMode:
            if (plugin, mode) != (StoragePlugin.SQLITE3, CompressionMode.STORAGE):
                for version in (8, 9):
                    yield pytest.param(plugin, mode, version)


@pytest.mark.parametrize(('plugin', 'mode', 'version'), list(kinds()))
def test_every_storage_and_compression_is_read(tmp_path, plugin, mode, version):
    rows = messages()
    write_by_rosbags(tmp_path / 'bag', rows, plugin, mode, version)
    found, problems = read(tmp_path / 'bag')
    assert found == rows
    assert problems == []
    some = [row for row in rows if row[0] != '/b']
    assert read(tmp_path / 'bag', ['/c', '/a'])[0] == some
    with BagReader(tmp_path / 'bag') as reader:
        counts = {name: topic.count for name, topic in reader.topics.items()}
    assert counts == {name: sum(row[0] == name for row in rows) for name in NAMES}


def write_by_mcap(path, rows, **options):
    with path.open('wb') as stream:
        writer = McapWriter(stream, **options)
        writer.start(profile='ros2')
        definition = b'string data\n'
        schema = writer.register_schema('std_msgs/msg/String', 'ros2msg', definition)
        numbers = {name: writer.register_channel(name, 'cdr', schema) for name in NAMES}
        for name, time_ns, data in rows:
            writer.add_message(numbers[name], time_ns, data, time_ns)
        writer.finish()


@pytest.mark.parametrize(
    'options',
    [
        {'use_chunking': False},
        {'compression': CompressionType.LZ4, 'chunk_size': 5000},
        {'compression': CompressionType.ZSTD, 'use_statistics': False},
        {'repeat_channels': False, 'repeat_schemas': False},
    ],
    ids=['without chunks', 'lz4', 'without statistics', 'topics only in the data'],
)
def test_single_files_of_other_writers_are_read(tmp_path, options):
    rows = messages()
    file = tmp_path / 'other.mcap'
    write_by_mcap(file, rows, **options)
    found, problems = read(file)
    assert found == rows
    assert problems == []
    with BagReader(file) as reader:
        assert next(reader.messages()).decoded().data.startswith('0 ')


def test_chunks_that_hold_one_topic_each_are_merged_by_time(tmp_path):
    rows = messages()
    file = GrowingMcap(tmp_path / 'topics.mcap')
    for name in NAMES:
        number = file.add_channel(name, 'std_msgs/msg/String', 'string data', {})
        for other, time_ns, data in rows:
            if other == name:
                file.write(number, time_ns, data)
        file.flush('')
    file.close()
    found, problems = read(tmp_path / 'topics.mcap')
    assert problems == []
    times = [time_ns for _, time_ns, _ in found]
    assert times == sorted(times)
    assert sorted(found) == sorted(rows)


@pytest.mark.parametrize('plugin', list(StoragePlugin))
def test_a_clock_that_is_set_back_is_said_and_the_order_of_the_file_kept(tmp_path, plugin):
    before = messages(300)
    after = [(name, time_ns - 3_600 * 10**9, data) for name, time_ns, data in messages(300, 2)]
    write_by_rosbags(tmp_path / 'bag', before + after, plugin)
    found, problems = read(tmp_path / 'bag')
    assert found == before + after
    assert len(problems) == 1
    assert 'set back' in problems[0]
    assert '1699996400.' in problems[0]


def storage_file(path):
    return next(file for file in path.iterdir() if file.name != 'metadata.yaml')


@pytest.mark.parametrize(
    ('plugin', 'mode'),
    [
        (StoragePlugin.MCAP, CompressionMode.NONE),
        (StoragePlugin.MCAP, CompressionMode.STORAGE),
        (StoragePlugin.MCAP, CompressionMode.FILE),
        (StoragePlugin.SQLITE3, CompressionMode.NONE),
    ],
)
def test_of_a_truncated_file_a_prefix_is_read(tmp_path, plugin, mode):
    rows = messages(1500)
    write_by_rosbags(tmp_path / 'bag', rows, plugin, mode)
    file = storage_file(tmp_path / 'bag')
    content = file.read_bytes()
    rng = np.random.default_rng(7)
    lengths = []
    for size in rng.integers(0, len(content), size=25).tolist():
        file.write_bytes(content[:size])
        try:
            found, problems = read(tmp_path / 'bag')
        except BagError as error:
            found, problems = [], [str(error)]
        assert found == rows[: len(found)]
        assert any(str(file) in problem for problem in problems)
        assert file.read_bytes() == content[:size]
        lengths.append((size, len(found)))
    # What is read grows with what is left.
    lengths.sort()
    counts = [count for _, count in lengths]
    assert counts == sorted(counts)
    assert counts[-1] > len(rows) // 2


def test_bytes_that_changed_cost_their_chunk_only(tmp_path):
    rows = messages(1500)
    file = tmp_path / 'damaged.mcap'
    write_by_mcap(file, rows, chunk_size=50_000, compression=CompressionType.NONE)
    content = bytearray(file.read_bytes())
    place = len(content) // 2
    content[place] ^= 0xFF
    file.write_bytes(content)
    found, problems = read(file)
    assert len(rows) - 100 < len(found) < len(rows)
    assert set(found) < set(rows)
    assert [problem for problem in problems if 'checksum' in problem]


def test_without_metadata_the_files_are_read_in_order(tmp_path):
    path = tmp_path / 'bag'
    path.mkdir()
    rows = messages(1100)
    # Ten comes after nine, not after one.
    for number in range(11):
        write_by_mcap(path / f'bag_{number}.mcap', rows[number * 100 : number * 100 + 100])
    found, problems = read(path)
    assert found == rows
    assert len(problems) == 1
    assert 'metadata.yaml: is missing' in problems[0]
    (path / 'metadata.yaml').write_text('rosbag2_bagfile_information: [')
    found, problems = read(path)
    assert found == rows
    assert 'metadata.yaml: cannot be used' in problems[0]


def test_missing_and_unlisted_files_are_said(tmp_path):
    rows = messages(400)
    write_by_rosbags(tmp_path / 'bag', rows[:200], StoragePlugin.MCAP)
    write_by_mcap(tmp_path / 'bag' / 'more.mcap', rows[200:])
    found, problems = read(tmp_path / 'bag')
    assert found == rows
    assert 'more.mcap: metadata.yaml does not list it' in problems[0]
    (tmp_path / 'bag' / 'bag.mcap').unlink()
    found, problems = read(tmp_path / 'bag')
    assert found == rows[200:]
    assert 'bag.mcap: metadata.yaml lists it' in problems[0]


def test_what_is_no_bag_is_refused_by_name(tmp_path):
    with pytest.raises(BagError, match='nowhere: there is no such'):
        BagReader(tmp_path / 'nowhere')
    with pytest.raises(BagError, match=r'neither a \.mcap nor a \.db3'):
        BagReader(tmp_path)
    (tmp_path / 'empty.mcap').write_bytes(b'')
    with pytest.raises(BagError, match=r'empty\.mcap'):
        BagReader(tmp_path / 'empty.mcap')
    (tmp_path / 'wrong.db3').write_bytes(b'SQLite format 3\0' + bytes(200))
    with pytest.raises(BagError, match=r'wrong\.db3'):
        BagReader(tmp_path / 'wrong.db3')


def test_a_message_of_another_type_is_said_with_file_topic_and_time(tmp_path):
    file = tmp_path / 'wrong.mcap'
    write_by_mcap(file, [('/a', START_NS, b'\x00\x01\x00\x00\xff\xff\xff\x7f')])
    with BagReader(file) as reader:
        message = next(reader.messages())
        with pytest.raises(BagError, match=rf'{file}, topic /a, at 1700000000\.0{{9}} s: is no'):
            message.decoded()


def test_a_sqlite_bag_whose_writer_was_killed_is_read_and_left_as_it_is(tmp_path):
    import sqlite3

    rows = messages(300)
    write_by_rosbags(tmp_path / 'bag', rows[:100], StoragePlugin.SQLITE3)
    file = storage_file(tmp_path / 'bag')
    connection = sqlite3.connect(file)
    connection.execute('PRAGMA journal_mode=WAL')
    numbers = {name: number for number, name in connection.execute('SELECT id, name FROM topics')}
    connection.executemany(
        'INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)',
        [(numbers[name], time_ns, data) for name, time_ns, data in rows[100:]],
    )
    connection.commit()
    # As a killed process leaves it: a database with a log beside it.
    killed = tmp_path / 'killed'
    shutil.copytree(tmp_path / 'bag', killed)
    connection.close()
    contents = {entry.name: entry.read_bytes() for entry in killed.iterdir()}
    assert any(name.endswith('-wal') for name in contents)
    found, _ = read(killed)
    assert found == rows
    assert {entry.name: entry.read_bytes() for entry in killed.iterdir()} == contents


def test_our_own_topics_are_read_back_with_their_definitions(tmp_path):
    from reward_learning_ros.recording.bag_writer import BagWriter

    writer = BagWriter(tmp_path / 'bag', TOPICS)
    writer.write('/text', START_NS, text('hello'))
    writer.close()
    assert read_by_us(tmp_path / 'bag') == [('/text', START_NS, 'hello')]
    # A session's folder is as good as its bag.
    assert read_by_us(tmp_path) == [('/text', START_NS, 'hello')]

"""Whatever bytes are in a bag: what can be read is read, and the rest is said."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import struct

import lz4.frame
import numpy as np
import pytest
import zstandard
from helpers import random_records
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.opcode import Opcode
from mcap.records import Chunk
from rosbags.rosbag2 import CompressionMode, StoragePlugin
from test_bag_reader import messages as texts
from test_bag_reader import read, write_by_rosbags
from test_bag_writer import TOPICS, text

from reward_learning_ros.recording import mcap_records
from reward_learning_ros.recording.bag_making import serialized_plan
from reward_learning_ros.recording.bag_writer import BagWriter, finish_bag
from reward_learning_ros.recording.blocks import mcap_block
from reward_learning_ros.recording.growing_mcap import record_bytes
from reward_learning_ros.recording.mcap_records import HEAD, RecordScan, chunk_content
from reward_learning_ros.recording.message_types import decode, definition_damage, describe_topic
from reward_learning_ros.recording.problems import BagError, TopicInBag
from reward_learning_ros.recording.session_records import read_session

PLAN = describe_topic('/plan', 'nav_msgs/msg/Path')
START_NS = 1_700_000_000_000_000_000
CHUNKS = 6


def write_plans(path, count=CHUNKS, compression='none'):
    """Write a bag with one plan in each chunk, and return the plans."""
    rng = np.random.default_rng(3)
    plans = [random_records.plan(rng, count=3) for _ in range(count)]
    writer = BagWriter(path, [PLAN], compression=compression)
    for index, plan in enumerate(plans):
        writer.write('/plan', START_NS + index * 10**9, serialized_plan(plan))
        writer.flush()
    writer.close()
    return plans


def mcap_of(path):
    (file,) = path.glob('*.mcap')
    return file


def chunk_offsets(file):
    with file.open('rb') as stream:
        return [head.offset for head in RecordScan(stream) if head.opcode == Opcode.CHUNK]


def change(file, offset, data):
    content = bytearray(file.read_bytes())
    content[offset : offset + len(data)] = data
    file.write_bytes(content)


@pytest.fixture(scope='module')
def small_bags(tmp_path_factory):
    """Small bags of three storages, as the contents of their files."""
    folder = tmp_path_factory.mktemp('bags')
    for compression in ('none', 'zstd'):
        write_plans(folder / compression, count=3, compression=compression)
    write_by_rosbags(folder / 'sqlite', texts(20), StoragePlugin.SQLITE3, CompressionMode.MESSAGE)
    return [{file.name: file.read_bytes() for file in bag.iterdir()} for bag in folder.iterdir()]


CHANGES = st.lists(
    st.tuples(st.sampled_from(('flip', 'cut', 'insert', 'ones')), st.floats(0, 1), st.binary()),
    min_size=1,
    max_size=6,
)


def changed(content, changes):
    data = bytearray(content)
    for kind, share, other in changes:
        place = int(share * len(data))
        if kind == 'flip' and place < len(data):
            data[place] ^= 1 << (len(other) % 8)
        elif kind == 'cut':
            del data[place : place + len(other)]
        elif kind == 'insert':
            data[place:place] = other
        else:
            data[place : place + 8] = b'\xff' * len(data[place : place + 8])
    return bytes(data)


@settings(max_examples=25)
@given(number=st.integers(0, 2), name=st.floats(0, 0.999), changes=CHANGES)
def test_changed_bytes_are_read_or_refused_as_a_bag(
    small_bags, tmp_path_factory, number, name, changes
):
    files = small_bags[number]
    bag = tmp_path_factory.mktemp('changed')
    target = sorted(files)[int(name * len(files))]
    for file, content in files.items():
        (bag / file).write_bytes(changed(content, changes) if file == target else content)
    for use in (read, read_session, finish_bag):
        with contextlib.suppress(BagError):
            use(bag)
    shutil.rmtree(bag)


@pytest.mark.parametrize('offset', [0, 1, 2, 3, 8])
@pytest.mark.parametrize('value', [0x00, 0x13, 0x70, 0xFF])
def test_a_damaged_chunk_costs_its_own_messages_only(tmp_path, offset, value):
    plans = write_plans(tmp_path / 'bag')
    file = mcap_of(tmp_path / 'bag')
    # Opcode and length of a record: without them nothing says where the next one begins.
    before = file.read_bytes()
    change(file, chunk_offsets(file)[2] + offset, bytes([value]))
    found = read_session(tmp_path / 'bag')
    kept = {plan.stamp_ns for plan in found.distinct_plans}
    assert {plan.stamp_ns for plan in plans} - kept <= {plans[2].stamp_ns}
    is_said = any('is damaged' in str(problem) for problem in found.problems)
    assert is_said == (file.read_bytes() != before)


@pytest.mark.parametrize('offset', [0, 8, 40])
def test_finishing_keeps_what_stands_behind_damage(tmp_path, offset):
    plans = write_plans(tmp_path / 'bag')
    file = mcap_of(tmp_path / 'bag')
    change(file, chunk_offsets(file)[2] + offset, b'\xff')
    file.write_bytes(file.read_bytes()[:-20])
    (damage,) = finish_bag(tmp_path / 'bag').values()
    assert 'is damaged' in damage
    kept = {plan.stamp_ns for plan in read_session(tmp_path / 'bag').distinct_plans}
    assert {plan.stamp_ns for plan in plans} - kept <= {plans[2].stamp_ns}


def test_a_bag_whose_definition_is_damaged_can_be_finished_and_gone_on_with(tmp_path):
    plans = write_plans(tmp_path / 'bag')
    file = mcap_of(tmp_path / 'bag')
    content = file.read_bytes()
    file.write_bytes(
        content[:-20].replace(b'geometry_msgs/PoseStamped', b'geo\xff\xfetry_msgs/PoseStamped')
    )
    writer = BagWriter(tmp_path / 'bag', [PLAN])
    writer.write('/plan', START_NS, serialized_plan(random_records.plan(np.random.default_rng(7))))
    writer.close()
    found = read_session(tmp_path / 'bag')
    assert found.distinct_plans[: len(plans)] == tuple(plans)
    assert len(found.distinct_plans) == len(plans) + 1
    assert any('definition of nav_msgs/msg/Path' in str(problem) for problem in found.problems)


def test_a_damaged_name_of_a_field_is_said_and_the_standard_one_used(tmp_path):
    plans = write_plans(tmp_path / 'bag')
    file = mcap_of(tmp_path / 'bag')
    file.write_bytes(file.read_bytes().replace(b'Point position', b'Point posidion'))
    found = read_session(tmp_path / 'bag')
    assert found.distinct_plans == tuple(plans)
    (problem,) = [problem for problem in found.problems if 'no field' in problem.text]
    assert 'poses.pose.position' in problem.text
    assert problem.topic == '/plan'


def path_topic(definition):
    return TopicInBag(
        name='/plan',
        type_name='nav_msgs/msg/Path',
        definition=definition,
        definition_format='ros2msg',
    )


@pytest.mark.parametrize(
    ('definition', 'reason'),
    [
        ('nav_msgs/Path inner\n', 'part of itself'),
        ('Unknown inner\n', 'lacks nav_msgs/msg/Unknown'),
        ('string[99999999] names\n', '99999999 entries'),
        ('\ufffd\n', 'cannot be read'),
    ],
)
def test_a_definition_that_cannot_be_used_is_said(definition, reason):
    damage = definition_damage(path_topic(definition))
    assert reason in damage
    assert 'standard' in damage
    plan = random_records.plan(np.random.default_rng(1))
    assert len(decode(path_topic(definition), serialized_plan(plan)).poses) == len(plan.positions)


def test_a_definition_with_other_fields_refuses_its_messages():
    topic = path_topic('uint8 other\n')
    with pytest.raises(BagError, match='no field header'):
        decode(topic, serialized_plan(random_records.plan(np.random.default_rng(1))))


@pytest.mark.parametrize('seed', range(5))
def test_many_flipped_bits_are_said_as_damage(tmp_path, seed):
    write_plans(tmp_path / 'bag')
    file = mcap_of(tmp_path / 'bag')
    data = np.frombuffer(file.read_bytes(), dtype=np.uint8).copy()
    rng = np.random.default_rng(seed)
    # All but the first record, which says what the file is.
    places = rng.choice(np.arange(60, len(data)), size=200, replace=False)
    data[places] ^= 1 << rng.integers(0, 8, size=200).astype(np.uint8)
    file.write_bytes(data.tobytes())
    try:
        said = ' '.join(map(str, read_session(tmp_path / 'bag').problems))
    except BagError as error:
        said = str(error)
    assert str(file) in said
    assert 'damaged' in said


def test_a_start_that_is_damaged_costs_nothing(tmp_path):
    plans = write_plans(tmp_path / 'bag')
    change(mcap_of(tmp_path / 'bag'), 2, b'\x00')
    found = read_session(tmp_path / 'bag')
    assert found.distinct_plans == tuple(plans)
    assert 'damaged at byte 0' in str(found.problems[0])


@pytest.mark.parametrize('length', [2**63 - 1, 2**63 - 10, 2**63, 2**64 - 1])
def test_a_record_of_impossible_length_ends_its_chunk(length):
    whole = HEAD.pack(Opcode.MESSAGE, 22) + bytes(22)
    content = whole + HEAD.pack(Opcode.MESSAGE, length) + bytes(100)
    block, _, is_complete = mcap_block(content, np.zeros(2**16, dtype=np.int64))
    assert len(block) == 1
    assert not is_complete


def test_a_chunk_of_impossible_length_is_refused():
    head = struct.pack('<QQQII', 0, 0, 10, 0, 0)
    with pytest.raises(BagError, match='Chunk record cannot be read'):
        chunk_content(head + struct.pack('<Q', 2**64 - 1) + bytes(10))


# The lowest of all negative numbers once made the search for jumps of the clock endless.
@pytest.mark.parametrize('impossible', [2**64 - 5, 2**63])
def test_a_message_whose_time_is_impossible_is_left_out(tmp_path, impossible):
    plans = write_plans(tmp_path / 'bag')
    file = mcap_of(tmp_path / 'bag')
    time = struct.pack('<Q', START_NS + 10**9)
    content = file.read_bytes().replace(time, struct.pack('<Q', impossible))
    # Without its checksum, which would refuse all of the chunk.
    chunk = chunk_offsets(file)[1] + HEAD.size
    file.write_bytes(content[: chunk + 24] + bytes(4) + content[chunk + 28 :])
    found = read_session(tmp_path / 'bag')
    assert {plan.stamp_ns for plan in plans} - {p.stamp_ns for p in found.distinct_plans} == {
        plans[1].stamp_ns
    }
    assert any('impossible time' in str(problem) for problem in found.problems)


ZEROS = bytes(20 * 2**20)
BOMBS = {'zstd': zstandard.ZstdCompressor().compress(ZEROS), 'lz4': lz4.frame.compress(ZEROS)}


@pytest.mark.parametrize('compression', list(BOMBS))
@pytest.mark.parametrize(
    ('declared', 'reason'),
    [(1000, 'more than the 1000 bytes'), (12 * 2**30, 'are allowed'), (2**63, 'are allowed')],
)
def test_a_chunk_is_never_decompressed_beyond_what_it_says(compression, declared, reason):
    chunk = Chunk(
        compression=compression,
        data=BOMBS[compression],
        message_start_time=0,
        message_end_time=0,
        uncompressed_crc=0,
        uncompressed_size=declared,
    )
    with pytest.raises(BagError, match=reason):
        chunk_content(record_bytes(chunk)[HEAD.size :])


def test_compressed_messages_that_are_damaged_or_too_large_cost_themselves_only(
    tmp_path, monkeypatch
):
    rows = texts(20)
    write_by_rosbags(tmp_path / 'bag', rows, StoragePlugin.SQLITE3, CompressionMode.MESSAGE)
    (file,) = (tmp_path / 'bag').glob('*.db3')
    with sqlite3.connect(file) as connection:
        bomb = BOMBS['zstd']
        connection.execute('UPDATE messages SET data = ? WHERE id = 1', (bomb[:4] + bytes(40),))
        connection.execute('UPDATE messages SET data = ? WHERE id = 5', (bomb,))
    connection.close()
    monkeypatch.setattr(mcap_records, 'MAX_BYTES', 2**20)
    found, problems = read(tmp_path / 'bag')
    assert found == [row for index, row in enumerate(rows, start=1) if index not in (1, 5)]
    assert 'is damaged' in problems[0]
    assert 'more than 1048576 bytes' in problems[1]
    assert rows[0][0] in problems[0]


@pytest.fixture
def sqlite_bag(tmp_path):
    rows = [(name, time_ns, data) for name, time_ns, data in texts(12)]
    write_by_rosbags(tmp_path / 'bag', rows, StoragePlugin.SQLITE3)
    (file,) = (tmp_path / 'bag').glob('*.db3')
    return tmp_path / 'bag', rows, sqlite3.connect(file)


@pytest.mark.parametrize(
    ('column', 'value'),
    [('data', 10**12), ('data', 'x'), ('timestamp', 'now'), ('timestamp', -5)],
)
def test_a_row_of_other_kinds_costs_itself_only(sqlite_bag, column, value):
    bag, rows, connection = sqlite_bag
    with connection:
        connection.execute(f'UPDATE messages SET {column} = ? WHERE id = 3', (value,))
    connection.close()
    found, problems = read(bag)
    assert found == [row for index, row in enumerate(rows, start=1) if index != 3]
    assert 'damaged messages: 1' in problems[0]


def test_a_topic_of_other_kinds_costs_itself_only(sqlite_bag):
    bag, rows, connection = sqlite_bag
    with connection:
        connection.execute("UPDATE topics SET name = x'01' WHERE name = '/b'")
        connection.execute("UPDATE topics SET type = CAST(x'ff2f6d' AS TEXT) WHERE name = '/c'")
    connection.close()
    found, problems = read(bag)
    assert found == [row for row in rows if row[0] != '/b']
    assert 'is damaged' in problems[0]


def test_rows_that_a_file_would_compute_are_refused(sqlite_bag):
    bag, _, connection = sqlite_bag
    with connection:
        connection.execute('DROP TABLE messages')
        connection.execute(
            'CREATE VIEW messages AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 '
            "FROM n) SELECT id, 1 AS topic_id, id AS timestamp, x'00' AS data FROM n"
        )
    connection.close()
    with pytest.raises(BagError, match='lacks its tables'):
        read(bag)


@pytest.mark.parametrize(
    'content', ['[' * 5000, 'a: 2024-99-99', f'a: {"9" * 5000}', 'a: \x00', '&a [*a, *a]']
)
def test_metadata_that_cannot_be_used_is_said_and_the_files_are_read(tmp_path, content):
    writer = BagWriter(tmp_path / 'bag', TOPICS)
    writer.write('/text', 5, text('hello'))
    writer.close()
    (tmp_path / 'bag' / 'metadata.yaml').write_text(content, encoding='utf-8')
    found, problems = read(tmp_path / 'bag')
    assert [row[2] for row in found] == [text('hello')]
    assert 'metadata.yaml: cannot be used' in problems[0]

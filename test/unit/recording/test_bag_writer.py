"""Bags survive their writer: killed in mid-write, a full disk, a restart."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap.writer import MCAP0_MAGIC
from rosbags.highlevel import AnyReader

from reward_learning_ros.interface.topics import LATCHED
from reward_learning_ros.recording.bag_reader import BagReader
from reward_learning_ros.recording.bag_writer import BagWriter, finish_bag
from reward_learning_ros.recording.message_types import describe_topic, standard_types
from reward_learning_ros.recording.problems import BagError, BagWriteError, UnknownTypeError

TOPICS = [
    describe_topic('/text', 'std_msgs/msg/String'),
    describe_topic('/latched', 'std_msgs/msg/String', LATCHED),
]
LATER = describe_topic('/later', 'std_msgs/msg/Float64')


def text(content: str) -> bytes:
    store = standard_types()
    message = store.types['std_msgs/msg/String'](content)
    return bytes(store.serialize_cdr(message, message.__msgtype__))


def read_by_rosbags(path) -> list[tuple[str, int, str]]:
    with AnyReader([path]) as reader:
        found = [
            (connection.topic, time_ns, reader.deserialize(data, connection.msgtype).data)
            for connection, time_ns, data in reader.messages()
        ]
        assert reader.message_count == len(found)
    return found


def read_by_us(path) -> list[tuple[str, int, str]]:
    with BagReader(path) as reader:
        return [(m.topic.name, m.time_ns, m.decoded().data) for m in reader.messages()]


def write_numbers(writer, numbers, topic='/text'):
    """Write messages; return what a reader must find."""
    for number in numbers:
        writer.write(topic, 10**9 + number, text(f'message {number}'))
    return [(topic, 10**9 + number, f'message {number}') for number in numbers]


@pytest.mark.parametrize('compression', ['none', 'lz4', 'zstd'])
def test_after_every_flush_the_bag_is_whole_though_nobody_closes_it(tmp_path, compression):
    rng = np.random.default_rng(1)
    path = tmp_path / 'bag'
    writer = BagWriter(path, TOPICS, compression=compression, chunks_per_file=3)
    expected = []
    for count in rng.integers(0, 40, size=8):
        expected += write_numbers(writer, range(len(expected), len(expected) + int(count)))
        writer.flush()
        assert read_by_rosbags(path) == expected
        assert read_by_us(path) == expected
    assert len(list(path.glob('*.mcap'))) > 1
    for file in path.glob('*.mcap'):
        with file.open('rb') as stream:
            list(make_reader(stream, validate_crcs=True).iter_messages())


def test_quality_of_service_and_definitions_are_kept(tmp_path):
    writer = BagWriter(tmp_path / 'bag', TOPICS)
    writer.add_topic(LATER)
    writer.close()
    with AnyReader([tmp_path / 'bag']) as reader:
        found = {connection.topic: connection for connection in reader.connections}
    assert found['/latched'].ext.offered_qos_profiles[0].durability.name == 'TRANSIENT_LOCAL'
    assert found['/text'].ext.offered_qos_profiles[0].durability.name == 'VOLATILE'
    assert found['/later'].msgdef.data == LATER.definition
    assert found['/later'].digest == standard_types().hash_rihs01('std_msgs/msg/Float64')


def test_a_type_that_nobody_knows_is_refused_and_one_that_is_installed_is_found(tmp_path):
    with pytest.raises(UnknownTypeError, match='mine_msgs/msg/Mine'):
        describe_topic('/mine', 'mine_msgs/msg/Mine', ros_prefixes=[tmp_path])
    folder = tmp_path / 'share' / 'mine_msgs' / 'msg'
    folder.mkdir(parents=True)
    (folder / 'Mine.msg').write_text('std_msgs/Header header\nPart[] parts\n')
    (folder / 'Part.msg').write_text('float64 x\n')
    found = describe_topic('/mine', 'mine_msgs/msg/Mine', ros_prefixes=[tmp_path, tmp_path / 'x'])
    assert 'MSG: mine_msgs/Part' in found.definition


WRITER = """
import sys
from test_bag_writer import *
path, fsize = Path(sys.argv[1]), int(sys.argv[2])
if fsize:
    resource.setrlimit(resource.RLIMIT_FSIZE, (fsize, resource.RLIM_INFINITY))
writer = BagWriter(path, TOPICS, flush_period_sec=1e9)
rng = np.random.default_rng(5)
number = 0
while True:
    write_numbers(writer, range(number, number + int(rng.integers(1, 2000))))
    try:
        writer.flush()
    except BagWriteError as error:
        print('failed', sum(writer.dropped.values()), error, flush=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        # There is room again.
        write_numbers(writer, [10**8])
        writer.close()
        break
    number = sum(writer.written.values())
    print(number, flush=True)
"""


def writing(path, file_size=0):
    code = 'import resource\nfrom pathlib import Path\n' + WRITER
    modules = [os.path.dirname(__file__), *filter(None, [os.environ.get('PYTHONPATH')])]
    return subprocess.Popen(
        [sys.executable, '-c', code, str(path), str(file_size)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(modules)},
    )


def test_kill_9_in_mid_write_loses_nothing_that_was_flushed(tmp_path):
    for trial in range(3):
        path = tmp_path / f'bag{trial}'
        process = writing(path)
        for _ in range(5 + trial):
            told = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        rest = process.communicate()[0].split()
        told = int(rest[-1]) if rest else told
        found = read_by_us(path)
        expected = [('/text', 10**9 + k, f'message {k}') for k in range(len(found))]
        assert found == expected
        assert len(found) >= told
        finish_bag(path)
        assert read_by_rosbags(path) == expected


def test_on_a_full_disk_what_was_written_stays_and_later_it_goes_on(tmp_path):
    path = tmp_path / 'bag'
    output = writing(path, file_size=300_000).communicate()[0].splitlines()
    word, dropped, reason = output[-1].split(' ', 2)
    assert word == 'failed'
    assert int(dropped) > 0
    assert str(path) in reason
    assert 'too large' in reason
    kept = int(output[-2])
    found = read_by_rosbags(path)
    assert [time_ns for _, time_ns, _ in found] == [10**9 + k for k in (*range(kept), 10**8)]
    assert read_by_us(path) == found


def test_a_bag_that_is_there_is_gone_on_with_and_not_overwritten(tmp_path):
    path = tmp_path / 'bag'
    writer = BagWriter(path, TOPICS)
    expected = write_numbers(writer, range(5))
    writer.close()
    before = (path / 'bag_0.mcap').read_bytes()
    writer = BagWriter(path, [*TOPICS, LATER])
    expected += write_numbers(writer, range(5, 9))
    writer.close()
    assert (path / 'bag_0.mcap').read_bytes() == before
    assert read_by_rosbags(path) == expected
    assert writer.written['/text'] == 4


@pytest.mark.parametrize('size', [0, 5, len(MCAP0_MAGIC)])
def test_a_file_that_was_begun_only_keeps_nobody_from_going_on(tmp_path, size):
    path = tmp_path / 'bag'
    with_messages = BagWriter(path, TOPICS)
    expected = write_numbers(with_messages, range(5))
    with_messages.close()
    # Its writer was killed before it wrote, or what it wrote was lost with the power.
    (path / 'bag_1.mcap').write_bytes(MCAP0_MAGIC[:size])
    assert read_by_us(path) == expected
    following = BagWriter(path, TOPICS)
    expected += write_numbers(following, range(5, 9))
    following.close()
    assert read_by_us(path) == read_by_rosbags(path) == expected
    assert finish_bag(path) == {}
    (path / 'bag_1.mcap').write_bytes(MCAP0_MAGIC[:size])
    assert finish_bag(path) == {'bag_1.mcap': 'ends before anything was recorded'}
    assert read_by_us(path) == read_by_rosbags(path) == expected


def test_a_folder_with_something_else_in_it_is_refused(tmp_path):
    (tmp_path / 'thesis.tex').write_text('…')
    with pytest.raises(BagError, match=r'thesis\.tex'):
        BagWriter(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ['thesis.tex']


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / 'file').write_text('')
    with pytest.raises(BagWriteError, match='file'):
        BagWriter(tmp_path / 'file' / 'bag')


def test_a_write_torn_anywhere_loses_only_its_own_messages(tmp_path):
    path = tmp_path / 'bag'
    file = path / 'bag_0.mcap'
    writer = BagWriter(path, TOPICS)
    expected = write_numbers(writer, range(30))
    writer.flush()
    old = file.read_bytes()
    new_messages = write_numbers(writer, range(30, 60))
    writer.close()
    new = file.read_bytes()
    rng = np.random.default_rng(3)
    kept = []
    first = next(i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
    for cut in [first, *rng.integers(first, len(new), size=40).tolist()]:
        torn = new[:cut] + old[cut:]
        file.write_bytes(torn)
        found = read_by_us(path)
        assert found[:30] == expected
        assert found == (expected + new_messages)[: len(found)]
        damages = finish_bag(path)
        assert read_by_rosbags(path)[:30] == expected
        if damages:
            # Each stays; none takes the place of another.
            kept.append(torn)
    damaged = [name.read_bytes() for name in path.glob('*.damaged')]
    assert kept
    assert sorted(damaged) == sorted(kept)

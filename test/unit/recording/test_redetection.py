"""Corrections found in a bag are those that the recorder finds in the samples themselves."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.bag_making import session_messages, topic_name, write_session
from helpers.franka_message import FRANKA_MESSAGES
from helpers.sensing_scenarios import PLAN, ordered, recording, timeline_of
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.recording.bag_reader import BagReader
from reward_learning_ros.recording.problems import BagError
from reward_learning_ros.recording.redetection import RedetectionParameters, redetect
from reward_learning_ros.recording.session_topics import (
    JOINTS,
    PARTS,
    POSE,
    ROBOT_STATE,
    STATUS,
    TORQUES,
    WRENCH,
    SessionTopics,
)
from reward_learning_ros.recording.session_topics import PLAN as PLAN_PART
from reward_learning_ros.sensing.deltas import CorrectionRecorder
from reward_learning_ros.sensing.samples import Stream
from reward_learning_ros.sensing.synthetic import random_pushes

ALL = (TORQUES, JOINTS, POSE, WRENCH)


@pytest.fixture(scope='module')
def made():
    pushes = random_pushes(
        2, rng=np.random.default_rng(2), duration_sec=(0.5, 1.5), pause_sec=(0.8, 1.5)
    )
    return recording(pushes[-1].end_sec + 1.0, *pushes, seed=3)


@pytest.fixture(scope='module')
def expected(made):
    """What the recorder finds in the samples, without any bag."""
    recorder = CorrectionRecorder(jacobian=Kinematics().jacobian, timeline=timeline_of(made))
    arrivals = made.arrivals()
    arrivals = arrivals[arrivals.stream != Stream.REFERENCE]
    for block in ordered(arrivals, 977):
        recorder.process(block)
    recorder.close()
    recorder.passes.end()
    told = recorder.passes.corrections()
    assert told.pushes == 2
    return [told]


def found_in(path, topics=None, **settings):
    with BagReader(path) as bag:
        return redetect(
            bag,
            SessionTopics(bag.path, bag.topics, topics or {}),
            RedetectionParameters(**settings),
        )


@pytest.fixture(scope='module')
def bag(made, tmp_path_factory):
    path = tmp_path_factory.mktemp('session') / 'bag'
    write_session(path, made, PLAN, ALL)
    return path


def test_corrections_are_the_same_to_the_last_digit(bag, expected):
    found = found_in(bag)
    assert list(found.corrections) == expected
    assert found.plans == (PLAN,)
    assert found.problems == ()


def test_thresholds_can_be_changed(bag, expected):
    (unfelt,) = found_in(bag, on_torque_nm=50.0).corrections
    assert unfelt.pushes < expected[0].pushes
    (coarse,) = found_in(bag, min_delta_m=0.1).corrections
    assert coarse.pushes < expected[0].pushes


def franka_store():
    store = get_typestore(Stores.ROS2_HUMBLE)
    for name, text in FRANKA_MESSAGES.items():
        store.register(get_types_from_msg(text, name))
    return store


def blank(store, type_name):
    """A message of zeros."""
    from rosbags.interfaces import Nodetype

    values = {}
    for field, (kind, detail) in store.fielddefs[type_name][1]:
        if kind == Nodetype.NAME:
            values[field] = blank(store, detail)
        elif kind == Nodetype.BASE:
            values[field] = '' if detail[0] == 'string' else 0
        elif kind == Nodetype.ARRAY:
            values[field] = np.zeros(detail[1])
        else:
            values[field] = [] if detail[0][1][0] == 'string' else np.zeros(0)
    return store.types[type_name](**values)


def robot_states(store, made):
    """The samples as FrankaRobotState."""
    message = blank(store, PARTS[ROBOT_STATE].type_name)
    for row, time_ns in enumerate(made.time_ns.tolist()):
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(time_ns, 10**9)
        message.measured_joint_state.position = made.joints[row, :7]
        message.measured_joint_state.velocity = made.joints[row, 7:]
        message.tau_ext_hat_filtered.effort = made.torque_nm[row]
        pose, wrench = message.o_t_ee.pose, message.o_f_ext_hat_k.wrench
        pose.position.x, pose.position.y, pose.position.z = made.tool_pose[row, :3]
        for axis, value in zip('xyzw', made.tool_pose[row, 3:], strict=True):
            setattr(pose.orientation, axis, value)
        wrench.force.x, wrench.force.y, wrench.force.z = made.wrench[row, :3]
        wrench.torque.x, wrench.torque.y, wrench.torque.z = made.wrench[row, 3:]
        yield time_ns, bytes(store.serialize_cdr(message, message.__msgtype__))


@pytest.fixture(scope='module')
def states(made):
    return list(robot_states(franka_store(), made))


@pytest.mark.parametrize('has_definition', [True, False])
def test_robot_states_are_decoded_by_the_definition_in_the_bag(
    made, states, expected, tmp_path, has_definition
):
    store = franka_store()
    told = [
        row
        for row in session_messages(made, PLAN, ALL)
        if row[0] in (topic_name(PLAN_PART), topic_name(STATUS))
    ]
    with Writer(tmp_path / 'bag', version=8, storage_plugin=StoragePlugin.MCAP) as writer:
        connections = {
            part: writer.add_connection(
                f'/my_robot/{PARTS[part].name}', PARTS[part].type_name, typestore=store
            )
            for part in (PLAN_PART, STATUS)
        }
        type_name = PARTS[ROBOT_STATE].type_name
        definition = None if has_definition else {'msgdef': '', 'rihs01': 'none'}
        state = writer.add_connection(
            f'/my_robot/{PARTS[ROBOT_STATE].name}',
            type_name,
            **(definition or {'typestore': store}),
        )
        by_name = {topic_name(part): connections[part] for part in connections}
        for name, time_ns, data in told:
            writer.write(by_name[name], time_ns, data)
        for time_ns, data in states:
            writer.write(state, time_ns, data)
    found = found_in(tmp_path / 'bag')
    assert list(found.corrections) == expected


def test_sqlite_with_compressed_messages_and_topics_of_other_names(made, expected, tmp_path):
    rows = list(session_messages(made, PLAN, ALL))
    names = {name: f'/lab{name}_x' for name in {row[0] for row in rows}}
    types = {topic_name(part): PARTS[part].type_name for part in PARTS}
    writer = Writer(tmp_path / 'bag', version=8, storage_plugin=StoragePlugin.SQLITE3)
    writer.set_compression(CompressionMode.MESSAGE, CompressionFormat.ZSTD)
    with writer:
        connections = {
            name: writer.add_connection(other, types[name], typestore=franka_store())
            for name, other in names.items()
        }
        for name, time_ns, data in rows:
            writer.write(connections[name], time_ns, data)
    given = {part: names[topic_name(part)] for part in (PLAN_PART, STATUS, *ALL)}
    assert list(found_in(tmp_path / 'bag', given).corrections) == expected
    with pytest.raises(BagError, match='no topic franka_robot_state_broadcaster'):
        found_in(tmp_path / 'bag')
    with pytest.raises(UnknownNameError, match="topic '/nope'"):
        found_in(tmp_path / 'bag', {**given, TORQUES: '/nope'})
    with pytest.raises(BagError, match='must be sensor_msgs/msg/JointState'):
        found_in(tmp_path / 'bag', {**given, TORQUES: names[topic_name(POSE)]})


def test_without_a_status_a_plan_begins_when_it_was_recorded(made, tmp_path):
    path = tmp_path / 'bag'
    write_session(path, made, PLAN, ALL)
    with BagReader(path) as bag:
        topics = SessionTopics(
            path, {name: topic for name, topic in bag.topics.items() if 'status' not in name}, {}
        )
        found = redetect(bag, topics, RedetectionParameters())
    assert found.corrections
    assert 'nobody says when a plan was played' in str(found.problems[-1])


def test_messages_that_cannot_be_read_are_counted_and_the_rest_is_used(made, tmp_path):
    path = tmp_path / 'bag'
    rows = list(session_messages(made, PLAN, (TORQUES, JOINTS, POSE)))
    broken = [
        (name, time_ns, data[:50] if index % 500 == 77 and 'pose' in name else data)
        for index, (name, time_ns, data) in enumerate(rows)
    ]
    count = sum(old != new for old, new in zip(rows, broken, strict=True))
    assert count > 5
    from reward_learning_ros.recording.bag_writer import BagWriter
    from reward_learning_ros.recording.message_types import describe_topic

    types = {topic_name(part): PARTS[part].type_name for part in PARTS}
    names = dict.fromkeys(row[0] for row in rows)
    writer = BagWriter(path, [describe_topic(name, types[name]) for name in names])
    for row in broken:
        writer.write(*row)
    writer.close()
    found = found_in(path)
    assert [told.pushes for told in found.corrections] == [2]
    [problem] = found.problems
    assert problem.topic == topic_name(POSE)
    assert f'(and {count - 1} more)' in str(problem)


def test_two_robots_in_one_bag_must_be_told_apart(made, tmp_path):
    path = tmp_path / 'bag'
    short = recording(0.2, seed=3)
    write_session(path, short, PLAN, ALL)
    with BagReader(path) as bag:
        twice = {
            **bag.topics,
            **{f'/other{name}': topic for name, topic in bag.topics.items()},
        }
        with pytest.raises(InvalidInputError, match='several topics could be plan'):
            SessionTopics(path, twice, {})

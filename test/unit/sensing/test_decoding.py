"""Decoding agrees with independent serializers and never reads beyond the bytes it was given."""

from __future__ import annotations

import contextlib

import pytest
from helpers.message_strategies import joint_states, messages, serialize
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.sensing.decoding import (
    FrankaStateDecoder,
    JointStateDecoder,
    PoseStampedDecoder,
    WrenchStampedDecoder,
    joint_names,
)
from reward_learning_ros.sensing.samples import (
    DecodingError,
    EncapsulationError,
    TruncatedMessageError,
)

JOINTS = tuple(f'fr3_joint{number}' for number in range(1, 8))
POSES = messages('geometry_msgs/msg/PoseStamped')
WRENCHES = messages('geometry_msgs/msg/WrenchStamped')
FRANKA_STATES = messages('franka_msgs/msg/FrankaRobotState')
OF_THE_ARM = joint_states(JOINTS, (7, 7, 7))


def stamp_ns(message) -> int:
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec


def pose_of(message) -> tuple[float, ...]:
    place, turn = message.position, message.orientation
    return (place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w)


def wrench_of(message) -> tuple[float, ...]:
    force, torque = message.force, message.torque
    return (force.x, force.y, force.z, torque.x, torque.y, torque.z)


# One decoder for several messages: what it learned of one must not be read into the next.
@settings(max_examples=40)
@given(st.lists(st.tuples(joint_states(), st.booleans()), min_size=1, max_size=3))
def test_joint_states_agree_with_an_independent_serializer(told):
    decoder = JointStateDecoder()
    for message, little_endian in told:
        data = serialize(message, little_endian)
        record = decoder.decode(data)
        assert record.time_ns == stamp_ns(message)
        assert record.position == tuple(message.position)
        assert record.velocity == tuple(message.velocity)
        assert record.effort == tuple(message.effort)
        assert joint_names(data) == tuple(message.name)


@settings(max_examples=25)
@given(st.lists(st.tuples(POSES, WRENCHES, st.booleans()), min_size=1, max_size=3))
def test_poses_and_wrenches_agree_with_an_independent_serializer(told):
    poses, wrenches = PoseStampedDecoder(), WrenchStampedDecoder()
    for pose, wrench, little_endian in told:
        record = poses.decode(serialize(pose, little_endian))
        assert record == (stamp_ns(pose), pose_of(pose.pose))
        record = wrenches.decode(serialize(wrench, little_endian))
        assert record == (stamp_ns(wrench), wrench_of(wrench.wrench))


@settings(max_examples=15)
@given(FRANKA_STATES, FRANKA_STATES, st.booleans())
def test_franka_robot_states_agree_with_an_independent_serializer(first, second, little_endian):
    decoder = FrankaStateDecoder()
    for message in (first, second):
        record = decoder.decode(serialize(message, little_endian))
        assert record.time_ns == stamp_ns(message)
        assert record.joint_position == tuple(message.measured_joint_state.position)
        assert record.joint_velocity == tuple(message.measured_joint_state.velocity)
        assert record.external_torque == tuple(message.tau_ext_hat_filtered.effort)
        assert record.wrench == wrench_of(message.o_f_ext_hat_k.wrench)
        assert record.pose == pose_of(message.o_t_ee.pose)
        assert record.desired_pose == pose_of(message.o_t_ee_d.pose)
        assert record.robot_mode == message.robot_mode


@settings(max_examples=25)
@given(st.data())
def test_joints_are_found_by_name_whatever_their_order(data):
    decoder = JointStateDecoder(JOINTS)
    for _ in range(2):
        names = data.draw(st.permutations([*JOINTS, 'fr3_finger_joint1', 'fr3_finger_joint2']))
        message = data.draw(joint_states(names, (9, 9, 0)))
        record = decoder.decode(serialize(message))
        by_name = dict(zip(names, message.position, strict=True))
        assert record.position == tuple(by_name[name] for name in JOINTS)
        assert record.effort == ()


@settings(max_examples=20)
@given(
    OF_THE_ARM, joint_states((*JOINTS[:6], 'other'), (7, 7, 7)), joint_states(JOINTS, (7, 3, 7))
)
def test_a_message_with_other_joints_is_refused_and_the_next_one_is_read(good, foreign, ragged):
    decoder = JointStateDecoder(JOINTS)
    first = decoder.decode(serialize(good))
    for _ in range(2):
        with pytest.raises(DecodingError, match='fr3_joint7'):
            decoder.decode(serialize(foreign))
        with pytest.raises(DecodingError, match='velocity'):
            decoder.decode(serialize(ragged))
        assert decoder.decode(serialize(good)) == first


@settings(max_examples=10)
@given(joint_states(['a', 'bc', 'def'], (3, 0, 3)))
def test_garbage_in_the_padding_changes_nothing(message):
    data = bytearray(serialize(message))
    decoder = JointStateDecoder(('a', 'bc', 'def'))
    expected = decoder.decode(bytes(data))
    used = changed = 0
    for position in range(4, len(data)):
        spoiled = bytearray(data)
        spoiled[position] ^= 0x5A
        try:
            same = JointStateDecoder(('a', 'bc', 'def')).decode(bytes(spoiled)) == expected
        except DecodingError:
            same = False
        if same:
            changed += 1
            assert decoder.decode(bytes(spoiled)) == expected
        else:
            used += 1
    # Stamp 8, lengths 7 words, names with terminators 9, six doubles: the rest is padding or
    # the frame's content.
    assert used >= 8 + 7 * 4 + 9 + 48 - 4
    assert changed > 0


@settings(max_examples=6)
@given(OF_THE_ARM, POSES, WRENCHES, FRANKA_STATES, st.booleans(), st.booleans())
def test_every_truncation_is_an_error(joints, pose, wrench, state, warm, little_endian):
    for decoder, message in (
        (JointStateDecoder(JOINTS), joints),
        (PoseStampedDecoder(), pose),
        (WrenchStampedDecoder(), wrench),
        (FrankaStateDecoder(), state),
    ):
        data = serialize(message, little_endian)
        if warm:
            decoder.decode(data)
        for size in range(0, len(data) - 7, 3):
            with pytest.raises(TruncatedMessageError):
                decoder.decode(data[:size])


KINDS = st.one_of(
    st.tuples(st.builds(JointStateDecoder, st.just(JOINTS)), OF_THE_ARM),
    st.tuples(st.builds(PoseStampedDecoder), POSES),
    st.tuples(st.builds(FrankaStateDecoder), FRANKA_STATES),
)
CHANGES = st.lists(
    st.tuples(st.integers(0, 399), st.sampled_from([0, 1, 0x7F, 0x80, 0xFF])),
    min_size=1,
    max_size=5,
)


@settings(max_examples=60)
@given(KINDS, CHANGES)
def test_mutated_bytes_are_decoded_or_refused_with_a_typed_error(kind, changes):
    decoder, message = kind
    data = bytearray(serialize(message))
    decoder.decode(bytes(data))
    for position, value in changes:
        data[position % len(data)] = value
    with contextlib.suppress(RewardLearningError):
        decoder.decode(bytes(data))


@given(st.binary(max_size=400))
@example(b'\x00\x01\x00\x00' + bytes(300))
def test_random_bytes_are_decoded_or_refused_with_a_typed_error(data):
    for decoder in (JointStateDecoder(JOINTS), FrankaStateDecoder(), PoseStampedDecoder()):
        for encapsulated in (data, b'\x00\x01\x00\x00' + data):
            with contextlib.suppress(RewardLearningError):
                decoder.decode(encapsulated)


def test_a_hostile_count_is_refused_without_a_long_loop():
    header = b'\x00\x01\x00\x00' + bytes(8) + b'\x01\x00\x00\x00\x00\x00\x00\x00'
    with pytest.raises(TruncatedMessageError, match='name'):
        JointStateDecoder().decode(header + b'\xff\xff\xff\xff' + bytes(64))


@pytest.mark.parametrize('encapsulation', [b'\x00\x02', b'\x00\x03', b'\x00\x07', b'\xff\xff'])
def test_other_encapsulations_are_refused(encapsulation):
    with pytest.raises(EncapsulationError):
        PoseStampedDecoder().decode(encapsulation + bytes(100))


@settings(max_examples=25)
@given(OF_THE_ARM, POSES, WRENCHES)
def test_standard_types_agree_with_rclpy(joints, pose, wrench):
    serialization = pytest.importorskip('rclpy.serialization', reason='rclpy is not installed')
    from geometry_msgs.msg import PoseStamped, WrenchStamped
    from sensor_msgs.msg import JointState

    def told_by_rclpy(kind, message):
        return serialization.serialize_message(fill(kind(), message))

    record = JointStateDecoder().decode(told_by_rclpy(JointState, joints))
    parts = (tuple(joints.position), tuple(joints.velocity), tuple(joints.effort))
    assert record == (stamp_ns(joints), *parts)
    record = PoseStampedDecoder().decode(told_by_rclpy(PoseStamped, pose))
    assert record == (stamp_ns(pose), pose_of(pose.pose))
    record = WrenchStampedDecoder().decode(told_by_rclpy(WrenchStamped, wrench))
    assert record == (stamp_ns(wrench), wrench_of(wrench.wrench))


def fill(target, message):
    """Copy a message of one library into that of another."""
    for name in target.get_fields_and_field_types():
        value = getattr(message, name)
        if hasattr(value, '__msgtype__'):
            fill(getattr(target, name), value)
        else:
            setattr(target, name, value)
    return target

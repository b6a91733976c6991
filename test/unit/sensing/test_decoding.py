"""Decoding agrees with independent serializers and never reads beyond the bytes it was given."""

from __future__ import annotations

import numpy as np
import pytest
from random_messages import RandomMessages

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.sensing.decoding import (
    FrankaStateDecoder,
    JointStateDecoder,
    PoseStampedDecoder,
    WrenchStampedDecoder,
    joint_names,
)
from reward_learning_ros.sensing.errors import (
    DecodingError,
    EncapsulationError,
    TruncatedMessageError,
)

JOINTS = tuple(f'fr3_joint{number}' for number in range(1, 8))


@pytest.fixture
def messages() -> RandomMessages:
    return RandomMessages(np.random.default_rng(1))


def stamp_ns(message) -> int:
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec


@pytest.mark.parametrize('little_endian', [True, False])
def test_joint_states_agree_with_an_independent_serializer(messages, little_endian):
    decoder = JointStateDecoder()
    for _ in range(300):
        message = messages.joint_state()
        data = messages.serialize(message, little_endian)
        record = decoder.decode(data)
        assert record.time_ns == stamp_ns(message)
        assert record.position == tuple(message.position)
        assert record.velocity == tuple(message.velocity)
        assert record.effort == tuple(message.effort)
        assert joint_names(data) == tuple(message.name)


@pytest.mark.parametrize('little_endian', [True, False])
def test_poses_and_wrenches_agree_with_an_independent_serializer(messages, little_endian):
    poses, wrenches = PoseStampedDecoder(), WrenchStampedDecoder()
    for _ in range(200):
        pose = messages.message('geometry_msgs/msg/PoseStamped')
        record = poses.decode(messages.serialize(pose, little_endian))
        place, turn = pose.pose.position, pose.pose.orientation
        assert record.time_ns == stamp_ns(pose)
        assert record.pose == (place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w)
        wrench = messages.message('geometry_msgs/msg/WrenchStamped')
        record = wrenches.decode(messages.serialize(wrench, little_endian))
        force, torque = wrench.wrench.force, wrench.wrench.torque
        assert record.time_ns == stamp_ns(wrench)
        assert record.wrench == (force.x, force.y, force.z, torque.x, torque.y, torque.z)


@pytest.mark.parametrize('little_endian', [True, False])
def test_franka_robot_states_agree_with_an_independent_serializer(messages, little_endian):
    decoder = FrankaStateDecoder()
    for _ in range(60):
        message = messages.message('franka_msgs/msg/FrankaRobotState')
        record = decoder.decode(messages.serialize(message, little_endian))
        assert record.time_ns == stamp_ns(message)
        assert record.joint_position == tuple(message.measured_joint_state.position)
        assert record.joint_velocity == tuple(message.measured_joint_state.velocity)
        assert record.external_torque == tuple(message.tau_ext_hat_filtered.effort)
        wrench = message.o_f_ext_hat_k.wrench
        assert record.wrench == (
            *(wrench.force.x, wrench.force.y, wrench.force.z),
            *(wrench.torque.x, wrench.torque.y, wrench.torque.z),
        )
        for pose, expected in (
            (record.pose, message.o_t_ee.pose),
            (record.desired_pose, message.o_t_ee_d.pose),
        ):
            place, turn = expected.position, expected.orientation
            assert pose == (place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w)
        assert record.robot_mode == message.robot_mode


def test_joints_are_found_by_name_whatever_their_order(messages):
    rng = np.random.default_rng(4)
    decoder = JointStateDecoder(JOINTS)
    for _ in range(50):
        names = [*JOINTS, 'fr3_finger_joint1', 'fr3_finger_joint2']
        rng.shuffle(names)
        message = messages.joint_state(names, (9, 9, 0))
        record = decoder.decode(messages.serialize(message, True))
        by_name = dict(zip(names, message.position, strict=True))
        assert record.position == tuple(by_name[name] for name in JOINTS)
        assert record.effort == ()


def test_a_message_with_other_joints_is_refused_and_the_next_one_is_read(messages):
    decoder = JointStateDecoder(JOINTS)
    good = messages.serialize(messages.joint_state(JOINTS, (7, 7, 7)), True)
    foreign = messages.serialize(messages.joint_state((*JOINTS[:6], 'other'), (7, 7, 7)), True)
    ragged = messages.serialize(messages.joint_state(JOINTS, (7, 3, 7)), True)
    first = decoder.decode(good)
    for _ in range(2):
        with pytest.raises(DecodingError, match='fr3_joint7'):
            decoder.decode(foreign)
        with pytest.raises(DecodingError, match='velocity'):
            decoder.decode(ragged)
        assert decoder.decode(good) == first


def test_garbage_in_the_padding_changes_nothing(messages):
    message = messages.joint_state(['a', 'bc', 'def'], (3, 0, 3))
    data = bytearray(messages.serialize(message, True))
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


@pytest.mark.parametrize('warm', [True, False])
@pytest.mark.parametrize('little_endian', [True, False])
def test_every_truncation_is_an_error(messages, warm, little_endian):
    for decoder, message in (
        (JointStateDecoder(JOINTS), messages.joint_state(JOINTS, (7, 7, 7))),
        (PoseStampedDecoder(), messages.message('geometry_msgs/msg/PoseStamped')),
        (WrenchStampedDecoder(), messages.message('geometry_msgs/msg/WrenchStamped')),
        (FrankaStateDecoder(), messages.message('franka_msgs/msg/FrankaRobotState')),
    ):
        data = messages.serialize(message, little_endian)
        if warm:
            decoder.decode(data)
        last_needed = len(data) - 2 * 36 if isinstance(decoder, FrankaStateDecoder) else len(data)
        for size in range(0, last_needed - 7, 3):
            with pytest.raises(TruncatedMessageError):
                decoder.decode(data[:size])


def test_random_and_mutated_bytes_are_decoded_or_refused_with_a_typed_error(messages):
    rng = np.random.default_rng(8)
    decoders = [JointStateDecoder(JOINTS), FrankaStateDecoder(), PoseStampedDecoder()]
    sources = [
        messages.serialize(messages.joint_state(JOINTS, (7, 7, 7)), True),
        messages.serialize(messages.message('franka_msgs/msg/FrankaRobotState'), True),
        messages.serialize(messages.message('geometry_msgs/msg/PoseStamped'), True),
    ]
    refused = 0
    for trial in range(3000):
        which = trial % 3
        data = bytearray(sources[which])
        for _ in range(rng.integers(1, 6)):
            data[rng.integers(0, len(data))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF])
        if trial % 5 == 0:
            data = bytearray(rng.bytes(rng.integers(0, 400)))
        try:
            decoders[which].decode(bytes(data))
        except RewardLearningError:
            refused += 1
    assert 300 < refused < 3000


def test_a_hostile_count_is_refused_without_a_long_loop():
    header = b'\x00\x01\x00\x00' + bytes(8) + b'\x01\x00\x00\x00\x00\x00\x00\x00'
    with pytest.raises(TruncatedMessageError, match='name'):
        JointStateDecoder().decode(header + b'\xff\xff\xff\xff' + bytes(64))


@pytest.mark.parametrize('encapsulation', [b'\x00\x02', b'\x00\x03', b'\x00\x07', b'\xff\xff'])
def test_other_encapsulations_are_refused(encapsulation):
    with pytest.raises(EncapsulationError):
        PoseStampedDecoder().decode(encapsulation + bytes(100))


def test_standard_types_agree_with_rclpy():
    serialization = pytest.importorskip('rclpy.serialization', reason='rclpy is not installed')
    from geometry_msgs.msg import PoseStamped, WrenchStamped
    from sensor_msgs.msg import JointState

    rng = np.random.default_rng(9)
    joints, poses, wrenches = JointStateDecoder(), PoseStampedDecoder(), WrenchStampedDecoder()
    for _ in range(100):
        frame_id = 'b' * int(rng.integers(0, 12))
        values = rng.normal(size=7)
        state = JointState(name=list(JOINTS), position=values[:7], effort=2 * values[:7])
        state.header.frame_id = frame_id
        state.header.stamp.sec, state.header.stamp.nanosec = 7, int(rng.integers(0, 10**9))
        record = joints.decode(serialization.serialize_message(state))
        assert record.time_ns == stamp_ns(state)
        assert record == (record.time_ns, tuple(values), (), tuple(2 * values))
        pose = PoseStamped()
        pose.header = state.header
        place, turn = pose.pose.position, pose.pose.orientation
        place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w = map(float, values)
        assert poses.decode(serialization.serialize_message(pose)).pose == tuple(values)
        wrench = WrenchStamped()
        wrench.header = state.header
        force, torque = wrench.wrench.force, wrench.wrench.torque
        force.x, force.y, force.z, torque.x, torque.y, torque.z = map(float, values[:6])
        assert wrenches.decode(serialization.serialize_message(wrench)).wrench == tuple(values[:6])

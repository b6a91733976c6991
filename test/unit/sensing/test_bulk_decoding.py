"""Many messages decoded at once say what each says alone."""

from __future__ import annotations

import numpy as np
from random_messages import RandomMessages

from reward_learning_ros.sensing.bulk_decoding import BulkDecoder
from reward_learning_ros.sensing.decoding import (
    FRANKA_ROBOT_STATE,
    FrankaStateDecoder,
    JointStateDecoder,
    joint_names,
)
from reward_learning_ros.sensing.errors import DecodingError
from reward_learning_ros.sensing.layout import DOUBLES, STRING, STRINGS, Field

JOINTS = tuple(f'fr3_joint{number}' for number in range(1, 8))
JOINT_STATE = (
    Field('header.stamp.sec', 'i'),
    Field('header.stamp.nanosec', 'I'),
    Field('header.frame_id', STRING),
    Field('name', STRINGS),
    Field('position', DOUBLES),
    Field('velocity', DOUBLES),
    Field('effort', DOUBLES),
)


def in_buffer(messages, rng):
    """Messages somewhere in a buffer, with anything between them."""
    parts, start, end, position = [], [], [], 0
    for message in messages:
        gap = rng.bytes(int(rng.integers(0, 9)))
        parts += [gap, message]
        start.append(position + len(gap))
        position += len(gap) + len(message)
        end.append(position)
    return b''.join(parts), np.array(start), np.array(end)


def test_joint_states_of_changing_layouts_and_byte_orders_are_decoded_as_one_by_one():
    rng = np.random.default_rng(4)
    random = RandomMessages(rng)
    shapes = [(JOINTS, (7, 7, 7)), (JOINTS, (0, 0, 7)), (JOINTS[::-1], (7, 0, 7)), (None, None)]
    messages = [
        random.serialize(random.joint_state(*shapes[rng.integers(4)]), bool(rng.integers(2)))
        for _ in range(300)
    ]
    messages[17] = messages[17][:30]
    messages[40] = rng.bytes(200)
    buffer, start, end = in_buffer(messages, rng)
    decoder = BulkDecoder(JOINT_STATE, ['name', 'position', 'velocity', 'effort'])
    seen = set()
    # In several calls: what was learned of layouts is kept.
    for part in (slice(0, 100), slice(100, 300)):
        for decoded in decoder.decode(buffer, start[part], end[part]):
            for index, row in enumerate(decoded.rows + part.start):
                record = JointStateDecoder().decode(messages[row])
                assert decoded.time_ns[index] == record.time_ns
                assert decoded.strings == joint_names(messages[row])
                for name in ('position', 'velocity', 'effort'):
                    assert tuple(decoded.values[name][index]) == getattr(record, name)
                seen.add(int(row))
        for row in decoder.malformed:
            seen.add(row + part.start)
            try:
                JointStateDecoder().decode(messages[row + part.start])
            except DecodingError:
                continue
            raise AssertionError(f'message {row + part.start} can be read alone')
    assert seen == set(range(300))


def test_robot_states_are_decoded_as_one_by_one():
    rng = np.random.default_rng(5)
    random = RandomMessages(rng)
    messages = [random.serialize(random.franka_state(JOINTS)) for _ in range(40)]
    buffer, start, end = in_buffer(messages, rng)
    wanted = ['measured_joint_state.position', 'tau_ext_hat_filtered.effort', 'o_t_ee.pose']
    decoder = BulkDecoder(FRANKA_ROBOT_STATE, wanted)
    rows = 0
    for decoded in decoder.decode(buffer, start, end):
        for index, row in enumerate(decoded.rows):
            record = FrankaStateDecoder().decode(messages[row])
            assert decoded.time_ns[index] == record.time_ns
            assert tuple(decoded.values[wanted[0]][index]) == record.joint_position
            assert tuple(decoded.values[wanted[1]][index]) == record.external_torque
            assert tuple(decoded.values[wanted[2]][index]) == record.pose
            rows += 1
    assert rows == len(messages)

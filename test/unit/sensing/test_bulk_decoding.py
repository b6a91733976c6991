"""Many messages decoded at once say what each says alone."""

from __future__ import annotations

import numpy as np
from helpers.message_strategies import joint_states, messages, serialize, store
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reward_learning_ros.sensing.bulk_decoding import BulkDecoder
from reward_learning_ros.sensing.decoding import (
    FRANKA_ROBOT_STATE,
    FrankaStateDecoder,
    JointStateDecoder,
    joint_names,
)
from reward_learning_ros.sensing.message_layout import DOUBLES, STRING, STRINGS, Field
from reward_learning_ros.sensing.samples import DecodingError

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
# Few layouts that come again, so that some messages are decoded at once; any other; and what is
# none, or is cut off.
LAYOUTS = st.one_of(
    *(joint_states(JOINTS, sizes) for sizes in [(7, 7, 7), (0, 0, 7)]),
    joint_states(JOINTS[::-1], (7, 0, 7)),
    joint_states(),
)
WHOLE = st.builds(serialize, LAYOUTS, st.booleans())
RAW = st.one_of(
    WHOLE, WHOLE, st.binary(max_size=60), st.builds(lambda data: data[: len(data) // 2], WHOLE)
)
# Anything may stand between messages.
GAPS = st.binary(max_size=8)


def in_buffer(rows):
    """Return the bytes of gaps and messages, and where the messages begin and end."""
    parts, start, end, position = [], [], [], 0
    for gap, message in rows:
        parts += [gap, message]
        start.append(position + len(gap))
        position += len(gap) + len(message)
        end.append(position)
    return b''.join(parts), np.array(start, dtype=np.int64), np.array(end, dtype=np.int64)


@settings(max_examples=40)
@given(st.lists(st.tuples(GAPS, RAW), max_size=12), st.integers(0, 12))
def test_joint_states_of_changing_layouts_and_byte_orders_are_decoded_as_one_by_one(rows, cut):
    buffer, start, end = in_buffer(rows)
    decoder = BulkDecoder(JOINT_STATE, ['name', 'position', 'velocity', 'effort'])
    seen = []
    cut = min(cut, len(rows))
    # In several calls: what was learned of layouts is kept.
    for part in (slice(0, cut), slice(cut, len(rows))):
        for decoded in decoder.decode(buffer, start[part], end[part]):
            for index, row in enumerate((decoded.rows + part.start).tolist()):
                message = rows[row][1]
                record = JointStateDecoder().decode(message)
                assert decoded.time_ns[index] == record.time_ns
                assert decoded.strings == joint_names(message)
                for name in ('position', 'velocity', 'effort'):
                    np.testing.assert_array_equal(
                        decoded.values[name][index], getattr(record, name)
                    )
                seen.append(row)
        for row in decoder.malformed:
            seen.append(int(row) + part.start)
            try:
                JointStateDecoder().decode(rows[seen[-1]][1])
            except DecodingError:
                continue
            raise AssertionError(f'message {seen[-1]} can be read alone')
    assert sorted(seen) == list(range(len(rows)))


STATES = messages(
    'franka_msgs/msg/FrankaRobotState',
    **dict.fromkeys(
        (
            'measured_joint_state',
            'desired_joint_state',
            'measured_joint_motor_state',
            'tau_ext_hat_filtered',
        ),
        joint_states(JOINTS, (7, 7, 7)),
    ),
)


@settings(max_examples=6)
@given(st.lists(st.tuples(GAPS, st.builds(serialize, STATES)), min_size=1, max_size=3))
def test_robot_states_are_decoded_as_one_by_one(told):
    buffer, start, end = in_buffer(told)
    wanted = ['measured_joint_state.position', 'tau_ext_hat_filtered.effort', 'o_t_ee.pose']
    decoder = BulkDecoder(FRANKA_ROBOT_STATE, wanted)
    rows = 0
    for decoded in decoder.decode(buffer, start, end):
        for index, row in enumerate(decoded.rows):
            record = FrankaStateDecoder().decode(told[row][1])
            assert decoded.time_ns[index] == record.time_ns
            assert tuple(decoded.values[wanted[0]][index]) == record.joint_position
            assert tuple(decoded.values[wanted[1]][index]) == record.external_torque
            assert tuple(decoded.values[wanted[2]][index]) == record.pose
            rows += 1
    assert rows == len(told)


SPOILS = st.lists(
    st.tuples(st.integers(0, 399), st.sampled_from([0, 1, 0x41, 0x80, 0xFF])), max_size=3
)


def spoiled(message, changes):
    data = bytearray(message)
    for position, value in changes:
        data[position % len(data)] = value
    return bytes(data)


def alone(decoder, message):
    """Return what a decoder says of one message, None if it refuses it."""
    try:
        return decoder.decode(message)
    except DecodingError:
        return None


def in_bulk(decoder, message):
    span = np.array([0]), np.array([len(message)])
    found = [
        (int(row.time_ns[0]), *(tuple(row.values[part][0].tolist()) for part in PARTS))
        for row in decoder.decode(message, *span)
    ]
    return found[0] if found else None


PARTS = ('position', 'velocity', 'effort')
WHOLE_STATE = st.builds(serialize, joint_states(JOINTS, (7, 7, 7)))
UNTERMINATED = serialize(
    store().types['sensor_msgs/msg/JointState'](
        header=store().types['std_msgs/msg/Header'](
            stamp=store().types['builtin_interfaces/msg/Time'](1, 2), frame_id='base'
        ),
        name=list(JOINTS),
        **{part: np.arange(7.0) for part in PARTS},
    )
)


@settings(max_examples=60)
@given(WHOLE_STATE, SPOILS)
@example(UNTERMINATED, [(UNTERMINATED.index(b'base\0') + 4, 0x41)])
@example(UNTERMINATED, [(UNTERMINATED.index(b'joint3\0') + 5, 0xFF)])
def test_every_decoder_has_one_verdict_whatever_came_before(whole, changes):
    message = spoiled(whole, changes)
    verdicts = []
    for is_warm in (False, True):
        single = JointStateDecoder()
        bulk = BulkDecoder(JOINT_STATE, ['name', *PARTS])
        if is_warm:
            alone(single, whole)
            in_bulk(bulk, whole)
        verdicts += [alone(single, message), in_bulk(bulk, message)]
    # As text: a number that is none is not equal to itself.
    assert len({repr(verdict and tuple(verdict)) for verdict in verdicts}) == 1


def test_a_string_without_terminator_is_refused():
    place = UNTERMINATED.index(b'base\0') + 4
    warm = JointStateDecoder()
    assert alone(warm, UNTERMINATED) is not None
    assert alone(warm, spoiled(UNTERMINATED, [(place, 0x41)])) is None

"""Cases of messages: serialized by an independent library, right, hostile, or damaged."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_typestore

from benchmarks.fuzz.campaign import Target
from benchmarks.fuzz.mutation import NASTY, mutated
from reward_learning_ros import interface
from reward_learning_ros.interface.plan import diagnostic_of
from reward_learning_ros.interface.recorder import contact_diagnostic_of, recorder_diagnostic_of
from reward_learning_ros.interface.status import (
    Diagnostic,
    participant_diagnostic_of,
    session_diagnostic_of,
)
from reward_learning_ros.interface.theta import inference_diagnostic_of
from reward_learning_ros.recording.message_types import decode
from reward_learning_ros.recording.problems import TopicInBag
from reward_learning_ros.sensing.bulk_decoding import BulkDecoder
from reward_learning_ros.sensing.decoding import (
    JointStateDecoder,
    PoseStampedDecoder,
    WrenchStampedDecoder,
    joint_names,
)
from reward_learning_ros.sensing.message_layout import DOUBLES, STRING, STRINGS, Field
from reward_learning_ros.sensing.samples import DecodingError

_STATUS = 'diagnostic_msgs/msg/DiagnosticStatus'
_TABLE = 'std_msgs/msg/Float64MultiArray'
_JOINTS = 'sensor_msgs/msg/JointState'
_POSE = 'geometry_msgs/msg/PoseStamped'
_WRENCH = 'geometry_msgs/msg/WrenchStamped'
# What reads which type; the first byte of a case says which of them it is for.
_READERS: tuple[tuple[str, Callable[[Any], object]], ...] = (
    ('nav_msgs/msg/Path', interface.plan_from_message),
    ('trajectory_msgs/msg/MultiDOFJointTrajectory', interface.corrections_from_message),
    ('trajectory_msgs/msg/JointTrajectory', interface.joint_trajectory_from_message),
    ('geometry_msgs/msg/Vector3Stamped', interface.deformation_from_message),
    (_POSE, interface.pose_reading_from_message),
    (_WRENCH, interface.wrench_reading_from_message),
    (_JOINTS, interface.joint_reading_from_message),
    ('diagnostic_msgs/msg/DiagnosticArray', interface.diagnostic_report_from_message),
    (_TABLE, interface.theta_summary_from_message),
    (_TABLE, interface.theta_samples_from_message),
    (_STATUS, interface.playback_status_from_message),
    (_STATUS, interface.session_status_from_message),
    (_STATUS, interface.inference_status_from_message),
    (_STATUS, interface.participant_status_from_message),
    (_STATUS, interface.recorder_status_from_message),
    (_STATUS, interface.contact_from_message),
)
_JOINT_FIELDS = (
    Field('header.stamp.sec', 'i'),
    Field('header.stamp.nanosec', 'I'),
    Field('header.frame_id', STRING),
    Field('name', STRINGS),
    Field('position', DOUBLES),
    Field('velocity', DOUBLES),
    Field('effort', DOUBLES),
)
_NUMBERS = st.one_of(st.floats(-2, 2), st.floats(), st.sampled_from([0.0, 1.0, -1.0]))
_TEXTS = st.one_of(
    st.sampled_from([text for text in NASTY if '\0' not in text and 'ud800' not in text]),
    st.sampled_from(['fr3_link0', 'fr3_hand_tcp', 'features', 'samples', '1']),
    st.text(st.characters(exclude_characters='\0', exclude_categories=['Cs']), max_size=8),
)


@cache
def _store() -> Any:
    return get_typestore(Stores.ROS2_HUMBLE)


def _serialized(message: Any) -> bytes:
    return bytes(_store().serialize_cdr(message, message.__msgtype__))


def _messages(type_name: str) -> st.SearchStrategy[Any]:
    """Return messages of a type with anything in their fields."""
    fields = {
        name: _values(node, detail) for name, (node, detail) in _store().fielddefs[type_name][1]
    }
    return st.builds(_store().types[type_name], **fields)


def _values(node: Nodetype, detail: Any) -> st.SearchStrategy[Any]:
    if node == Nodetype.NAME:
        return _messages(detail)
    if node == Nodetype.ARRAY:
        return st.lists(_NUMBERS, min_size=detail[1], max_size=detail[1]).map(np.array)
    if node == Nodetype.SEQUENCE:
        (inner, name), _ = detail
        if inner == Nodetype.BASE and name[0] == 'float64':
            return st.lists(_NUMBERS, max_size=9).map(np.array)
        return st.lists(_values(inner, name), max_size=3)
    return {
        'string': _TEXTS,
        'float64': _NUMBERS,
        'bool': st.booleans(),
        'octet': st.integers(0, 127),
        'byte': st.integers(0, 127),
        'uint8': st.integers(0, 255),
        'int32': st.one_of(st.integers(0, 9), st.integers(-(2**31), 2**31 - 1)),
        'uint32': st.one_of(st.integers(0, 9), st.integers(0, 2**32 - 1)),
    }[detail[0]]


def _statuses() -> tuple[Diagnostic, ...]:
    """Return a status of each kind, as it should be."""
    return (
        diagnostic_of(interface.PlaybackStatus(state='fault', fault='a reflex')),
        session_diagnostic_of(interface.SessionStatus(state='ended', end='accepted')),
        inference_diagnostic_of(
            interface.InferenceStatus(
                state='waiting', event='learned', corrections_ns=(1, 2), considered_ns=(1,)
            )
        ),
        participant_diagnostic_of(
            interface.ParticipantStatus(state='pushing', theta=[0.5, 0.5], beta=10.0, pushes=1)
        ),
        recorder_diagnostic_of(interface.RecorderStatus(in_contact=True, plan_stamp_ns=1)),
        contact_diagnostic_of(
            interface.ContactReport(
                plan_stamp_ns=1,
                onset_ns=2,
                onset_plan_sec=0.5,
                duration_sec=1.0,
                displacement_m=[0.1, 0.0, 0.0],
                peak_force_n=9.0,
                confidence=1.0,
                source='measured',
            )
        ),
    )


def _status_message(
    diagnostic: Diagnostic, level: int, changes: list[tuple[str, str, str]]
) -> Any:
    values = [(key, value) for key, value in diagnostic.values.items()]
    for kind, key, text in changes:
        if kind == 'replace':
            values = [(name, text if name == key else value) for name, value in values]
        elif kind == 'drop':
            values = [(name, value) for name, value in values if name != key]
        else:
            values.append((key, text))
    types = _store().types
    return types[_STATUS](
        level=level,
        name=diagnostic.name,
        message='',
        hardware_id='',
        values=[types['diagnostic_msgs/msg/KeyValue'](key=k, value=v) for k, v in values],
    )


@st.composite
def _status_cases(draw: st.DrawFn) -> bytes:
    diagnostic = draw(st.sampled_from(_statuses()))
    keys = st.sampled_from(sorted(diagnostic.values))
    kinds = st.sampled_from(['replace', 'replace', 'replace', 'drop', 'double'])
    numbers = st.one_of(_TEXTS, st.integers(-3, 2**65).map(str), _NUMBERS.map(repr))
    changes = draw(st.lists(st.tuples(kinds, keys, numbers), max_size=4))
    message = _status_message(diagnostic, draw(st.integers(0, 3)), changes)
    reader = draw(st.integers(len(_READERS) - len(_statuses()), len(_READERS) - 1))
    return bytes([reader]) + _serialized(message)


@st.composite
def _typed_cases(draw: st.DrawFn) -> bytes:
    index = draw(st.integers(0, len(_READERS) - 1))
    return bytes([index]) + _serialized(draw(_messages(_READERS[index][0])))


def _damaged(cases: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    # The first byte says what reads it, and stays.
    return cases.flatmap(lambda case: mutated([case[1:]]).map(lambda rest: case[:1] + rest))


def _check_conversion(case: bytes) -> None:
    type_name, read = _READERS[case[0] % len(_READERS)] if case else _READERS[0]
    read(decode(TopicInBag(name='/fuzz', type_name=type_name), case[1:]))


@st.composite
def _sample_cases(draw: st.DrawFn) -> bytes:
    type_name = draw(st.sampled_from([_JOINTS, _POSE, _WRENCH]))
    return _serialized(draw(_messages(type_name)))


def _check_samples(case: bytes) -> None:
    """Read bytes as each kind of sample, alone and in bulk: one verdict."""
    for decoder in (PoseStampedDecoder(), WrenchStampedDecoder()):
        try:
            decoder.decode(case)
        except DecodingError:
            continue
    bulk = BulkDecoder(_JOINT_FIELDS, ['name', 'position', 'velocity', 'effort'])
    # Twice: what was learned of the first must not change what is said of the second.
    for _ in range(2):
        rows = list(bulk.decode(case, np.array([0]), np.array([len(case)])))
        try:
            record = JointStateDecoder().decode(case)
        except DecodingError:
            if rows:
                raise AssertionError('read in bulk, but not alone') from None
            continue
        if not rows:
            raise AssertionError(f'read alone, but not in bulk: {bulk.malformed}')
        (row,) = rows
        same = row.time_ns[0] == record.time_ns and row.strings == joint_names(case)
        for name in ('position', 'velocity', 'effort'):
            same &= np.array_equal(row.values[name][0], getattr(record, name), equal_nan=True)
        if not same:
            raise AssertionError('read differently alone and in bulk')


_CASES = st.one_of(_typed_cases(), _status_cases())
TARGETS = (
    Target(
        name='conversions',
        reads='messages of every type that the nodes and recordings read',
        cases=st.one_of(_CASES, _CASES, _damaged(_CASES)),
        check=_check_conversion,
    ),
    Target(
        name='cdr',
        reads='serialized samples of the arm, alone and in bulk',
        cases=st.one_of(
            _sample_cases(),
            _sample_cases().flatmap(lambda case: mutated([case])),
            st.binary(max_size=80),
        ),
        check=_check_samples,
    ),
)

"""A record is either right or refused, and nobody can change it afterwards."""

from __future__ import annotations

import dataclasses
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import random_records

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import (
    InferenceStatus,
    MessageError,
    ParticipantStatus,
    PlaybackState,
    RecordError,
    RecorderStatus,
    contact_from_message,
    data_digest,
    inference_status_from_message,
    participant_status_from_message,
    recorder_status_from_message,
)
from reward_learning_ros.interface.recorder import contact_diagnostic_of, recorder_diagnostic_of
from reward_learning_ros.interface.status import participant_diagnostic_of
from reward_learning_ros.interface.theta import inference_diagnostic_of

MAKERS = {
    **random_records.ALL,
    'correction': random_records.correction,
}
CASES = [(name, seed) for name in MAKERS for seed in range(5)]
# How many features there are, only the task knows.
OF_ANY_LENGTH = {('participant_status', 'theta')}


def array_fields(record):
    return [
        field.name
        for field in dataclasses.fields(record)
        if isinstance(getattr(record, field.name), np.ndarray)
    ]


@pytest.mark.parametrize(('name', 'seed'), CASES)
def test_arrays_are_read_only_copies_of_float64(name, seed):
    record = MAKERS[name](np.random.default_rng(seed))
    for field in array_fields(record):
        array = getattr(record, field)
        assert array.dtype == np.float64
        with pytest.raises(ValueError, match='read-only'):
            array[...] = 0.0
        mine = np.array(array)
        again = dataclasses.replace(record, **{field: mine})
        mine[...] = 0.123
        assert again == record


@pytest.mark.parametrize(('name', 'seed'), CASES)
def test_equality_is_by_value(name, seed):
    record = MAKERS[name](np.random.default_rng(seed))
    assert record == MAKERS[name](np.random.default_rng(seed))
    for field in array_fields(record):
        if field == 'times_sec':
            changed = getattr(record, field) + 1e-6
        else:
            changed = getattr(record, field) * (1 - 1e-12)
        assert dataclasses.replace(record, **{field: changed}) != record


@pytest.mark.parametrize(('name', 'seed'), CASES)
def test_a_number_that_is_not_finite_is_refused_wherever_it_stands(name, seed):
    rng = np.random.default_rng(seed)
    record = MAKERS[name](rng)
    for field in array_fields(record):
        array = np.array(getattr(record, field))
        place = tuple(int(rng.integers(size)) for size in array.shape)
        array[place] = rng.choice([math.nan, math.inf, -math.inf])
        with pytest.raises(RecordError, match=rf'{field}\[{place[0]}\].*must be finite') as caught:
            dataclasses.replace(record, **{field: array})
        assert isinstance(caught.value, RewardLearningError)


@pytest.mark.parametrize(('name', 'seed'), CASES)
def test_a_wrong_or_empty_shape_is_refused(name, seed):
    record = MAKERS[name](np.random.default_rng(seed))
    for field in array_fields(record):
        array = getattr(record, field)
        shapes = [array[None], array[:0], 'text', 1.0]
        if (name, field) not in OF_ANY_LENGTH:
            shapes.append(array[..., :-1])
        # Of a pass nothing may be known: without times, it is the deltas that are too many.
        named = f'{field}|delta_positions' if name == 'corrections' else field
        for wrong in shapes:
            with pytest.raises(RecordError, match=named):
                dataclasses.replace(record, **{field: wrong})


def test_wrong_numbers_of_rows_are_refused():
    plan = random_records.plan(np.random.default_rng(0), count=4)
    for field in ('positions', 'orientations', 'times_sec'):
        with pytest.raises(RecordError, match=r'must have \d'):
            dataclasses.replace(plan, **{field: getattr(plan, field)[:-1]})


@pytest.mark.parametrize('factor', [0.0, 0.99, 1.01, 1000.0])
def test_a_quaternion_that_is_not_of_unit_length_is_refused(factor):
    plan = random_records.plan(np.random.default_rng(0), count=4)
    orientations = np.array(plan.orientations)
    orientations[2] *= factor
    with pytest.raises(RecordError, match=re.escape('Plan.orientations[2]')):
        dataclasses.replace(plan, orientations=orientations)


@pytest.mark.parametrize(
    ('times', 'row'),
    [([0, 1, 1, 2], 2), ([0, 2, 1, 3], 2), ([-0.1, 0, 1, 2], 0), ([0, 1, 2, 2 + 1e-11], 3)],
)
def test_times_must_increase_from_zero_by_at_least_a_nanosecond(times, row):
    plan = random_records.plan(np.random.default_rng(0), count=4)
    with pytest.raises(RecordError, match=re.escape(f'Plan.times_sec[{row}]')):
        dataclasses.replace(plan, times_sec=times)


@pytest.mark.parametrize(
    ('name', 'changes'),
    [
        ('plan', {'frame_id': ''}),
        ('plan', {'stamp_ns': -1}),
        ('plan', {'stamp_ns': 1.5}),
        ('plan', {'stamp_ns': 2**31 * 10**9}),
        ('correction', {'onset_waypoint': 99}),
        ('correction', {'onset_waypoint': -1}),
        ('correction', {'onset_waypoint': 1.0}),
        ('correction', {'duration_sec': -1.0}),
        ('correction', {'peak_force': math.nan}),
        ('correction', {'confidence': 1.1}),
        ('correction', {'tool_frame': 'tool?x=1'}),
        ('corrections', {'tool_frame': 'tool?x=1'}),
        ('corrections', {'plan_stamp_ns': -1}),
        ('corrections', {'frame_id': ''}),
        ('contact', {'confidence': 1.1}),
        ('contact', {'duration_sec': -1.0}),
        ('contact', {'displacement_m': [0.0, math.nan, 0.0]}),
        ('contact', {'onset_ns': 1.5}),
        ('inference_status', {'pushes': -1}),
        ('playback_status', {'state': 'dancing', 'fault': ''}),
        ('playback_status', {'state': PlaybackState.FAULT, 'fault': ''}),
        ('playback_status', {'state': PlaybackState.IDLE, 'fault': 'why'}),
        ('playback_status', {'faults': -1}),
        ('playback_status', {'progress': 1.5}),
        ('theta_samples', {'features': ()}),
        ('theta_samples', {'features': 'abc'}),
        ('theta_summary', {'sd': [-1.0]}),
        ('diagnostic', {'level': 7}),
        ('diagnostic', {'name': ''}),
        ('diagnostic_report', {'diagnostics': ()}),
    ],
)
def test_a_bad_value_is_refused_with_its_field(name, changes):
    record = MAKERS[name](np.random.default_rng(1))
    with pytest.raises(RecordError) as caught:
        dataclasses.replace(record, **changes)
    assert caught.value.field in changes


@pytest.mark.parametrize('features', [('a', 'a'), ('a,b', 'c'), (' a', 'b'), ('', 'b')])
def test_feature_names_must_survive_a_label(features):
    samples = random_records.theta_samples(np.random.default_rng(0))
    with pytest.raises(RecordError, match='features'):
        dataclasses.replace(samples, features=features, samples=np.zeros((3, 2)))


def test_records_of_different_kinds_differ():
    rng = np.random.default_rng(0)
    assert random_records.pose_reading(rng) != random_records.wrench_reading(rng)


@pytest.mark.parametrize(
    ('heard', 'counts', 'expected'),
    [
        (3, (1, 2, 3), (1, 2, 3)),
        # The second was undone.
        (3, (1, 3), (1, 3)),
        # The third came after the inference had spoken last, perhaps before it was killed.
        (2, (1,), (1, 3)),
        (0, (), (1, 2, 3)),
    ],
)
def test_a_recording_tells_which_passes_are_active(heard, counts, expected):
    status = InferenceStatus(state='waiting', corrections_ns=counts, heard=heard)
    # A recorder that was started again hears what is latched once more.
    assert status.active_among([1, 2, 2, 3, 1]) == expected


def status_message(record_diagnostic, **changes):
    """Return a status as a message, with some of its values changed."""
    values = {**record_diagnostic.values, **changes}
    return SimpleNamespace(
        level=int(record_diagnostic.level),
        name=record_diagnostic.name,
        message='',
        hardware_id='',
        values=[SimpleNamespace(key=key, value=value) for key, value in values.items()],
    )


PARTICIPANT = participant_diagnostic_of(ParticipantStatus(state='watching', theta=[1.0], beta=1.0))
INFERENCE = inference_diagnostic_of(InferenceStatus(state='waiting'))
CONTACT = contact_diagnostic_of(random_records.contact(np.random.default_rng(0)))
RECORDER = recorder_diagnostic_of(RecorderStatus(in_contact=False))
# Numbers and texts that anybody on the network can send.
HOSTILE_NUMBERS = ['9' * 5000, str(2**63), '٣', '²', '-1', '1e5', '']


@pytest.mark.parametrize('text', HOSTILE_NUMBERS)
@pytest.mark.parametrize(
    ('read', 'diagnostic', 'field'),
    [
        (participant_status_from_message, PARTICIPANT, 'pushes'),
        (inference_status_from_message, INFERENCE, 'heard'),
        (inference_status_from_message, INFERENCE, 'pushes'),
        (contact_from_message, CONTACT, 'plan_stamp_ns'),
        (contact_from_message, CONTACT, 'onset_ns'),
        (inference_status_from_message, INFERENCE, 'plan_stamp_ns'),
        (inference_status_from_message, INFERENCE, 'corrections_ns'),
        (recorder_status_from_message, RECORDER, 'plan_stamp_ns'),
    ],
)
def test_what_is_no_number_of_63_bits_is_refused_with_its_field(read, diagnostic, field, text):
    if field == 'corrections_ns':
        text = f'5,{text}x'
    with pytest.raises(MessageError, match=field) as caught:
        read(status_message(diagnostic, **{field: text}))
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    'text', ['[' * 5000, '[' * 100_000, '9' * 5000, f'[{10**400}]', '{"a": 1}', '[[1]]', 'NaN', '']
)
def test_a_theta_that_is_no_list_of_numbers_is_refused(text):
    with pytest.raises(MessageError, match='theta') as caught:
        participant_status_from_message(status_message(PARTICIPANT, theta=text))
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ('field', 'value'),
    [
        ('times_sec', [0.0, 1.0, 2.0**31]),
        ('times_sec', [0.0, 1.0, 1e300]),
        ('duration_sec', 1e308),
        ('duration_sec', 10**400),
        ('onset_time_sec', 1e300),
        ('delta_positions', [[0.0] * 3, [0.0, 1e12, 0.0], [0.0] * 3]),
    ],
)
def test_times_and_deltas_that_no_message_or_arm_can_have_are_refused(field, value):
    correction = random_records.correction(np.random.default_rng(0), count=3)
    with pytest.raises(RecordError, match=field):
        dataclasses.replace(correction, **{field: value})


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('size', [1e200, 1e308])
def test_a_quaternion_too_long_for_a_number_is_refused_without_a_warning(size):
    plan = random_records.plan(np.random.default_rng(0), count=2)
    with pytest.raises(RecordError, match='unit quaternion'):
        dataclasses.replace(plan, orientations=[[0, 0, 0, 1], [size, size, 0, 0]])


@pytest.mark.parametrize('seed', range(5))
def test_a_digest_changes_with_every_number_and_not_without(seed):
    rng = np.random.default_rng(seed)
    first, second = random_records.corrections(rng), random_records.corrections(rng)
    assert data_digest([]) == ''
    assert data_digest([first]) == data_digest([dataclasses.replace(first)])
    assert data_digest([first, second]) not in {
        data_digest([second, first]),
        data_digest([first]),
        data_digest([second]),
    }
    assert dataclasses.replace(first, plan_stamp_ns=1).digest != first.digest
    for field in ('times_sec', 'delta_positions', 'delta_orientations'):
        changed = np.array(getattr(first, field))
        changed[-1] = np.nextafter(changed[-1], np.inf)
        other = dataclasses.replace(first, **{field: changed})
        assert (other.digest == first.digest) == (other == first)


@pytest.mark.parametrize('seed', range(5))
def test_the_identity_alone_is_silence(seed):
    record = random_records.corrections(np.random.default_rng(seed), count=9)
    silent = (np.array(record.delta_positions) == 0.0).all(axis=1)
    np.testing.assert_array_equal(record.is_push, ~silent)
    assert record.pushes == (~silent).sum()
    # The digest and silence do not depend on the sign of a zero.
    negated = np.where(record.delta_positions == 0.0, -0.0, record.delta_positions)
    again = dataclasses.replace(record, delta_positions=negated)
    assert again.pushes == record.pushes
    assert again.digest == record.digest

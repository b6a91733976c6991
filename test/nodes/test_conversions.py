"""Every record survives the wire unchanged, and no bad message becomes a record."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pytest
from diagnostic_msgs.msg import KeyValue
from geometry_msgs.msg import PoseStamped
from helpers import random_records
from hypothesis import given, settings
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from rosbags.typesys import Stores, get_typestore
from visualization_msgs.msg import Marker

from reward_learning_ros import interface
from reward_learning_ros.interface import MessageError, RecordError
from reward_learning_ros.interface.correction import joint_name_of
from reward_learning_ros.nodes import conversions, markers

SEEDS = st.integers(0, 2**32 - 1)
IN_A_FRAME = ('plan', 'corrections', 'deformation', 'pose_reading', 'wrench_reading')


@pytest.fixture(scope='module')
def typestore():
    return get_typestore(Stores.ROS2_JAZZY)


def to_message(name, record):
    return getattr(conversions, f'{name}_to_message')(record)


def from_message(name, message, **options):
    return getattr(interface, f'{name}_from_message')(message, **options)


def read_without_ros(typestore, message):
    """Return a message as rosbags reads it from its serialized form."""
    package = type(message).__module__.split('.')[0]
    definition = typestore.get_msgdef(f'{package}/msg/{type(message).__name__}')
    # Not typestore.deserialize_cdr: rclpy leaves up to eight bytes behind a last array that is
    # empty, and rosbags refuses more than three.
    raw = serialize_message(message)
    return definition.deserialize_cdr_le(raw[4:], 0, definition.cls, typestore)[0]


def sample(name, seed=0, **options):
    """Return a message with a random record in it."""
    record = random_records.ALL[name](np.random.default_rng(seed), **options)
    return to_message(name, record)


def legacy_message(correction):
    """Return the message of one contact, as it was published before passes were."""
    message = conversions.corrections_to_message(correction)
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(correction.stamp_ns, 10**9)
    message.joint_names = [joint_name_of(correction)]
    return message


@settings(max_examples=25)
@given(seed=SEEDS)
def test_a_correction_of_an_older_recording_is_read(seed, typestore):
    correction = random_records.correction(np.random.default_rng(seed))
    message = legacy_message(correction)
    assert from_message('corrections', message) == correction
    assert from_message('corrections', read_without_ros(typestore, message)) == correction


def test_nothing_known_of_a_pass_is_read_as_that():
    record = random_records.corrections(np.random.default_rng(0))
    empty = dataclasses.replace(record, times_sec=[], delta_positions=[], delta_orientations=[])
    assert from_message('corrections', to_message('corrections', empty)) == empty


@pytest.mark.parametrize('name', random_records.ALL)
@settings(max_examples=25)
@given(seed=SEEDS)
def test_a_record_survives_serialization(name, seed):
    record = random_records.ALL[name](np.random.default_rng(seed))
    message = to_message(name, record)
    received = deserialize_message(serialize_message(message), type(message))
    assert from_message(name, received) == record


@pytest.mark.parametrize('name', random_records.ALL)
@settings(max_examples=25)
@given(seed=SEEDS)
def test_a_recording_is_read_without_ros(typestore, name, seed):
    record = random_records.ALL[name](np.random.default_rng(seed))
    read = read_without_ros(typestore, to_message(name, record))
    assert from_message(name, read) == record


@pytest.mark.parametrize('name', IN_A_FRAME)
def test_another_frame_is_refused(name):
    message = sample(name)
    assert from_message(name, message, frame_id=random_records.FRAME) is not None
    with pytest.raises(MessageError, match=r"header\.frame_id = 'fr3_link0': must be 'world'"):
        from_message(name, message, frame_id='world')


@pytest.mark.parametrize('name', IN_A_FRAME)
def test_no_frame_is_refused(name):
    message = sample(name)
    message.header.frame_id = ''
    if name == 'plan':
        for pose in message.poses:
            pose.header.frame_id = ''
    with pytest.raises(MessageError, match=r"header\.frame_id = ''"):
        from_message(name, message)


def set_nested(message, path, value):
    """Set a field such as `poses[1].pose.position.x`."""
    *parents, last = re.findall(r'\w+', path)
    for part in parents:
        message = message[int(part)] if part.isdigit() else getattr(message, part)
    if last.isdigit():
        message[int(last)] = value
    else:
        setattr(message, last, value)


@pytest.mark.parametrize('value', [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    ('name', 'path', 'named'),
    [
        ('plan', 'poses[1].pose.position.y', 'nav_msgs/Path: poses[1].pose.position'),
        ('plan', 'poses[1].pose.orientation.w', 'nav_msgs/Path: poses[1].pose.orientation'),
        (
            'corrections',
            'points[2].transforms[0].translation.z',
            'trajectory_msgs/MultiDOFJointTrajectory: points[2].transforms[0].translation',
        ),
        (
            'corrections',
            'points[0].transforms[0].rotation.x',
            'trajectory_msgs/MultiDOFJointTrajectory: points[0].transforms[0].rotation',
        ),
        ('deformation', 'vector.x', 'geometry_msgs/Vector3Stamped: vector'),
        ('pose_reading', 'pose.position.x', 'geometry_msgs/PoseStamped: pose.position'),
        ('pose_reading', 'pose.orientation.x', 'geometry_msgs/PoseStamped: pose.orientation'),
        ('wrench_reading', 'wrench.force.z', 'geometry_msgs/WrenchStamped: wrench.force'),
        ('wrench_reading', 'wrench.torque.z', 'geometry_msgs/WrenchStamped: wrench.torque'),
        ('theta_summary', 'data[0]', 'std_msgs/Float64MultiArray: data, mean'),
        ('theta_samples', 'data[0]', 'std_msgs/Float64MultiArray: data, draw 0'),
        (
            'joint_trajectory',
            'points[0].positions[0]',
            'trajectory_msgs/JointTrajectory: points[0].positions',
        ),
    ],
)
def test_a_number_that_is_not_finite_is_refused_by_message_and_field(name, path, named, value):
    options = {'count': 4} if name in ('plan', 'corrections') else {}
    message = sample(name, **options)
    set_nested(message, path, value)
    with pytest.raises(MessageError, match='must be finite') as caught:
        from_message(name, message)
    assert str(caught.value).startswith(f'{named} = ')
    assert str(value) in str(caught.value)


@pytest.mark.parametrize(
    ('name', 'path', 'value', 'expected'),
    [
        ('plan', 'poses', [], r'poses.*empty'),
        ('plan', 'poses[2].pose.orientation.w', 3.0, r'poses\[2\]\.pose\.orientation.*unit'),
        ('plan', 'poses[2].header.stamp.sec', 0, r'poses\[2\]\.header\.stamp.*greater than'),
        ('plan', 'poses[2].header.frame_id', 'world', r'poses\[2\]\.header\.frame_id.*fr3_link0'),
        ('plan', 'header.stamp.sec', -1, r'header\.stamp'),
        ('corrections', 'joint_names', [], r'joint_names = \[\]: must be one'),
        ('corrections', 'joint_names', ['a', 'b'], 'joint_names'),
        ('corrections', 'joint_names[0]', '', r'joint_names\[0\]'),
        ('corrections', 'joint_names[0]', 'tool?x=1', r'joint_names\[0\].*plan_stamp_ns='),
        ('corrections', 'points[1].transforms', [], r'points\[1\]\.transforms = .0 transforms'),
        ('corrections', 'points[1].transforms[0].rotation.w', 9.0, r'rotation.*unit quaternion'),
        ('corrections', 'points[2].time_from_start.sec', 0, r'points\[2\]\.time_from_start'),
        ('theta_summary', 'layout.dim', [], r'layout\.dim = \[\]: must be two'),
        ('theta_summary', 'layout.dim[0].label', 'row', r"layout\.dim\[0\]\.label = 'row'"),
        ('theta_summary', 'layout.dim[0].label', 'statistic: sd', r'must be .statistic: mean, sd'),
        ('theta_summary', 'layout.dim[1].label', 'feature', r'layout\.dim\[1\]\.size'),
        ('theta_summary', 'layout.dim[1].stride', 99, r'layout\.dim\[1\]\.stride = 99'),
        ('theta_summary', 'data', [], 'data = .0 values'),
        ('theta_samples', 'data', [1.0], 'data = .1 values'),
        ('theta_samples', 'layout.dim[0].label', 'statistic', r"must begin with 'draw'"),
        ('joint_trajectory', 'points', [], 'points.*empty'),
        ('joint_trajectory', 'joint_names', [], 'points.*must have 0 values'),
        ('joint_trajectory', 'points[0].positions', [], r'points\[0\]\.positions = \[\]'),
        ('joint_reading', 'name', [], r'name = \(\)'),
        ('joint_reading', 'name', ['a', 'a'], r'each name once'),
        ('joint_reading', 'effort', [1.0] * 99, r'effort.*has shape \(99,\)'),
        ('pose_reading', 'pose.orientation.x', 5.0, r'pose\.orientation.*unit quaternion'),
        ('diagnostic', 'level', b'\x07', r'level = 7: must be one of 0 \(OK\)'),
        ('diagnostic', 'name', '', "name = ''"),
        ('diagnostic_report', 'status', [], r'status = \(\)'),
        ('playback_status', 'values', [], 'values.*must have state'),
    ],
)
def test_a_bad_field_is_refused_by_name(name, path, value, expected):
    options = {'count': 4} if name in ('plan', 'corrections') else {}
    message = sample(name, **options)
    set_nested(message, path, value)
    with pytest.raises(MessageError, match=expected):
        from_message(name, message)


@pytest.mark.parametrize(
    ('attribute', 'text'),
    [
        ('confidence', '1.5'),
        ('confidence', 'nan'),
        ('peak_force', 'strong'),
        ('onset_waypoint', '1.5'),
        ('onset_waypoint', '4'),
        ('plan_stamp_ns', '-1'),
        ('duration_sec', ''),
    ],
)
def test_a_bad_attribute_of_a_correction_is_refused_by_name(attribute, text):
    message = legacy_message(random_records.correction(np.random.default_rng(0), count=4))
    message.joint_names[0] = re.sub(
        rf'{attribute}=[^&]*', f'{attribute}={text}', message.joint_names[0]
    )
    with pytest.raises(MessageError, match=rf'joint_names\[0\], {attribute} = '):
        from_message('corrections', message)


@pytest.mark.parametrize(
    ('key', 'text'),
    [('state', 'dancing'), ('progress', '2'), ('progress', 'half'), ('plan_stamp_ns', '1.5')],
)
def test_a_bad_value_of_a_status_is_refused_by_name(key, text):
    message = sample('playback_status')
    for item in message.values:
        if item.key == key:
            item.value = text
    with pytest.raises(MessageError, match=f'values, {key} = '):
        from_message('playback_status', message)


def test_a_key_that_is_there_twice_is_refused():
    message = sample('diagnostic')
    message.values.append(KeyValue(key='r_hat', value='1.0'))
    with pytest.raises(MessageError, match=r'values\[4\]\.key'):
        from_message('diagnostic', message)


def test_the_offset_of_an_array_is_skipped():
    samples = random_records.theta_samples(np.random.default_rng(0))
    message = to_message('theta_samples', samples)
    message.layout.data_offset = 3
    message.data = [9.0, 9.0, 9.0, *message.data]
    assert from_message('theta_samples', message) == samples


def test_poses_without_a_frame_are_in_the_frame_of_the_path():
    plan = random_records.plan(np.random.default_rng(0), count=3)
    message = to_message('plan', plan)
    for pose in message.poses:
        assert isinstance(pose, PoseStamped)
        pose.header.frame_id = ''
    assert from_message('plan', message) == plan


def test_markers_replace_what_was_shown_and_have_unique_names():
    rng = np.random.default_rng(0)
    plan = random_records.plan(rng, count=5)
    corrections = [random_records.correction(rng, count=5) for _ in range(3)]
    scene = [random_records.scene_object(rng) for _ in range(3)]
    message = markers.marker_array(
        [
            *markers.plan_markers(plan),
            *markers.ideal_markers(plan),
            *markers.correction_markers(plan, corrections),
            *markers.scene_markers(plan.frame_id, scene),
        ]
    )
    received = deserialize_message(serialize_message(message), type(message))
    first, *shown = received.markers
    assert first.action == Marker.DELETEALL
    assert len({(marker.ns, marker.id) for marker in shown}) == len(shown)
    assert {marker.ns.split('/')[0] for marker in shown} == {
        'plan',
        'ideal',
        'corrections',
        'scene',
    }
    for marker in shown:
        assert marker.header.frame_id == plan.frame_id
        assert marker.color.a > 0
        orientation = marker.pose.orientation
        length = np.linalg.norm([orientation.x, orientation.y, orientation.z, orientation.w])
        assert length == pytest.approx(1.0)


def test_arrows_go_from_the_plan_to_the_corrected_waypoints():
    rng = np.random.default_rng(0)
    plan = random_records.plan(rng, count=5)
    # Some shifts are below a millimetre: they have no arrow.
    deltas = rng.normal(size=(5, 3)) * np.array([1e-1, 1e-5, 1e-2, 1e-6, 1.0])[:, None]
    correction = dataclasses.replace(
        random_records.correction(rng, count=5), delta_positions=deltas
    )
    large = np.linalg.norm(correction.delta_positions, axis=1) >= 0.001
    arrows = markers.correction_markers(plan, [correction])
    found = np.array([[(p.x, p.y, p.z) for p in arrow.points] for arrow in arrows])
    np.testing.assert_array_equal(found[:, 0], plan.positions[large])
    np.testing.assert_array_equal(
        found[:, 1], (plan.positions + correction.delta_positions)[large]
    )


def test_corrections_of_another_plan_are_not_drawn_on_it():
    rng = np.random.default_rng(0)
    plan = random_records.plan(rng, count=5)
    with pytest.raises(RecordError, match=r'4 waypoints.*must have 5'):
        markers.correction_markers(plan, [random_records.correction(rng, count=4)])


@pytest.mark.parametrize(('is_old', 'state'), [(True, 'approaching'), (False, 'homing')])
def test_a_recording_of_before_there_was_approaching_calls_it_homing(is_old, state):
    told = interface.PlaybackStatus(state=interface.PlaybackState.HOMING, plan_stamp_ns=1)
    message = to_message('playback_status', told)
    if is_old:
        message.values = [pair for pair in message.values if 'shift' not in pair.key]
    assert from_message('playback_status', message).state.value == state

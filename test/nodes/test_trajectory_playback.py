"""The playback node on the simulated arm's node, over real DDS."""

from __future__ import annotations

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped, Vector3Stamped, WrenchStamped
from helpers.arm_ros import ArmAndPlayback, line_plan
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from reward_learning_ros.arm.description import RobotMode
from reward_learning_ros.interface import PlaybackState
from reward_learning_ros.nodes import arm_names, names
from reward_learning_ros.nodes.conversions import plan_to_message
from reward_learning_ros.nodes.trajectory_playback import TrajectoryPlaybackNode

COMMANDS = names.command_topic('fr3_arm_controller')


@pytest.fixture
def pair(make_ros):
    return ArmAndPlayback(make_ros)


def start_playing(pair):
    plan = line_plan(pair.arm.time_ns)
    pair.take_plan(plan)
    pair.await_ready()
    response = pair.call(names.PLAYBACK_START_SERVICE)
    assert response.success, response.message
    pair.advance_until(lambda: pair.playback.state is PlaybackState.PLAYING)
    pair.advance_for(0.8)


def test_a_plan_is_played_from_start_to_end(pair):
    start_playing(pair)
    pair.advance_until(lambda: pair.playback.state is PlaybackState.FINISHED)
    pair.advance_until(lambda: pair.statuses[-1].state is PlaybackState.FINISHED)
    np.testing.assert_allclose(pair.arm.tool_position_m(), [0.6, 0.3, 0.2], atol=0.02)
    states = [status.state for status in pair.statuses]
    assert states.index(PlaybackState.APPROACHING) < states.index(PlaybackState.PLAYING)
    progress = [s.progress for s in pair.statuses if s.state is PlaybackState.PLAYING]
    assert len(progress) > 20
    assert progress == sorted(progress)
    steps = np.diff(np.array(pair.set_points)[:, 0], axis=0)
    assert np.abs(steps).max() < 2e-3


def test_nothing_is_commanded_before_the_start(pair):
    heard = []
    pair.operator.create_subscription(JointTrajectory, COMMANDS, heard.append, names.COMMAND_QOS)
    pair.take_plan(line_plan(pair.arm.time_ns))
    pair.advance_for(0.5)
    assert heard == []
    pair.await_ready()
    answer = pair.call(names.PLAYBACK_START_SERVICE)
    assert answer.success, answer.message
    pair.advance_until(lambda: heard)


def test_services_pause_resume_stop_and_go_home(pair):
    start_playing(pair)
    assert pair.call(names.PLAYBACK_PAUSE_SERVICE).message == 'paused'
    pair.advance_for(0.6)
    assert not pair.arm.set_point[1].any()
    assert pair.call(names.PLAYBACK_RESUME_SERVICE).success
    pair.advance_until(lambda: pair.playback.state is PlaybackState.PLAYING)
    assert pair.call(names.PLAYBACK_STOP_SERVICE).message == 'stopped'
    pair.advance_for(0.6)
    home = pair.call(names.PLAYBACK_HOME_SERVICE)
    assert home.success, home.message
    pair.advance_until(lambda: pair.playback.state is PlaybackState.IDLE)
    pair.advance_for(0.1)
    home_rad = pair.arm.kinematics.description.home_rad
    np.testing.assert_allclose(pair.arm.set_point[0], home_rad, atol=1e-6)


def test_a_refused_service_says_why(pair):
    response = pair.call(names.PLAYBACK_START_SERVICE)
    assert not response.success
    assert response.message == 'there is no plan'


@pytest.mark.parametrize('stopped_by', ['service', 'user stop'])
def test_a_start_that_was_asked_for_before_a_stop_moves_nothing(pair, stopped_by):
    pair.take_plan(line_plan(pair.arm.time_ns))
    pair.await_ready()
    start = pair.operator.create_client(Trigger, names.PLAYBACK_START_SERVICE)
    pair.advance_until(start.service_is_ready)
    pair.call(names.PLAYBACK_STOP_SERVICE)
    pair.await_ready()
    if stopped_by == 'service':
        # Both are there when playback looks, in the wrong order.
        asked = start.call_async(Trigger.Request())
        pair.call(names.PLAYBACK_STOP_SERVICE)
    else:
        # It is under way for as long as the stop is pressed, and arrives when it is released.
        service, *_ = pair.playback_node._polled_services[2]
        pair.playback_node._polled_services = pair.playback_node._polled_services[:2]
        asked = start.call_async(Trigger.Request())
        pair.call(arm_names.USER_STOP_SERVICE, SetBool, SetBool.Request(data=True))
        pair.advance_until(lambda: not pair.playback.view.follows_commands)
        pair.call(arm_names.USER_STOP_SERVICE, SetBool, SetBool.Request(data=False))
        pair.advance_until(lambda: pair.playback.view.follows_commands)
        pair.advance_until(lambda: pair.playback.not_ready() is None)
        pair.playback_node._polled_services += ((service, pair.playback_node._start, True),)
    pair.advance_until(asked.done)
    assert not asked.result().success
    pair.advance_for(0.5)
    assert not pair.playback.state.is_moving
    pair.await_ready()
    assert pair.call(names.PLAYBACK_START_SERVICE).success


def test_a_controller_too_stiff_for_a_hand_is_not_let_go_home_either(make_ros):
    gains = '[600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0]'
    pair = ArmAndPlayback(make_ros, '-p', f'controller_stiffness_nm:={gains}')
    pair.advance_for(0.6)
    answer = pair.call(names.PLAYBACK_HOME_SERVICE)
    assert not answer.success
    assert 'too stiff' in answer.message


def test_the_tool_pose_that_the_arm_reports_is_heard(pair):
    pair.advance_until(lambda: pair.playback.view.pose.values is not None)
    view = pair.playback.view
    computed = pair.arm.kinematics.tool_poses(view.positions_rad)[0]
    np.testing.assert_allclose(view.pose.values[:3], computed, atol=1e-3)


def test_a_second_publisher_makes_the_arm_hold(pair):
    start_playing(pair)
    intruder = pair.operator.create_publisher(JointTrajectory, COMMANDS, names.COMMAND_QOS)
    pair.advance_until(lambda: pair.playback.state is PlaybackState.FAULT)
    assert 'other publisher' in pair.playback.fault
    pair.advance_for(0.8)
    assert not pair.arm.set_point[1].any()
    assert not pair.call(names.PLAYBACK_RESUME_SERVICE).success
    pair.operator.destroy_publisher(intruder)
    pair.advance_until(lambda: pair.playback.view.command_publishers == 1)
    pair.await_ready()
    assert pair.call(names.PLAYBACK_RESUME_SERVICE).success
    pair.advance_until(lambda: pair.playback.state is PlaybackState.PLAYING)


def test_a_plan_with_nan_makes_the_arm_hold_and_the_old_plan_stays(pair):
    start_playing(pair)
    broken = plan_to_message(line_plan(pair.arm.time_ns))
    broken.poses[3].pose.position.y = float('nan')
    pair._plan_publisher.publish(broken)
    pair.advance_until(lambda: pair.playback.state is PlaybackState.FAULT)
    assert 'must be finite' in pair.playback.fault
    pair.advance_until(lambda: pair.statuses[-1].fault == pair.playback.fault)
    pair.advance_for(0.8)
    pair.await_ready()
    assert pair.call(names.PLAYBACK_RESUME_SERVICE).success
    pair.advance_until(lambda: pair.playback.state is PlaybackState.PLAYING)


def test_a_reflex_of_the_arm_makes_playback_hold_until_recovery_and_resume(pair):
    start_playing(pair)
    push = pair.operator.create_publisher(
        WrenchStamped, arm_names.PERSON_WRENCH_TOPIC, names.ROBOT_STATE_QOS
    )
    hit = WrenchStamped()
    hit.header.frame_id = 'fr3_link0'
    hit.wrench.force.z = -100.0

    def in_fault():
        push.publish(hit)
        return pair.playback.state is PlaybackState.FAULT

    pair.advance_until(in_fault)
    pair.advance_until(lambda: 'reflex' in pair.playback.view.mode.text)
    refused = pair.call(names.PLAYBACK_RESUME_SERVICE)
    assert not refused.success
    assert 'reflex' in refused.message
    pair.advance_for(0.5)
    assert pair.call(arm_names.ERROR_RECOVERY_SERVICE).success
    pair.advance_until(lambda: pair.playback.view.mode.follows_commands)
    assert pair.playback.state is PlaybackState.FAULT
    pair.advance_for(1.0)
    pair.await_ready()
    response = pair.call(names.PLAYBACK_RESUME_SERVICE)
    assert response.success, response.message
    pair.advance_until(lambda: pair.playback.state is PlaybackState.PLAYING)


def test_the_user_stop_makes_playback_hold(pair):
    start_playing(pair)
    pair.call(arm_names.USER_STOP_SERVICE, SetBool, SetBool.Request(data=True))
    pair.advance_until(lambda: pair.playback.state is PlaybackState.FAULT)
    assert 'user stop' in pair.playback.fault


def test_a_deformation_shifts_the_plan(pair):
    start_playing(pair)
    publisher = pair.operator.create_publisher(
        Vector3Stamped, names.DEFORMATION_TOPIC, names.DEFORMATION_QOS
    )
    message = Vector3Stamped()
    message.header.frame_id = 'fr3_link0'
    message.vector.y = -0.04

    def finished():
        message.header.stamp = pair.playback_node.get_clock().now().to_msg()
        publisher.publish(message)
        return pair.playback.state is PlaybackState.FINISHED

    pair.advance_until(finished)
    pair.advance_for(0.2)
    tool = pair.arm.kinematics.tool_poses(pair.arm.set_point[0])[0]
    np.testing.assert_allclose(tool, [0.6, 0.26, 0.2], atol=2e-3)


def test_diagnostics_tell_the_fault(pair):
    reports = []
    pair.operator.create_subscription(
        DiagnosticArray, names.DIAGNOSTICS_TOPIC, reports.append, names.DIAGNOSTICS_QOS
    )
    start_playing(pair)
    intruder = pair.operator.create_publisher(JointTrajectory, COMMANDS, names.COMMAND_QOS)
    assert intruder is not None
    pair.advance_until(lambda: reports and 'other publisher' in reports[-1].status[0].message)


@pytest.mark.parametrize(
    ('backend', 'topic', 'message_type'),
    [
        ('crisp_joint', arm_names.CRISP_TARGET_JOINT_TOPIC, JointState),
        ('crisp_pose', arm_names.CRISP_TARGET_POSE_TOPIC, PoseStamped),
    ],
)
def test_crisp_is_sent_targets_along_the_plan(make_ros, backend, topic, message_type):
    ros = make_ros('--ros-args', '-p', f'backend:={backend}')
    node = ros.add(TrajectoryPlaybackNode(context=ros.context))
    other = make_ros()
    listener = other.create_node('crisp')
    heard = []
    listener.create_subscription(message_type, topic, heard.append, names.COMMAND_QOS)
    state = listener.create_publisher(
        JointState, names.MEASURED_JOINT_STATES_TOPIC, names.ROBOT_STATE_QOS
    )
    torque = listener.create_publisher(
        JointState, names.EXTERNAL_JOINT_TORQUES_TOPIC, names.ROBOT_STATE_QOS
    )
    description = node.playback.planner.kinematics.description
    joints = JointState(name=list(description.joint_names), position=list(description.home_rad))
    joints.velocity = [0.0] * 7
    silence = JointState(name=list(description.joint_names), effort=[0.0] * 7)

    def tell(condition):
        def told():
            for message, publisher in ((joints, state), (silence, torque)):
                message.header.stamp = node.get_clock().now().to_msg()
                publisher.publish(message)
            other.executor.spin_once(timeout_sec=0.0)
            return condition()

        return told

    ros.wait_until(tell(lambda: node.playback.view.command_subscribers == 1))
    ros.wait_until(tell(lambda: node.playback.view.torque.values is not None))
    node.playback.set_plan(line_plan(node.get_clock().now().nanoseconds))
    node.playback.start()
    ros.wait_until(tell(lambda: len(heard) > 20))
    first, last = heard[0], heard[-1]
    if message_type is JointState:
        assert np.abs(np.array(first.position) - description.home_rad).max() < 1e-3
        assert np.abs(np.array(last.position) - first.position).max() < 0.1
    else:
        assert last.header.frame_id == description.base_frame
        assert last.pose.position.z == pytest.approx(first.pose.position.z, abs=0.05)


def test_a_real_arm_does_not_start_before_its_controllers_are_known_to_be_active(make_ros):
    bench = ArmAndPlayback(make_ros, '-p', 'requires_mode:=true')
    bench.take_plan(line_plan(bench.arm.time_ns))
    # The arm tells its mode, but not as a real one does.
    bench.advance_until(lambda: 'mode of the arm is not known' in bench.statuses[-1].not_ready)
    bench.playback.view.mode = RobotMode.MOVE
    bench.advance_until(lambda: 'not active: controllers' in bench.statuses[-1].not_ready)
    response = bench.call(names.PLAYBACK_START_SERVICE)
    assert not response.success
    assert 'not active: controllers' in response.message


def test_a_mode_that_is_not_told_any_more_is_not_known(pair):
    start_playing(pair)
    arm_node = pair.arm_node
    arm_node._status_publisher, quiet = (
        arm_node.create_publisher(DiagnosticStatus, 'elsewhere', names.LATCHED_QOS),
        arm_node._status_publisher,
    )
    pair.advance_until(lambda: 'the mode of the arm is' in pair.playback.fault)
    arm_node._status_publisher = quiet
    pair.advance_until(lambda: pair.playback.not_ready() is None)


def test_a_resume_is_preceded_by_preflight_but_not_by_the_start_pose(make_ros):
    # So near to its start that the arm, once on its way, is too far to start.
    pair = ArmAndPlayback(make_ros, '-p', 'start_distance_m:=0.1')
    start_playing(pair)
    pair.advance_until(lambda: pair.playback.status().progress > 0.7)
    assert pair.call(names.PLAYBACK_PAUSE_SERVICE).success
    pair.await_ready()
    wrong = pair.operator.create_subscription(
        JointTrajectory, COMMANDS, lambda message: None, names.LATCHED_QOS
    )
    pair.advance_until(lambda: 'quality of service' in pair.statuses[-1].not_ready)
    response = pair.call(names.PLAYBACK_RESUME_SERVICE)
    assert not response.success
    assert 'quality of service' in response.message
    pair.operator.destroy_subscription(wrong)
    pair.await_ready()
    assert pair.call(names.PLAYBACK_RESUME_SERVICE).success

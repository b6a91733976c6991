"""From the outside the simulated arm is a Franka on franka_ros2."""

from __future__ import annotations

import time

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.interface import (
    JointTrajectory,
    joint_reading_from_message,
    pose_reading_from_message,
    wrench_reading_from_message,
)
from reward_learning_ros.nodes import arm_names, names
from reward_learning_ros.nodes.conversions import joint_trajectory_to_message
from reward_learning_ros.nodes.franka_robot_state import PackedMessage, marks, stamp_bytes
from reward_learning_ros.nodes.simulated_arm import CycleLoop, SimulatedArmNode
from reward_learning_ros.parameters import ParameterError

BEST_EFFORT = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
RELIABLE = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
FAST = ('--ros-args', '-p', 'clock:=simulated', '-p', 'speed:=0.0')


class Stage:
    """The arm's node, and an audience in another context."""

    def __init__(self, make_ros, *arguments: str) -> None:
        self.arm_ros = make_ros(*FAST, *arguments)
        self.node = self.arm_ros.add(SimulatedArmNode(context=self.arm_ros.context))
        self.ros = make_ros()
        self.audience = self.ros.create_node('audience')
        self.heard: dict[str, list] = {}

    def listen(self, message_type, topic, qos=BEST_EFFORT):
        heard = self.heard.setdefault(topic, [])
        self.audience.create_subscription(message_type, topic, heard.append, qos)
        return heard

    def advance(self, cycles: int = 10) -> None:
        for _ in range(cycles):
            self.node.advance()
        for _ in range(4):
            self.arm_ros.executor.spin_once(timeout_sec=0.0)

    def advance_until(self, condition) -> None:
        def advanced():
            self.advance()
            return condition()

        self.ros.wait_until(advanced)

    def call(self, service_type, service, request):
        client = self.audience.create_client(service_type, service)
        self.advance_until(client.service_is_ready)
        future = client.call_async(request)
        self.advance_until(future.done)
        return future.result()


@pytest.fixture
def stage(make_ros) -> Stage:
    return Stage(make_ros)


def test_topics_types_and_qualities_are_those_of_franka_ros2(stage):
    best_effort = [
        names.EXTERNAL_JOINT_TORQUES_TOPIC,
        names.MEASURED_JOINT_STATES_TOPIC,
        names.DESIRED_JOINT_STATES_TOPIC,
        names.CURRENT_POSE_TOPIC,
        names.LAST_DESIRED_POSE_TOPIC,
        names.WRENCH_IN_BASE_TOPIC,
        names.WRENCH_IN_STIFFNESS_TOPIC,
    ]
    for topic in [*best_effort, names.JOINT_STATES_TOPIC]:
        stage.ros.wait_until(lambda topic=topic: stage.audience.count_publishers(topic) == 1)
        (info,) = stage.audience.get_publishers_info_by_topic(topic)
        assert info.topic_type == names.TOPICS[topic].type_name
        expected = (
            ReliabilityPolicy.BEST_EFFORT if topic in best_effort else ReliabilityPolicy.RELIABLE
        )
        assert info.qos_profile.reliability == expected
        assert info.qos_profile.durability == DurabilityPolicy.VOLATILE


def test_a_reliable_subscriber_hears_nothing_of_the_state(stage):
    deaf = stage.listen(JointState, names.MEASURED_JOINT_STATES_TOPIC, RELIABLE)
    hearing = stage.listen(JointState, names.JOINT_STATES_TOPIC, RELIABLE)
    stage.advance_until(lambda: len(hearing) > 3)
    assert deaf == []


def test_its_messages_are_what_the_arm_says(stage):
    joints = stage.listen(JointState, names.MEASURED_JOINT_STATES_TOPIC)
    desired = stage.listen(JointState, names.DESIRED_JOINT_STATES_TOPIC)
    torques = stage.listen(JointState, names.EXTERNAL_JOINT_TORQUES_TOPIC)
    pose = stage.listen(PoseStamped, names.CURRENT_POSE_TOPIC)
    wrench = stage.listen(WrenchStamped, names.WRENCH_IN_STIFFNESS_TOPIC)
    stage.advance_until(lambda: all(stage.heard.values()))
    arm, description = stage.node.arm, stage.node.arm.kinematics.description
    reading = joint_reading_from_message(joints[-1])
    assert reading.joint_names == description.joint_names
    np.testing.assert_allclose(reading.positions, description.home_rad, atol=1e-3)
    assert reading.velocities.shape == reading.efforts.shape == (7,)
    np.testing.assert_allclose(desired[-1].position, description.home_rad)
    told = joint_reading_from_message(torques[-1])
    assert told.positions is None
    assert told.velocities is None
    assert np.abs(told.efforts).max() < arm.config.torque_bias_nm + 1.0
    place = pose_reading_from_message(pose[-1], frame_id='fr3_link0')
    np.testing.assert_allclose(place.position, arm.tool_position_m(), atol=1e-3)
    np.testing.assert_allclose(np.abs(place.orientation), [1.0, 0.0, 0.0, 0.0], atol=1e-3)
    wrench_reading_from_message(wrench[-1], frame_id='fr3_hand_tcp')


def test_stamps_are_simulated_time_a_millisecond_apart(stage):
    joints = stage.listen(JointState, names.MEASURED_JOINT_STATES_TOPIC)
    clock = stage.listen(Clock, '/clock')
    stage.advance_until(lambda: len(joints) > 50 and clock)
    stamps = [
        message.header.stamp.sec * 10**9 + message.header.stamp.nanosec for message in joints
    ]
    steps = np.diff(stamps)
    # Best effort may lose some, but none may be told twice or out of order.
    assert (steps > 0).all()
    assert (steps % 1_000_000 == 0).all()
    assert stamps[-1] <= stage.node.arm.time_ns


def test_a_trajectory_moves_it(stage):
    publisher = stage.audience.create_publisher(
        JointTrajectoryMessage, names.command_topic('fr3_arm_controller'), names.COMMAND_QOS
    )
    stage.advance_until(lambda: publisher.get_subscription_count() == 1)
    target = np.array(stage.node.arm.kinematics.description.home_rad) + 0.1
    publisher.publish(
        joint_trajectory_to_message(
            JointTrajectory(
                joint_names=stage.node.arm.kinematics.description.joint_names,
                positions=[target],
                velocities=np.zeros((1, 7)),
                times_sec=[0.5],
            )
        )
    )
    stage.advance_until(lambda: np.abs(stage.node.arm.joints_rad - target).max() < 0.01)


def test_a_trajectory_of_nonsense_is_ignored(stage):
    publisher = stage.audience.create_publisher(
        JointTrajectoryMessage, names.command_topic('fr3_arm_controller'), names.COMMAND_QOS
    )
    stage.advance_until(lambda: publisher.get_subscription_count() == 1)
    before = stage.node.arm.set_point.copy()
    good = joint_trajectory_to_message(
        JointTrajectory(
            joint_names=stage.node.arm.kinematics.description.joint_names,
            positions=[before[0] + 0.2],
            times_sec=[0.1],
        )
    )
    broken = joint_trajectory_to_message(
        JointTrajectory(
            joint_names=stage.node.arm.kinematics.description.joint_names,
            positions=[before[0] + 0.2],
            times_sec=[0.1],
        )
    )
    broken.points[0].positions[3] = float('nan')
    publisher.publish(broken)
    for _ in range(50):
        stage.advance()
    np.testing.assert_array_equal(stage.node.arm.set_point, before)
    # It is not deaf.
    publisher.publish(good)
    stage.advance_until(lambda: (stage.node.arm.set_point[0] != before[0]).any())


def test_a_wrench_of_a_person_pushes_it_and_is_felt(stage):
    publisher = stage.audience.create_publisher(
        WrenchStamped, arm_names.PERSON_WRENCH_TOPIC, names.ROBOT_STATE_QOS
    )
    torques = stage.listen(JointState, names.EXTERNAL_JOINT_TORQUES_TOPIC)
    stage.advance_until(lambda: len(torques) > 50 and publisher.get_subscription_count())
    at_rest = np.mean([message.effort for message in torques[-50:]], axis=0)
    push = WrenchStamped()
    push.header.frame_id = 'fr3_link0'
    push.wrench.force.y = 15.0
    arm = stage.node.arm
    start = arm.tool_position_m()

    def pushed():
        publisher.publish(push)
        return arm.tool_position_m()[1] - start[1] > 0.02

    stage.advance_until(pushed)
    pushed_ns = arm.time_ns

    def is_told():
        publisher.publish(push)
        stamp = torques[-1].header.stamp
        return stamp.sec * 10**9 + stamp.nanosec >= pushed_ns

    # What is heard may be of before the push.
    stage.advance_until(is_told)
    felt = np.array(torques[-1].effort) - at_rest
    expected = -arm.kinematics.jacobian(arm.joints_rad)[1] * 15.0
    # The bias differs a little a few centimetres further on.
    np.testing.assert_allclose(felt, expected, atol=0.8)


def test_a_push_without_a_frame_is_one_in_the_base_frame(stage):
    publisher = stage.audience.create_publisher(
        WrenchStamped, arm_names.PERSON_WRENCH_TOPIC, names.ROBOT_STATE_QOS
    )
    stage.advance_until(lambda: publisher.get_subscription_count() == 1)
    push = WrenchStamped()
    push.wrench.force.y = 15.0
    arm = stage.node.arm
    start = arm.tool_position_m()

    def pushed():
        publisher.publish(push)
        return arm.tool_position_m()[1] - start[1] > 0.02

    stage.advance_until(pushed)


def test_a_push_in_a_frame_that_it_does_not_have_is_refused_where_the_sender_hears_it(stage):
    publisher = stage.audience.create_publisher(
        WrenchStamped, arm_names.PERSON_WRENCH_TOPIC, names.ROBOT_STATE_QOS
    )
    statuses = stage.listen(DiagnosticStatus, arm_names.ARM_STATUS_TOPIC, names.LATCHED_QOS)
    stage.advance_until(lambda: publisher.get_subscription_count() == 1)
    push = WrenchStamped()
    push.header.frame_id = 'world'
    push.wrench.force.y = 15.0

    def refusal():
        publisher.publish(push)
        values = {item.key: item.value for item in statuses[-1].values} if statuses else {}
        return values.get(arm_names.PUSH_REFUSAL_KEY, '')

    stage.advance_until(refusal)
    assert 'world' in refusal()
    assert 'fr3_link4' in refusal()
    assert not stage.node.arm.external_torque_nm.any()


def test_a_reflex_is_told_and_ended_by_its_service(stage):
    stage.node.arm.push([0.0, 0.0, -100.0, 0.0, 0.0, 0.0])
    stage.advance_until(lambda: not stage.node.arm.mode.follows_commands)
    response = stage.call(Trigger, arm_names.ERROR_RECOVERY_SERVICE, Trigger.Request())
    assert (response.success, response.message) == (True, 'move')


def test_the_user_stop_is_a_service(stage):
    pressed = SetBool.Request(data=True)
    assert stage.call(SetBool, arm_names.USER_STOP_SERVICE, pressed).message == 'user stopped'
    refused = stage.call(Trigger, arm_names.ERROR_RECOVERY_SERVICE, Trigger.Request())
    assert not refused.success
    released = SetBool.Request(data=False)
    assert stage.call(SetBool, arm_names.USER_STOP_SERVICE, released).message == 'move'


def test_cycles_run_with_the_wall_clock(make_ros):
    ros = make_ros('--ros-args', '-p', 'convenience_publish_rate:=10')
    node = ros.add(SimulatedArmNode(context=ros.context))
    # A clock that fell behind, or was ahead, when the node began.
    for offset_ns in (-5 * 10**9, 5 * 10**9):
        node.arm.time_ns += offset_ns
        started_ns = time.time_ns()
        loop = CycleLoop(node, ros.executor)
        while loop.cycles < 100:
            loop.run_cycles()
            # No cycle comes before its time.
            assert node.arm.time_ns <= time.time_ns() + 10**6
        assert node.arm.time_ns >= started_ns + 99 * 10**6


def test_a_clock_that_is_set_back_does_not_stop_it(make_ros):
    ros = make_ros('--ros-args', '-p', 'convenience_publish_rate:=10')
    node = ros.add(SimulatedArmNode(context=ros.context))
    loop = CycleLoop(node, ros.executor)
    node.arm.time_ns += 3600 * 10**9
    loop.run_cycles()
    assert node.arm.time_ns <= time.time_ns() + 10**6


@pytest.mark.parametrize(
    ('arguments', 'field'),
    [
        (('-p', 'convenience_publish_rate:=300'), 'convenience_publish_rate'),
        (('-p', 'clock:=wall', '-p', 'speed:=2.0'), 'speed'),
        (('-p', 'scene:=kitchen'), 'scene'),
    ],
)
def test_a_configuration_that_cannot_be_is_refused(make_ros, arguments, field):
    ros = make_ros(*FAST, *arguments)
    with pytest.raises(ParameterError, match=field):
        SimulatedArmNode(context=ros.context)


def test_its_parameters_cannot_change_while_it_runs(stage):
    (result,) = stage.node.set_parameters([Parameter('torque_noise_nm', value=1.0)])
    assert not result.successful


def test_a_packed_message_is_the_message_with_other_numbers():
    places = marks(3, 2)
    header = b'\x00\x01\x00\x00' + bytes(8)
    serialized = header + b'name' + places[0].tobytes() + b'..' + places[1].tobytes()
    message = PackedMessage(serialized, places)
    message.numbers[0][:] = [1.0, 2.0, 3.0]
    message.numbers[1][:] = [4.0, 5.0]
    packed = message.stamped(stamp_bytes(7 * 10**9 + 5))
    assert packed[4:12] == (7).to_bytes(4, 'little') + (5).to_bytes(4, 'little')
    assert np.frombuffer(packed, count=3, offset=16).tolist() == [1.0, 2.0, 3.0]
    assert packed.endswith(np.array([4.0, 5.0]).tobytes())


def test_a_message_without_its_places_cannot_be_packed():
    with pytest.raises(InvalidInputError, match='allowed: once'):
        PackedMessage(b'\x00\x01\x00\x00' + bytes(100), marks(3))

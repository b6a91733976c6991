"""The session recorder over real DDS, killed, starved of disk, and started again."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from helpers import random_records
from nav_msgs.msg import Path
from rosbags.highlevel import AnyReader
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from reward_learning_ros.interface import (
    Level,
    corrections_from_message,
    diagnostic_report_from_message,
    plan_from_message,
)
from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.arm_names import CLOCK_QOS
from reward_learning_ros.nodes.controller_watch import command_listeners
from reward_learning_ros.nodes.conversions import corrections_to_message, plan_to_message
from reward_learning_ros.nodes.session_recorder import SessionRecorderNode, recorded_types
from reward_learning_ros.recording.bag_writer import finish_bag
from reward_learning_ros.recording.session_topics import PARTS

ARGUMENTS = ('--ros-args', '-p')
# Of what a process does that must start first.
PROCESS_DEADLINE_SEC = 120.0
COMMANDS = '/fr3_arm_controller/joint_trajectory'


class Studio:
    """Someone who publishes what a session has, and hears what the recorder says."""

    def __init__(self, ros):
        self.ros = ros
        node = ros.create_node('studio')
        rng = np.random.default_rng(1)
        self.plan = random_records.plan(rng)
        self.corrections = [random_records.corrections(rng) for _ in range(3)]
        # Published before anyone listens: the recorder must hear them all the same.
        plans = node.create_publisher(Path, names.PLAN_TOPIC, names.LATCHED_QOS)
        plans.publish(plan_to_message(self.plan))
        corrections = node.create_publisher(
            MultiDOFJointTrajectory, names.CORRECTIONS_TOPIC, names.CORRECTIONS_QOS
        )
        for correction in self.corrections:
            corrections.publish(corrections_to_message(correction))
        self.torques = node.create_publisher(
            JointState, names.EXTERNAL_JOINT_TORQUES_TOPIC, names.ROBOT_STATE_QOS
        )
        self.poses = node.create_publisher(
            PoseStamped, names.CURRENT_POSE_TOPIC, names.ROBOT_STATE_QOS
        )
        self.commands = node.create_publisher(JointTrajectory, COMMANDS, names.COMMAND_QOS)
        self.reports = []
        node.create_subscription(
            DiagnosticArray, names.DIAGNOSTICS_TOPIC, self._on_diagnostics, names.DIAGNOSTICS_QOS
        )
        self.sent = 0

    def _on_diagnostics(self, message):
        for diagnostic in diagnostic_report_from_message(message).diagnostics:
            if diagnostic.name == 'session_recorder':
                self.reports.append(diagnostic)

    def stream(self):
        self.sent += 1
        message = JointState(effort=[float(self.sent)] * 7)
        message.header.stamp.sec = self.sent
        self.torques.publish(message)

    def written(self, topic):
        return int(self.reports[-1].values.get(f'written./{topic}', 0)) if self.reports else 0

    def stream_until(self, condition, process=None):
        def streamed():
            self.stream()
            assert process is None or process.poll() is None, process.communicate()[1]
            return condition()

        try:
            self.ros.wait_until(streamed, PROCESS_DEADLINE_SEC)
        except TimeoutError as error:
            raise TimeoutError(f'{error}; it last said {self.reports[-1:]}') from None


@pytest.fixture
def studio(ros):
    return Studio(ros)


def recorded(bag, *, was_killed=False):
    """The messages of each topic, read by a library that is not ours."""
    found = {}
    with AnyReader([bag]) as reader:
        # What metadata.yaml says; a killed recorder may have been between it and the messages.
        counted = reader.message_count
        for connection, _, data in reader.messages():
            message = reader.deserialize(data, connection.msgtype)
            found.setdefault(connection.topic, []).append(message)
    count = sum(map(len, found.values()))
    assert 0 < counted <= count if was_killed else counted == count
    return found


def started(bag, domain_id, **options):
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain_id)}
    command = [sys.executable, '-m', 'reward_learning_ros.nodes.session_recorder']
    return subprocess.Popen(
        [*command, *ARGUMENTS, f'bag:={bag}'],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def test_what_is_published_is_in_the_bag_as_it_was_sent(make_ros, studio, tmp_path):
    bag = tmp_path / 'bag'
    own = make_ros(*ARGUMENTS, f'bag:={bag}')
    node = SessionRecorderNode(context=own.context)
    own.executor.add_node(node)

    def heard():
        own.executor.spin_once(timeout_sec=0.0)
        written = node.writer.written
        is_all = written['/plan'] == 1 and written['/corrections'] == 3
        studio.commands.publish(JointTrajectory(joint_names=['fr3_joint1']))
        is_all = is_all and all(written[topic] for topic in ('/heartbeat', '/rosout', COMMANDS))
        return is_all and studio.written(names.EXTERNAL_JOINT_TORQUES_TOPIC)

    studio.stream_until(heard)
    own.executor.remove_node(node)
    node.destroy_node()
    found = recorded(bag)
    assert [plan_from_message(message) for message in found['/plan']] == [studio.plan]
    corrections = [corrections_from_message(message) for message in found['/corrections']]
    assert corrections == studio.corrections
    assert found['/heartbeat'][0].data.startswith('session_recorder ')
    assert 'recording' in found['/rosout'][0].msg
    assert found[COMMANDS][0].joint_names == ['fr3_joint1']
    efforts = [m.effort[0] for m in found[f'/{names.EXTERNAL_JOINT_TORQUES_TOPIC}']]
    assert efforts == sorted(set(efforts))
    assert studio.reports[-1].level == Level.OK
    assert studio.reports[-1].values['dropped'] == '0'


def test_what_comes_before_simulated_time_begins_has_its_first_moment(make_ros, studio, tmp_path):
    bag = tmp_path / 'bag'
    own = make_ros(*ARGUMENTS, f'bag:={bag}', '-p', 'use_sim_time:=true')
    node = SessionRecorderNode(context=own.context)
    own.executor.add_node(node)

    def heard_early():
        own.executor.spin_once(timeout_sec=0.0)
        return len(node._early) >= 4

    studio.ros.wait_until(heard_early)
    clock = studio.ros.create_node('clock').create_publisher(Clock, '/clock', CLOCK_QOS)

    def heard_late():
        clock.publish(Clock(clock=Time(sec=7)))
        own.executor.spin_once(timeout_sec=0.0)
        return node.writer.written[f'/{names.EXTERNAL_JOINT_TORQUES_TOPIC}'] > 0

    studio.stream_until(heard_late)
    own.executor.remove_node(node)
    node.destroy_node()
    with AnyReader([bag]) as reader:
        times = {(each.topic, time) for each, time, _ in reader.messages()}
    assert {time for _, time in times} == {7 * 10**9}
    assert {'/plan', '/corrections'} <= {topic for topic, _ in times}


def test_a_killed_recorder_leaves_a_whole_bag_and_the_next_one_goes_on_with_it(
    studio, domain_id, tmp_path
):
    bag = tmp_path / 'bag'
    torques = names.EXTERNAL_JOINT_TORQUES_TOPIC
    for _ in range(2):
        process = started(bag, domain_id)
        try:
            studio.reports.clear()
            studio.stream_until(
                lambda: studio.written(torques) > 20 and studio.written(names.PLAN_TOPIC), process
            )
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        told = studio.written(torques)
        found = recorded(bag, was_killed=True)
        assert len(found[f'/{torques}']) >= told
    assert [plan_from_message(message) for message in found['/plan']] == [studio.plan] * 2
    finish_bag(bag)
    assert {topic: len(messages) for topic, messages in recorded(bag).items()} == {
        topic: len(messages) for topic, messages in found.items()
    }
    assert sorted(path.name for path in bag.glob('*.mcap')) == ['bag_0.mcap', 'bag_1.mcap']


def test_a_full_disk_is_reported_and_the_recorder_lives_on(studio, domain_id, tmp_path):
    bag = tmp_path / 'bag'
    # No file of the process may become larger, as on a disk that is full.
    size = 150_000
    process = started(
        bag,
        domain_id,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )
    try:

        def is_lost():
            # Random, so that compression does not make room.
            pose = PoseStamped()
            pose.pose.position.x, pose.pose.position.y = np.random.default_rng(studio.sent).random(
                2
            )
            pose.header.frame_id = np.random.default_rng(studio.sent).bytes(600).hex()
            studio.poses.publish(pose)
            return studio.reports and studio.reports[-1].level == Level.ERROR

        studio.stream_until(lambda: studio.written(names.PLAN_TOPIC), process)
        studio.stream_until(is_lost, process)
        assert int(studio.reports[-1].values['dropped']) > 0
        assert 'too large; make room there' in studio.reports[-1].message
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PROCESS_DEADLINE_SEC)
        assert process.returncode == 0, errors
    finally:
        process.kill()
    found = recorded(bag)
    assert [plan_from_message(message) for message in found['/plan']] == [studio.plan]
    assert len(found[f'/{names.CURRENT_POSE_TOPIC}']) > 10


def test_who_records_commands_is_no_controller_that_follows_them(make_ros):
    nodes = [make_ros().create_node(name) for name in ('playback', 'session_recorder', 'arm')]
    for node in nodes[1:]:
        node.create_subscription(JointTrajectory, COMMANDS, print, names.COMMAND_QOS)
    looking = make_ros()
    node = looking.create_node('looking')
    looking.wait_until(lambda: node.count_subscribers(COMMANDS) == 2)
    looking.wait_until(
        lambda: [each.node_name for each in command_listeners(node, COMMANDS)] == ['arm']
    )


def test_readers_without_ros_know_the_recorded_topics_by_the_same_names():
    recorded = recorded_types(with_arm=True)
    for part in PARTS.values():
        assert recorded[part.name] == part.type_name

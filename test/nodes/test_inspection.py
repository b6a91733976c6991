"""The doctor sees the topics of an arm as they are."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from geometry_msgs.msg import PoseStamped
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.inspection import inspect_topics, rate_of

PERIOD_SEC = 0.02


def spin_until(executor, ended):
    while not ended.is_set():
        executor.spin_once(timeout_sec=0.01)


@pytest.fixture
def reports(make_ros):
    """Return what is seen of an arm in the namespace /left/arm, by topic."""
    # Two contexts: within one, a topic cannot have two types.
    ros, other = make_ros(), make_ros()
    arm = other.create_node('arm', namespace='/left/arm')
    best_effort = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    torques = arm.create_publisher(JointState, names.EXTERNAL_JOINT_TORQUES_TOPIC, best_effort)
    arm.create_timer(PERIOD_SEC, lambda: torques.publish(JointState()))
    arm.create_publisher(PoseStamped, names.CURRENT_POSE_TOPIC, 1)
    arm.create_publisher(String, names.MEASURED_JOINT_STATES_TOPIC, 1)
    doctor = ros.create_node('doctor')
    published = (
        names.EXTERNAL_JOINT_TORQUES_TOPIC,
        names.CURRENT_POSE_TOPIC,
        names.MEASURED_JOINT_STATES_TOPIC,
    )
    for topic in published:
        ros.wait_until(lambda topic=topic: doctor.count_publishers(f'/left/arm/{topic}'))
    # While the doctor listens, the arm goes on.
    with ThreadPoolExecutor(max_workers=1) as pool:
        ended = threading.Event()
        spinning = pool.submit(spin_until, other.executor, ended)
        found = inspect_topics(doctor, ros.executor, namespace='left/arm/', seconds=1.0)
        ended.set()
        spinning.result()
    return {report.topic.removeprefix('/left/arm/'): report for report in found}


def test_every_topic_is_reported_as_it_is(reports):
    assert list(reports) == list(names.ARM_TOPICS)
    torques = reports[names.EXTERNAL_JOINT_TORQUES_TOPIC]
    assert torques.types == ('sensor_msgs/msg/JointState',)
    assert (torques.publishers, torques.reliability) == (1, ('best_effort',))
    assert torques.required
    # It is heard; at which rate, a busy machine decides.
    assert torques.rate_hz > 0
    silent = reports[names.CURRENT_POSE_TOPIC]
    assert (silent.publishers, silent.reliability, silent.rate_hz) == (1, ('reliable',), 0.0)
    wrong = reports[names.MEASURED_JOINT_STATES_TOPIC]
    assert (wrong.types, wrong.rate_hz) == (('std_msgs/msg/String',), None)
    absent = reports[names.WRENCH_IN_BASE_TOPIC]
    assert (absent.publishers, absent.types, absent.required) == (0, (), False)


@pytest.mark.parametrize(
    ('arrivals', 'rate'),
    [([], 0.0), ([1.0], 0.0), ([1.0, 1.0], 0.0), ([0.0, 0.5, 1.0], 2.0)],
)
def test_the_rate_is_that_of_the_intervals(arrivals, rate):
    assert rate_of(arrivals) == rate

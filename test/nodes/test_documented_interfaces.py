"""docs/interfaces.md says of every topic and service what the nodes have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rclpy.qos import DurabilityPolicy, HistoryPolicy, ReliabilityPolicy

from reward_learning_ros.nodes import arm_names, names
from reward_learning_ros.nodes.session_recorder import SESSION_TOPIC_TYPES

DOCUMENT = (Path(__file__).parents[2] / 'docs' / 'interfaces.md').read_text(encoding='utf-8')
ROWS = {
    name: [cell.strip() for cell in row.split('|')[2:-1]]
    for row in DOCUMENT.splitlines()
    if row.startswith('| `')
    for name in re.findall(r'`([^`]+)`', row.split('|')[1])
}


def in_words(qos) -> str:
    is_kept = qos.durability is DurabilityPolicy.TRANSIENT_LOCAL
    if qos.history is HistoryPolicy.KEEP_ALL:
        return 'reliable, transient local, all'
    if is_kept and qos.depth == 1:
        return 'latched'
    is_reliable = qos.reliability is ReliabilityPolicy.RELIABLE
    return f'{"reliable" if is_reliable else "best effort"}, {qos.depth}'


@pytest.mark.parametrize('topic', names.TOPIC_QOS)
def test_a_topic_is_documented_with_its_quality_of_service(topic):
    assert ROWS[topic][1] == in_words(names.TOPIC_QOS[topic])


# What a person teleoperates with is said of by other nodes than ours.
OURS = SESSION_TOPIC_TYPES.keys() - {names.JOY_TOPIC, names.TWIST_TOPIC}


@pytest.mark.parametrize('topic', sorted(OURS))
def test_a_recorded_topic_is_documented_with_its_type(topic):
    assert ROWS[topic][0] == SESSION_TOPIC_TYPES[topic].replace('/msg', '')


def test_every_service_is_documented_and_no_other():
    services = {value for name, value in vars(names).items() if name.endswith('_SERVICE')}
    topics = {*names.TOPIC_QOS, arm_names.PERSON_WRENCH_TOPIC, arm_names.ARM_STATUS_TOPIC}
    assert set(ROWS) == services | topics

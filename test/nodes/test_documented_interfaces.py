"""docs/interfaces.md says of every topic and service what the nodes have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rclpy.qos import DurabilityPolicy, HistoryPolicy, ReliabilityPolicy

from reward_learning_ros.interface.topics import FOREIGN_TOPICS, TOPICS
from reward_learning_ros.nodes import names

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


# What others' nodes say and hear has its names from them.
OURS = sorted(TOPICS.keys() - set(FOREIGN_TOPICS))


@pytest.mark.parametrize('topic', OURS)
def test_a_topic_is_documented_with_its_quality_of_service(topic):
    assert ROWS[topic][1] == in_words(names.qos_profile(TOPICS[topic].qos))


@pytest.mark.parametrize('topic', OURS)
def test_a_topic_is_documented_with_its_type(topic):
    assert ROWS[topic][0] == TOPICS[topic].type_name.replace('/msg', '')


def test_every_service_is_documented_and_no_other():
    services = {value for name, value in vars(names).items() if name.endswith('_SERVICE')}
    assert set(ROWS) == services | set(OURS)

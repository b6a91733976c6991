"""The table of topics says what the nodes do."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import reward_learning_ros
from reward_learning_ros.interface import topics
from reward_learning_ros.interface.topics import (
    ARM_TOPICS,
    COMMANDED,
    EVERY_NODE,
    FOREIGN_TOPICS,
    KEPT,
    LATCHED,
    LOGGED,
    NEWEST,
    REPORTED,
    REQUIRED_ARM_TOPICS,
    TOPICS,
)
from tools.documents import reference

PACKAGE = Path(reward_learning_ros.__file__).parent
# The files of each node; who records or plays back bags names no topic.
NODES = {
    'correction_recorder': ('nodes/correction_recorder.py', 'nodes/arm_sources.py'),
    'trajectory_playback': ('nodes/trajectory_playback.py', 'nodes/arm_backends.py'),
    'reward_inference': ('nodes/reward_inference.py',),
    'session_conductor': ('nodes/session_conductor.py',),
    'simulated_arm': ('nodes/simulated_arm.py', 'nodes/franka_publishers.py'),
    'simulated_participant': ('nodes/simulated_participant.py',),
    'session_monitor': ('nodes/session_monitor.py',),
    'console': ('console/console_node.py',),
}
CONSTANTS = {
    name: value
    for name, value in vars(topics).items()
    if name.endswith('_TOPIC') and isinstance(value, str)
}
# What nodes call each quality of service.
QUALITIES = {
    'robot_state': NEWEST,
    'deformation': NEWEST,
    'latched': LATCHED,
    'corrections': KEPT,
    'diagnostics': REPORTED,
    'reliable_state': REPORTED,
    'log': LOGGED,
    'command': COMMANDED,
}
CREATED = [use for use in reference.uses() if use.kind != 'service' and use.quality]


def mentioned(paths):
    """Return the topics that files name."""
    return {
        CONSTANTS[name]
        for path in paths
        for node in ast.walk(ast.parse((PACKAGE / path).read_text(encoding='utf-8')))
        for name in (getattr(node, 'attr', None), getattr(node, 'id', None))
        if name in CONSTANTS
    }


@pytest.mark.parametrize('node', NODES)
def test_a_node_names_the_topics_that_the_table_gives_it_and_no_others(node):
    given = {
        each.name for each in TOPICS.values() if node in (*each.publishers, *each.subscribers)
    }
    # Heartbeats are published and heard by a file that all nodes share.
    given.discard(topics.HEARTBEAT_TOPIC)
    assert mentioned(NODES[node]) - {topics.HEARTBEAT_TOPIC} == given


def test_the_table_names_known_nodes():
    known = {*NODES, EVERY_NODE, 'session_recorder', 'bag_player'}
    for each in TOPICS.values():
        assert {*each.publishers, *each.subscribers} <= known


@pytest.mark.parametrize('use', CREATED, ids=lambda use: f'{use.node} {use.name} {use.kind}')
def test_what_a_node_creates_is_as_in_the_table(use):
    row = TOPICS[use.name]
    assert use.type in ('', row.type_name.replace('/msg', ''))
    assert QUALITIES[use.quality] == row.qos
    node = next((name for name, files in NODES.items() if f'nodes/{use.node}.py' in files), None)
    if node is not None:
        assert node in (row.publishers if use.kind == 'publisher' else row.subscribers)


def test_enough_of_what_nodes_create_is_seen():
    assert len(CREATED) > 30


def test_every_name_is_in_the_table_once():
    assert sorted(TOPICS) == sorted(CONSTANTS.values())


def test_the_groups_are_of_the_table():
    assert set(REQUIRED_ARM_TOPICS) <= set(ARM_TOPICS) <= set(FOREIGN_TOPICS) <= set(TOPICS)


def test_what_others_publish_has_no_publisher_here_but_the_simulated_arm():
    for name in ARM_TOPICS:
        assert TOPICS[name].publishers == ('simulated_arm',)

"""Who of a session is alive, by what they say."""

from __future__ import annotations

from reward_learning_ros.nodes.running import Heartbeat, HeartbeatWatch


def test_a_node_that_was_started_anew_is_missed_once_however_soon_it_is_back(ros):
    # So long a silence is not waited for: only another start can make it missing again.
    watch = HeartbeatWatch(ros.create_node('listener'), ['speaker'], timeout_sec=3600.0)
    assert watch.missing == ('speaker',)
    first = ros.create_node('speaker')
    Heartbeat(first)
    ros.wait_until(lambda: not watch.missing)
    first.destroy_node()
    Heartbeat(ros.create_node('speaker'))
    ros.wait_until(lambda: watch.missing == ('speaker',))
    ros.wait_until(lambda: not watch.missing)

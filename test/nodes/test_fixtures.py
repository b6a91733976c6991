"""The fixtures keep tests apart, in one run and between runs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys

import pytest
from helpers.domains import DOMAINS, claimed_domain
from std_msgs.msg import String

from tools import domains

CLAIM_AND_WAIT = """
import sys
sys.path.insert(0, sys.argv[1])
from helpers.domains import claimed_domain
with claimed_domain() as domain_id:
    print(domain_id, flush=True)
    sys.stdin.read()
"""


def start_claimer(test_folder):
    return subprocess.Popen(
        [sys.executable, '-c', CLAIM_AND_WAIT, str(test_folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def test_folder(request):
    return request.config.rootpath / 'test'


def test_two_claims_never_coincide(domain_id, test_folder):
    claimers = [start_claimer(test_folder) for _ in range(3)]
    try:
        found = [int(claimer.stdout.readline()) for claimer in claimers]
        with claimed_domain() as mine:
            assert len({domain_id, mine, *found}) == 5
            assert {domain_id, mine, *found} <= set(DOMAINS)
    finally:
        for claimer in claimers:
            claimer.communicate()


def test_a_crash_gives_the_domain_back(test_folder, tmp_path, monkeypatch):
    # In a folder of its own, so that nobody else claims it in between.
    monkeypatch.setenv('TMPDIR', str(tmp_path))
    monkeypatch.setattr('tempfile.tempdir', None)
    claimer = start_claimer(test_folder)
    domain_id = int(claimer.stdout.readline())
    assert domain_id in DOMAINS
    monkeypatch.setattr(domains, 'DOMAINS', (domain_id,))
    try:
        with pytest.raises(TimeoutError), claimed_domain(timeout_sec=0.0):
            pass
        os.kill(claimer.pid, signal.SIGKILL)
        claimer.communicate()
        with claimed_domain() as again:
            assert again == domain_id
    finally:
        claimer.kill()
        claimer.communicate()


def test_two_domains_do_not_hear_each_other(make_ros):
    here = make_ros()
    with claimed_domain() as other_domain:
        there = make_ros(domain=other_domain)
        heard = {'here': [], 'there': []}
        publishers = {}
        for name, ros in (('here', here), ('there', there)):
            node = ros.create_node('node')
            publishers[name] = node.create_publisher(String, 'topic', 10)
            node.create_subscription(
                String, 'topic', lambda m, n=name: heard[n].append(m.data), 10
            )
        for name, ros in (('here', here), ('there', there)):
            ros.wait_until(lambda n=name: publishers[n].get_subscription_count())
        # Each hears itself: by the time the tenth arrives, one of the other would have, too.
        for index in range(10):
            for name, ros in (('here', here), ('there', there)):
                publishers[name].publish(String(data=name))
                ros.wait_until(lambda n=name, i=index: len(heard[n]) > i)
        assert heard == {'here': ['here'] * 10, 'there': ['there'] * 10}
        for publisher in publishers.values():
            assert publisher.get_subscription_count() == 1
        there.close()


def test_nodes_of_one_domain_hear_each_other_across_contexts(make_ros):
    one, two = make_ros(), make_ros()
    heard = []
    publisher = one.create_node('talker').create_publisher(String, 'topic', 10)
    two.create_node('listener').create_subscription(
        String, 'topic', lambda message: heard.append(message.data), 10
    )
    one.wait_until(publisher.get_subscription_count)
    publisher.publish(String(data='hello'))
    two.wait_until(lambda: heard)
    assert heard == ['hello']


def test_waiting_ends_at_the_deadline(ros):
    with pytest.raises(TimeoutError, match='not true'):
        ros.wait_until(lambda: False, timeout_sec=0.1)


def test_a_domain_in_which_somebody_listens_is_not_claimed(monkeypatch):
    with claimed_domain() as free:
        pass
    monkeypatch.setattr(domains, 'DOMAINS', (free,))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(('', 7400 + 250 * free))
        with pytest.raises(TimeoutError), claimed_domain(timeout_sec=0.0):
            pass

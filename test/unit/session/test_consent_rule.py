"""Which measured motions of an arm count as motions without consent in `make faults`."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.faults.consent_rule import MAX_REST_SEC, ConsentRule, Withdrawal
from benchmarks.faults.report import keep_results

MOVING_RAD_S = 0.02
BRAKING_SEC = 1.0


def unwanted(moves, *, consents=(), withdrawals=(), pushes=(), gap=None, unnoticed_sec=0.0):
    """Judge an arm that moves in intervals of time; returns the begin and end of what is wrong."""
    rule = ConsentRule(moving_rad_s=MOVING_RAD_S, max_gap_sec=0.05)
    rule.consents_sec += consents
    rule.pushes_sec += pushes
    rule.withdrawals += [
        Withdrawal(
            time_sec=time_sec,
            kind='stop pressed',
            braking_sec=BRAKING_SEC,
            unnoticed_sec=unnoticed_sec,
        )
        for time_sec in withdrawals
    ]
    times = np.arange(0.0, 30.0, 0.01)
    if gap is not None:
        times = times[(times < gap[0]) | (times > gap[1])]
    speeds = [0.3 if any(a <= t <= b for a, b in moves) else 0.001 for t in times]
    # In two parts, as a campaign judges after each order.
    middle = len(times) // 2
    found = rule.judge(list(times[:middle]), speeds[:middle])
    found += rule.judge(list(times[middle:]), speeds[middle:])
    assert found == rule.unwanted
    return [(motion.begin_sec, motion.end_sec) for motion in found]


def test_an_arm_that_nobody_let_move_must_not():
    assert unwanted([(2.0, 3.0)]) == [(pytest.approx(2.0), pytest.approx(3.0))]


def test_a_consent_is_for_a_motion_with_short_rests():
    assert unwanted([(2.0, 6.0), (8.0, 12.0)], consents=[1.5]) == []


def test_a_consent_that_is_not_used_is_gone():
    late_sec = 1.0 + MAX_REST_SEC + 1.0
    assert len(unwanted([(late_sec, late_sec + 2.0)], consents=[1.0])) == 1


def test_a_motion_under_way_may_brake_but_not_go_on():
    assert unwanted([(2.0, 5.9)], consents=[1.5], withdrawals=[5.0]) == []
    found = unwanted([(2.0, 7.0)], consents=[1.5], withdrawals=[5.0])
    assert found == [(pytest.approx(6.01), pytest.approx(7.0))]


def test_a_motion_from_rest_is_no_braking():
    found = unwanted([(2.0, 5.1), (5.6, 5.9)], consents=[1.5], withdrawals=[5.0])
    assert found == [(pytest.approx(5.6), pytest.approx(5.9))]
    # Where it turns, a swinging arm stands still for a moment.
    assert unwanted([(2.0, 5.1), (5.25, 5.9)], consents=[1.5], withdrawals=[5.0]) == []


def test_until_a_killed_node_is_missed_a_consent_of_before_may_still_be_used():
    killed = {'consents': [1.5], 'withdrawals': [1.6], 'unnoticed_sec': 2.0}
    assert unwanted([(1.8, 4.0)], **killed) == []
    assert len(unwanted([(1.8, 5.0)], **killed)) == 1
    assert len(unwanted([(3.8, 4.0)], **killed)) == 1


def test_a_consent_that_was_refused_is_gone():
    assert len(unwanted([(2.0, 3.0)], consents=[1.5], withdrawals=[1.6])) == 1


def test_release_of_a_stop_is_no_consent_and_another_consent_is():
    moves = [(2.0, 5.5), (12.0, 14.0)]
    assert len(unwanted(moves, consents=[1.5], withdrawals=[5.0])) == 1
    assert unwanted(moves, consents=[1.5, 11.8], withdrawals=[5.0]) == []
    # It was given before the last stop.
    assert len(unwanted(moves, consents=[1.5, 8.0], withdrawals=[5.0, 9.0])) == 1


def test_the_motion_of_a_pushed_arm_is_that_of_the_hand():
    assert unwanted([(2.0, 2.8)], pushes=[2.0]) == []
    assert len(unwanted([(2.0, 5.0)], pushes=[2.0])) == 1


def test_time_in_which_the_arm_was_not_let_run_is_no_braking_and_no_swinging():
    stopped = {'consents': [1.5], 'withdrawals': [5.0], 'gap': (5.2, 8.2)}
    assert unwanted([(2.0, 8.9)], **stopped) == []
    assert len(unwanted([(2.0, 10.0)], **stopped)) == 1
    pushed = {'pushes': [2.0], 'gap': (2.5, 8.0)}
    assert unwanted([(2.0, 8.4)], **pushed) == []
    assert len(unwanted([(2.0, 9.0)], **pushed)) == 1


def test_the_longest_motion_after_a_stop_is_told():
    rule = ConsentRule(moving_rad_s=MOVING_RAD_S, max_gap_sec=0.05)
    rule.withdrawals += [
        Withdrawal(time_sec=time_sec, kind='stop pressed', braking_sec=BRAKING_SEC)
        for time_sec in (2.0, 8.0)
    ]
    times = list(np.arange(0.0, 12.0, 0.01))
    speeds = [0.3 if 1.0 < t < 2.4 or 7.0 < t < 8.3 else 0.0 for t in times]
    longest = rule.longest_motions(times, speeds)
    assert longest == {'stop pressed': pytest.approx(0.4, abs=0.02)}


def test_a_run_of_some_parts_keeps_the_results_of_the_others(tmp_path):
    path = tmp_path / 'results' / 'faults_motion.json'
    keep_results(path, {'consent': {'orders': 1}, 'plans': {'replaced': 2}})
    keep_results(path, {'plans': {'replaced': 3}})
    assert json.loads(path.read_text()) == {'consent': {'orders': 1}, 'plans': {'replaced': 3}}

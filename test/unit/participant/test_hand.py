"""The hand of a simulated participant: how hard, how quickly and how exactly it guides."""

from __future__ import annotations

import numpy as np
import pytest

from reward_learning_ros.participant.hand import Hand, HandParameters, min_jerk

STEP_SEC = 0.02
QUIET = HandParameters(tremor_n=0.0)


def guide(hand, *, target, until_sec, stiffness=800.0, yield_sec=0.4, begin_sec=0.0):
    """Guide an arm that resists like a spring whose rest follows the tool; as arms here do.

    Args:
        hand: who holds it already.
        target: of time in seconds, (3,).
        until_sec: how long.
        stiffness: of the arm, N/m.
        yield_sec: time in which the arm's plan follows.
        begin_sec: when to begin.

    Returns:
        Times (k,), forces (k, 3) and displacements (k, 3).
    """
    rest, moved = np.zeros(3), np.zeros(3)
    rows = []
    for time_sec in np.arange(begin_sec, until_sec, STEP_SEC):
        ahead = target(time_sec + QUIET.anticipation_sec)
        force = hand.force(time_sec, target(time_sec), moved, ahead_m=ahead)
        # Of 3 kg and critically damped, it is soon where the forces balance.
        share = 1.0 - np.exp(-STEP_SEC / 0.06)
        moved = moved + share * (rest + force / stiffness - moved)
        rest = rest + STEP_SEC / yield_sec * (moved - rest)
        rows.append((time_sec, force, moved))
    times, forces, displacements = zip(*rows, strict=True)
    return np.array(times), np.array(forces), np.array(displacements)


def hand_of(parameters=QUIET, seed=0):
    hand = Hand(parameters, np.random.default_rng(seed))
    hand.take_hold(0.0, np.zeros(3))
    return hand


@pytest.mark.parametrize('size_m', [0.02, 0.1])
def test_it_brings_a_tool_that_gives_way_to_where_it_is_wanted(size_m):
    wanted = size_m * np.array([0.6, -0.8, 0.0])
    _, _, moved = guide(
        hand_of(HandParameters()), target=lambda t: min_jerk(t / 2.0) * wanted, until_sec=3.0
    )
    assert np.linalg.norm(moved[-1] - wanted) < 0.002 + 0.06 * size_m


def test_muscles_make_no_step_of_a_target_that_jumps():
    _, forces, _ = guide(hand_of(), target=lambda t: np.array([0.05, 0.0, 0.0]), until_sec=2.0)
    # 600 N/m times 5 cm are 30 N, which come over several steps.
    assert np.abs(np.diff(forces[:, 0], prepend=0.0)).max() < 10.0
    assert forces[0, 0] == 0.0


def test_it_is_no_stronger_than_it_is_and_does_not_fight_for_long():
    parameters = HandParameters(tremor_n=0.0, max_force_n=25.0, patience_sec=1.0)
    hand = hand_of(parameters)
    times, forces, _ = guide(
        hand, target=lambda t: np.array([0.3, 0.0, 0.0]), until_sec=4.0, yield_sec=np.inf
    )
    strength = np.linalg.norm(forces, axis=1)
    assert strength.max() == pytest.approx(25.0)
    at_its_limit = times[strength > 24.9]
    assert at_its_limit.max() - at_its_limit.min() < 1.0 + parameters.onset_sec + STEP_SEC
    assert not hand.is_holding
    assert strength[times > 3.0].max() == 0.0


def test_who_lets_go_ends_with_no_force_at_all():
    hand = hand_of(HandParameters())
    guide(hand, target=lambda t: np.array([0.05, 0.0, 0.0]), until_sec=1.0)
    hand.let_go(1.0)
    assert hand.is_letting_go
    forces = [hand.force(t, None, None) for t in np.arange(1.0, 1.5, STEP_SEC)]
    strength = np.linalg.norm(forces, axis=1)
    assert strength[1] > 5.0
    assert strength[-1] == 0.0
    assert not hand.is_holding


def test_a_tool_that_is_not_seen_is_let_go():
    hand = hand_of()
    hand.force(0.1, np.ones(3), None)
    assert hand.is_letting_go


def test_a_hand_that_sees_late_does_not_jerk():
    prompt, late = hand_of(), hand_of()
    target = np.array([0.03, 0.0, 0.0])
    times = np.arange(0.0, 2.0, 0.01)
    # A tool that drifts at 5 mm/s; the late one sees only every twelfth of its places.
    seen = np.floor(times / 0.12 + 1e-9) * 0.12
    for_prompt = [prompt.force(t, target, np.array([0.005 * t, 0.0, 0.0]))[0] for t in times]
    for_late = [
        late.force(t, target, np.array([0.005 * s, 0.0, 0.0]), s)[0]
        for t, s in zip(times, seen, strict=True)
    ]
    assert np.abs(np.array(for_prompt) - for_late)[50:].max() < 0.6


def test_tremor_is_there_and_differs_between_hands():
    forces = [
        hand_of(HandParameters(tremor_n=0.5), seed).force(1.0, np.zeros(3), np.zeros(3))
        for seed in range(3)
    ]
    assert np.abs(forces).max() <= 0.5
    assert len({tuple(force) for force in forces}) == 3

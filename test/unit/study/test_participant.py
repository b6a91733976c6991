"""A simulated participant: what they decide, when they push, and with which force."""

from __future__ import annotations

from concurrent.futures import Executor, Future

import numpy as np
import pytest

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.interface import ParticipantState, PlaybackState, PlaybackStatus
from reward_learning_ros.sensing.timeline import planned_position_m
from reward_learning_ros.study.hand import Hand, HandParameters
from reward_learning_ros.study.participant import Participant, ParticipantParameters, Push
from reward_learning_ros.study.participation import Participation

STEP_SEC = 0.02


class ThinkingAtOnce(Executor):
    def submit(self, function, *arguments):
        future = Future()
        future.set_result(function(*arguments))
        return future


@pytest.fixture(scope='module')
def participant():
    return Participant(ParticipantParameters(task='press', seed=4))


def show(participation, plan, *, state=PlaybackState.PLAYING, plan_time_sec=0.0, time_ns=0):
    status = PlaybackStatus(
        state=state,
        plan_stamp_ns=plan.stamp_ns,
        plan_time_sec=plan_time_sec,
        progress=plan_time_sec / plan.duration_sec,
    )
    participation.see_playback(status, time_ns)


def watch(participation, plan, *, until_sec, from_sec=0.0, follow=0.5):
    """Play a plan on an arm that gives way to the hand; return times, forces and deviations.

    Args:
        participation: who pushes.
        plan: what is played.
        until_sec: how long, in the plan's time.
        from_sec: likewise, where to begin.
        follow: metres per second and 100 N by which the tool gives way.
    """
    deviation = np.zeros(3)
    rows = []
    for step in range(round(from_sec / STEP_SEC), round(until_sec / STEP_SEC)):
        time_sec = step * STEP_SEC
        time_ns = round(time_sec * 1e9) + 1
        show(participation, plan, plan_time_sec=time_sec, time_ns=time_ns)
        planned = planned_position_m(plan, np.array([time_sec]))[0]
        force = participation.act(time_ns, planned + deviation)
        if force is not None:
            deviation = deviation + STEP_SEC * follow * force / 100.0
        rows.append((time_sec, np.zeros(3) if force is None else force, deviation))
    times, forces, deviations = zip(*rows, strict=True)
    return np.array(times), np.array(forces), np.array(deviations)


@pytest.fixture
def participation(participant):
    return Participation(participant, HandParameters(size_noise=0.0), 0, ThinkingAtOnce())


def test_the_same_seed_decides_the_same():
    parameters = ParticipantParameters(task='press', seed=4)
    one, other = Participant(parameters), Participant(parameters)
    plan = one.paths.initial_plan(1)
    for mine, yours in zip(one.decide(plan), other.decide(plan), strict=True):
        assert mine.onset_waypoint == yours.onset_waypoint
        np.testing.assert_array_equal(mine.displacement_m, yours.displacement_m)


def test_reliable_people_improve_the_plan_by_what_they_do():
    # The goal alone: every push can bring the end nearer to it.
    reliable = Participant(
        ParticipantParameters(task='press', theta=(1.0, 0.0, 0.0, 0.0), beta=200.0, seed=1)
    )
    start = reliable.task.plan + np.linspace(0.0, 1.0, 8)[:, None] * [-0.1, 0.1, 0.1]
    plan = reliable.paths.plan_of(start, 1)
    trajectory = np.array(plan.positions)
    pushes = reliable.decide(plan)
    assert pushes
    for push in pushes:
        trajectory[push.onset_waypoint :] += push.displacement_m
    assert reliable.regret_of(trajectory) < 0.5 * reliable.regret_of(plan.positions)


def test_pushes_are_inside_the_box_and_in_order(participant):
    pushes = participant.decide(participant.paths.initial_plan(1))
    onsets = [push.onset_waypoint for push in pushes]
    assert onsets == sorted(set(onsets))
    assert min(onsets) >= 1
    for push in pushes:
        size = np.linalg.norm(push.displacement_m)
        assert participant.parameters.smallest_correction_m <= size
        assert np.abs(push.displacement_m).max() <= 0.1 + 1e-9


def test_only_what_is_still_to_come_is_corrected(participant):
    pushes = participant.decide(participant.paths.initial_plan(1), 5)
    assert all(push.onset_waypoint >= 5 for push in pushes)
    assert participant.decide(participant.paths.initial_plan(1), 8) == ()


def test_who_sees_what_they_want_does_nothing(participant, participation):
    ideal = participant.paths.plan_of(participant.ideal, 5)
    assert participant.is_content_with(ideal)
    participation.see_plan(ideal)
    _, forces, _ = watch(participation, ideal, until_sec=20.0)
    assert not forces.any()
    assert participation.status.state is ParticipantState.CONTENT
    assert participation.pushes == 0


def test_weights_must_fit_the_task():
    with pytest.raises(InvalidInputError, match='has 2 weights'):
        Participant(ParticipantParameters(task='press', theta=(1.0, 0.0)))
    given = Participant(ParticipantParameters(task='press', theta=(1.0, 0.0, 0.0, 0.0)))
    np.testing.assert_array_equal(given.theta, [1.0, 0.0, 0.0, 0.0])


def test_they_push_before_the_waypoint_that_they_mean_and_as_far(participant, participation):
    plan = participant.paths.initial_plan(7)
    participation.see_plan(plan)
    show(participation, plan, state=PlaybackState.HOMING)
    assert participation.act(0, plan.positions[0]) is None
    participation._think()
    intended = list(participation._intended)
    times, forces, deviations = watch(participation, plan, until_sec=20.0, follow=1.0)
    touched = np.linalg.norm(forces, axis=1) > 0.0
    onsets = times[np.flatnonzero(np.diff(touched.astype(int), prepend=0) == 1)]
    assert participation.pushes == len(intended) == len(onsets)
    for push, onset_sec in zip(intended, onsets, strict=True):
        before, at = plan.times_sec[push.onset_waypoint - 1 : push.onset_waypoint + 1]
        assert before < onset_sec <= at
    wanted = sum(push.displacement_m for push in intended)
    np.testing.assert_allclose(deviations[-1], wanted, atol=0.03)
    assert np.linalg.norm(forces, axis=1).max() <= 30.0 + 1.0


def test_another_plan_ends_a_push(participant, participation):
    plan = participant.paths.initial_plan(7)
    participation.see_plan(plan)
    # An arm that does not give way, so that the hand would push for long.
    participation._intended = [Push(onset_waypoint=1, displacement_m=np.array([0.1, 0.0, 0.0]))]
    participation._subject = (plan.stamp_ns, 0)
    times, forces, _ = watch(participation, plan, until_sec=3.0, follow=0.0)
    assert participation.status.state is ParticipantState.PUSHING
    ideal = participant.paths.plan_of(participant.ideal, 8)
    participation.see_plan(ideal)
    times, forces, _ = watch(participation, ideal, from_sec=3.0, until_sec=6.0)
    strength = np.linalg.norm(forces, axis=1)
    assert strength[0] > 5.0
    assert strength[times > 3.6].max() == 0.0
    assert participation.pushes == 1


def test_a_push_goes_on_where_the_plan_ends(participant, participation):
    plan = participant.paths.initial_plan(7)
    last = len(plan.positions) - 1
    participation.see_plan(plan)
    participation._intended = [Push(onset_waypoint=last, displacement_m=np.array([0.1, 0, 0]))]
    participation._subject = (plan.stamp_ns, 0)
    watch(participation, plan, until_sec=plan.duration_sec, follow=0.0)
    assert participation.status.state is ParticipantState.PUSHING
    time_ns = round(plan.duration_sec * 1e9)
    show(
        participation,
        plan,
        state=PlaybackState.FINISHED,
        plan_time_sec=plan.duration_sec,
        time_ns=time_ns,
    )
    force = participation.act(time_ns + 10**9, plan.positions[-1])
    assert force[0] > 5.0
    show(participation, plan, state=PlaybackState.HOMING, time_ns=time_ns + 2 * 10**9)
    participation.act(time_ns + 2 * 10**9, plan.positions[-1])
    assert not participation.act(time_ns + 4 * 10**9, plan.positions[-1]).any()


def test_an_arm_that_stands_is_not_pushed(participant, participation):
    plan = participant.paths.initial_plan(7)
    participation.see_plan(plan)
    for state in (PlaybackState.IDLE, PlaybackState.HOMING, PlaybackState.FINISHED):
        show(participation, plan, state=state, plan_time_sec=2.0)
        assert participation.act(10, plan.positions[0]) is None
    assert participation.act(20, None) is None


def test_a_hand_comes_and_goes_with_little_jerk_and_gives_up():
    parameters = HandParameters(tremor_n=0.0, size_noise=0.0)
    hand = Hand(parameters, np.random.default_rng(0))
    hand.begin(0.0, np.array([0.2, 0.0, 0.0]), np.zeros(3))
    times = np.arange(0.0, 7.0, 0.01)
    forces = np.array([hand.force(time, np.zeros(3)) for time in times])
    assert forces[:, 0].max() == pytest.approx(parameters.largest_force_n)
    assert np.abs(np.diff(forces[:, 0])).max() < 1.2
    assert not hand.is_pushing
    assert forces[times > parameters.longest_sec + parameters.onset_sec + 0.02].max() == 0.0
    assert forces[0].max() == 0.0


def test_a_hand_that_sees_late_does_not_jerk():
    hands = [Hand(HandParameters(tremor_n=0.0), np.random.default_rng(0)) for _ in range(2)]
    for hand in hands:
        hand.begin(0.0, np.array([0.03, 0.0, 0.0]), np.zeros(3))
    prompt, late = hands
    times = np.arange(0.0, 2.0, 0.01)
    # A tool that drifts at 5 mm/s; the late one sees only every twelfth of its places.
    seen = np.floor(times / 0.12 + 1e-9) * 0.12
    for_prompt = [prompt.force(t, np.array([0.005 * t, 0.0, 0.0]))[0] for t in times]
    for_late = [
        late.force(t, np.array([0.005 * s, 0.0, 0.0]), s)[0]
        for t, s in zip(times, seen, strict=True)
    ]
    assert np.abs(np.array(for_prompt) - for_late)[50:].max() < 0.6


def test_who_is_not_content_pushes():
    # They seldom think of anything else than pushes that are not worth it.
    picky = ParticipantParameters(
        task='press', beta=0.1, effort=1000.0, seed=2, smallest_correction_m=0.06
    )
    deciding = Participant(picky)
    plan = deciding.paths.initial_plan(1)
    assert all(deciding.decide(plan) for _ in range(3))


def test_hands_differ_in_how_far_they_push():
    pulls = []
    for seed in range(8):
        hand = Hand(HandParameters(tremor_n=0.0), np.random.default_rng(seed))
        hand.begin(0.0, np.array([0.03, 0.0, 0.0]), np.zeros(3))
        pulls.append(hand.force(0.6, np.zeros(3))[0])
    assert np.std(pulls) / np.mean(pulls) == pytest.approx(0.05, abs=0.04)

"""A simulated participant at the arm: what each kind means, when they push, when they let go."""

from __future__ import annotations

from concurrent.futures import Executor, Future

import numpy as np
import pytest

from reward_learning_ros import core
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.interface import ParticipantState, PlaybackState, PlaybackStatus
from reward_learning_ros.participant.decisions import Participant, ParticipantParameters
from reward_learning_ros.participant.hand import HandParameters
from reward_learning_ros.participant.participation import ParticipantSimulation
from reward_learning_ros.participant.people import KINDS, Person
from reward_learning_ros.sensing.timeline import planned_position_m


class ThinkingAtOnce(Executor):
    def submit(self, function, *arguments, **options):
        future = Future()
        future.set_result(function(*arguments, **options))
        return future


class ThinkingForever(Executor):
    def submit(self, function, *arguments, **options):
        return Future()


class GivingArm:
    """An arm that gives way to the hand and stays where it was brought; the plan's time is all."""

    def __init__(self, participation, plan, *, step_sec=0.02, follow=1.0):
        self.participation, self.plan = participation, plan
        self.step_sec, self.follow = step_sec, follow
        self.displacement = np.zeros(3)
        self.times, self.forces, self.displacements = [], [], []
        participation.see_plan(plan)

    def say(self, state, plan_time_sec, time_ns):
        self.participation.see_playback(
            PlaybackStatus(
                state=state,
                plan_stamp_ns=self.plan.stamp_ns,
                plan_time_sec=plan_time_sec,
                progress=plan_time_sec / self.plan.duration_sec,
                fault='an obstacle' if state is PlaybackState.FAULT else '',
            ),
            time_ns,
        )

    def approach(self):
        self.say(PlaybackState.APPROACHING, 0.0, 0)
        assert self.participation.act(0, self.plan.positions[0]) is None

    def play(self, until_sec=np.inf, from_sec=0.0):
        end_sec = min(until_sec, self.plan.duration_sec)
        for time_sec in np.arange(from_sec, end_sec, self.step_sec):
            self.step(PlaybackState.PLAYING, time_sec, time_sec)
        if until_sec > end_sec:
            self.stand(PlaybackState.FINISHED, end_sec, at_sec=end_sec)

    def stand(self, state, from_sec, *, at_sec, duration_sec=1.0):
        for time_sec in np.arange(from_sec, from_sec + duration_sec, self.step_sec):
            self.step(state, at_sec, time_sec)

    def step(self, state, plan_time_sec, time_sec):
        time_ns = round(time_sec * 1e9) + 1
        self.say(state, plan_time_sec, time_ns)
        planned = planned_position_m(self.plan, np.array([plan_time_sec]))[0]
        force = self.participation.act(time_ns, planned + self.displacement)
        force = np.zeros(3) if force is None else force
        self.displacement = self.displacement + self.step_sec * self.follow * force / 100.0
        self.times.append(time_sec)
        self.forces.append(force)
        self.displacements.append(self.displacement)

    def strength(self, from_sec=0.0, until_sec=np.inf):
        times = np.array(self.times)
        chosen = (times >= from_sec) & (times < until_sec)
        return np.linalg.norm(np.array(self.forces)[chosen], axis=1)

    def displacement_at(self, time_sec):
        return self.displacements[int(np.searchsorted(self.times, time_sec)) - 1]


IDEALS = {}


def participation_of(kind, *, thinking=None, **options):
    # Draws for Press take a quarter of the time.
    task = 'press' if kind == 'model' else 'reach'
    parameters = ParticipantParameters(kind=kind, **{'task': task, 'seed': 3, **options})
    participant = Participant(parameters)
    # The same for all kinds, and slow to find: found once.
    key = (parameters.task, parameters.seed)
    if key in IDEALS:
        participant.person.__dict__['ideal'] = IDEALS[key]
    IDEALS[key] = participant.ideal
    return ParticipantSimulation(
        participant, HandParameters(), parameters.seed, thinking or ThinkingAtOnce()
    )


def arm_of(participation, trajectory=None, stamp_ns=7, **options):
    paths = participation.participant.paths
    shown = participation.participant.task.plan if trajectory is None else trajectory
    arm = GivingArm(participation, paths.plan_of(shown, stamp_ns), **options)
    arm.approach()
    return arm


def played(kind, trajectory=None, arm=None, **options):
    participation = participation_of(kind, **options)
    found = arm_of(participation, trajectory, **(arm or {}))
    found.play()
    return participation, found


@pytest.mark.parametrize('kind', KINDS)
def test_the_tool_is_where_it_was_meant_to_be_as_each_waypoint_is_passed(kind):
    participation, arm = played(kind)
    meant = participation.meant
    assert meant.plan_stamp_ns == 7
    np.testing.assert_allclose(meant.times_sec, arm.plan.times_sec[1:])
    missed = [
        np.linalg.norm(arm.displacement_at(at_sec) - wanted)
        for at_sec, wanted in zip(meant.times_sec, meant.displacements_m, strict=True)
    ]
    assert np.median(missed) < 0.005
    assert arm.strength().max() <= 30.0 + 3**0.5 * 0.3
    # Whatever they did, at the end they have let go.
    assert arm.strength(arm.plan.duration_sec + 0.6).max() == 0.0
    assert participation.status.state is not ParticipantState.PUSHING


def test_model_people_guide_the_arm_through_what_they_drew():
    participation, _ = played('model', beta=20.0)
    participant = participation.participant
    alone = Person(kind='model', task=participant.task, theta=participant.theta, beta=20.0, seed=3)
    np.testing.assert_allclose(
        participation.meant.deltas_m, alone.deltas(np.array(participant.task.plan)), atol=1e-12
    )
    assert participation.pushes == 1


def test_purposeful_people_mean_their_ideal_to_within_motor_noise():
    participation, arm = played('purposeful', motor_noise_m=0.0, min_push_m=0.0)
    ideal = participation.participant.ideal
    shown = arm.plan.positions
    space = participation.participant.task.space
    reached = shown[1:] + participation.meant.displacements_m
    for row, (place, wanted) in enumerate(zip(reached, ideal[1:], strict=True)):
        # A push is no longer than the task lets it be.
        is_within = (np.abs(wanted - place) < 0.005).all()
        assert is_within or np.abs(participation.meant.deltas_m[row]).max() > (
            0.9 * space.delta_high.max()
        )


def test_motor_noise_is_as_large_as_told():
    meant = []
    for seed in range(5):
        participation = participation_of('purposeful', motor_noise_m=0.02, seed=seed)
        participant = participation.participant
        intention = participant.intend(
            participant.paths.plan_of(participant.ideal + np.array([0.06, 0.0, 0.0]), 1)
        )
        for waypoint in range(1, len(participant.ideal)):
            target = intention.target_m(waypoint, np.zeros(3))
            # Along y and z no bound is near.
            meant += [] if target is None else list(target[1:])
    assert 0.01 < np.std(meant) < 0.03


def test_lazy_people_push_once_a_pass_even_if_the_plan_is_replaced():
    participation, _ = played('lazy')
    assert participation.meant.deltas_m.any(axis=1).sum() == 1
    assert participation.pushes == 1
    participant = participation.participant
    another = GivingArm(participation, participant.paths.plan_of(participant.task.plan, 8))
    another.play(from_sec=10.0)
    assert participation.pushes == 1
    # In the next pass they push again.
    next_arm = arm_of(participation, stamp_ns=9)
    next_arm.play()
    assert participation.pushes == 2


@pytest.mark.parametrize('kind', ['purposeful', 'content', 'lazy'])
def test_who_sees_what_they_want_does_nothing(kind):
    participation = participation_of(kind)
    arm = arm_of(participation, participation.participant.ideal)
    arm.play()
    assert not np.any(arm.forces)
    assert participation.status.state is ParticipantState.CONTENT
    assert participation.pushes == 0
    # Silence is told too, at every waypoint.
    assert participation.meant.deltas_m.shape == (len(arm.plan.positions) - 1, 3)
    assert not participation.meant.deltas_m.any()


def test_content_people_put_up_with_what_purposeful_ones_correct():
    lenient = {'content_share': 1.0, 'min_push_m': 0.001}
    content, _ = played('content', **lenient)
    purposeful, _ = played('purposeful', **lenient)
    assert content.pushes == 0
    assert purposeful.pushes > 0


def test_where_they_do_not_bother_the_arm_is_free():
    participation = participation_of('purposeful', motor_noise_m=0.0)
    participant = participation.participant
    # All waypoints from the second on are off by as much: one push is enough.
    shown = participant.ideal.copy()
    shown[2:] += np.array([0.0, 0.05, 0.0])
    arm = arm_of(participation, shown)
    arm.play()
    deltas = participation.meant.deltas_m
    assert deltas.any(axis=1).tolist() == [False, True, *[False] * (len(deltas) - 2)]
    times = arm.plan.times_sec
    assert arm.strength(0.0, times[1]).max() == 0.0
    assert arm.strength(times[1], times[2]).max() > 1.0
    assert arm.strength(times[2] + 0.8).max() == 0.0
    assert participation.pushes == 1


def test_they_look_where_the_arm_really_is():
    participation = participation_of('purposeful', motor_noise_m=0.0)
    participant = participation.participant
    shown = participant.ideal.copy()
    shown[2:] += np.array([0.0, 0.05, 0.0])
    # Somebody else has brought the arm there already.
    arm = arm_of(participation, shown)
    arm.play(until_sec=arm.plan.times_sec[1])
    arm.displacement = np.array([0.0, -0.05, 0.0])
    arm.play(from_sec=arm.plan.times_sec[1])
    assert participation.pushes == 0


@pytest.mark.parametrize('kind', ['model', 'lazy', 'purposeful'])
def test_decisions_do_not_depend_on_how_often_they_are_asked(kind):
    one, _ = played(kind)
    other, _ = played(kind, arm={'step_sec': 0.0133})
    assert one.pushes == other.pushes
    tolerance_m = 0.003 if kind == 'purposeful' else 0.0
    np.testing.assert_allclose(
        one.meant.displacements_m, other.meant.displacements_m, atol=tolerance_m
    )


def test_each_pass_is_another_one_and_each_seed_another_person():
    participation, _ = played('model')
    first = participation.meant
    again = arm_of(participation, stamp_ns=8)
    again.play()
    assert participation.meant.plan_stamp_ns == 8
    assert not np.allclose(first.deltas_m, participation.meant.deltas_m)
    other, _ = played('model', seed=4)
    assert not np.allclose(first.deltas_m, other.meant.deltas_m)
    assert not np.allclose(participation.participant.theta, other.participant.theta)


@pytest.mark.parametrize(
    'state',
    [PlaybackState.PAUSED, PlaybackState.FAULT, PlaybackState.STOPPED, PlaybackState.APPROACHING],
)
def test_an_arm_that_stands_is_let_go(state):
    participation = participation_of('model')
    arm = arm_of(participation)
    until_sec = arm.plan.times_sec[1] + 0.6 * arm.plan.times_sec[1]
    arm.play(until_sec=until_sec)
    assert participation.status.state is ParticipantState.PUSHING
    arm.stand(state, until_sec, at_sec=until_sec)
    assert arm.strength(until_sec + 0.4).max() == 0.0
    # What they meant for the next waypoint came to nothing: that is not silence.
    arm.play(from_sec=until_sec + 1.0, until_sec=arm.plan.times_sec[3] + 0.1)
    np.testing.assert_allclose(participation.meant.times_sec[0], arm.plan.times_sec[1])
    assert arm.plan.times_sec[2] not in participation.meant.times_sec


def test_another_plan_ends_what_was_meant_for_the_one_before():
    participation = participation_of('model')
    arm = arm_of(participation, follow=0.0)
    until_sec = 1.5 * arm.plan.times_sec[1]
    arm.play(until_sec=until_sec)
    assert arm.strength()[-1] > 5.0
    participant = participation.participant
    another = GivingArm(participation, participant.paths.plan_of(participant.task.plan, 8))
    another.play(from_sec=until_sec, until_sec=arm.plan.times_sec[2])
    assert another.strength(until_sec + 0.4).max() == 0.0
    assert participation.meant.plan_stamp_ns == 8
    assert not len(participation.meant.times_sec)
    another.play(from_sec=arm.plan.times_sec[2], until_sec=arm.plan.times_sec[3] + 0.1)
    np.testing.assert_allclose(participation.meant.times_sec, arm.plan.times_sec[3:4])


def test_who_has_not_thought_yet_watches():
    participation, arm = played('purposeful', thinking=ThinkingForever())
    assert not np.any(arm.forces)
    assert participation.meant is None


def test_an_arm_that_is_not_seen_is_not_pushed():
    participation = participation_of('model')
    arm = arm_of(participation)
    arm.say(PlaybackState.PLAYING, 2.0, 10)
    assert participation.act(20, None) is None


def test_theta_comes_from_the_prior_a_preset_or_is_given():
    drawn = Participant(ParticipantParameters(task='press', seed=5))
    again = Participant(ParticipantParameters(task='press', seed=5, kind='lazy'))
    np.testing.assert_array_equal(drawn.theta, again.theta)
    assert drawn.task.theta.contains(drawn.theta)
    preset = Participant(ParticipantParameters(task='press', preset='goal'))
    np.testing.assert_array_equal(preset.theta, preset.task.presets['goal'])
    given = Participant(ParticipantParameters(task='press', theta=(1.0, 0.0, 0.0, 0.0)))
    np.testing.assert_array_equal(given.theta, [1.0, 0.0, 0.0, 0.0])
    with pytest.raises(InvalidInputError, match='has 2 weights'):
        Participant(ParticipantParameters(task='press', theta=(1.0, 0.0)))
    with pytest.raises(UnknownNameError, match='goal_obstacle'):
        Participant(ParticipantParameters(task='press', preset='none such'))
    with pytest.raises(InvalidInputError, match='both'):
        Participant(ParticipantParameters(task='press', preset='goal', theta=(1.0, 0.0, 0.0, 0.0)))


def test_they_judge_by_features_as_soft_as_told():
    soft = Participant(ParticipantParameters(task='press'))
    assert soft.task.motor_noise_m == core.MOTOR_NOISE_M
    sharp = Participant(ParticipantParameters(task='press', feature_noise_m=0.0))
    assert sharp.task.motor_noise_m == 0.0

"""A pass becomes a delta at every waypoint; silence is told from what nobody knows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reward_learning_ros.interface import PassCorrections, Plan
from reward_learning_ros.sensing.passes import PassRecorder
from reward_learning_ros.sensing.samples import NANOSECONDS
from reward_learning_ros.sensing.timeline import PlaybackMoment, PlaybackTimeline

STEP_SEC = 0.01
PLAN = Plan(
    stamp_ns=7,
    frame_id='fr3_link0',
    positions=np.linspace((0.35, 0.0, 0.5), (0.6, 0.3, 0.2), 6),
    orientations=np.tile([1.0, 0.0, 0.0, 0.0], (6, 1)),
    times_sec=np.linspace(0.0, 10.0, 6),
)
START_SEC = 100.0
Contact = tuple[float, float]


def nanoseconds(seconds: float) -> int:
    return round((START_SEC + seconds) * NANOSECONDS)


class Arm:
    """An arm in a pass: it is where it is pushed to, and stays there."""

    def __init__(self, until_sec: float = PLAN.duration_sec) -> None:
        self.timeline = PlaybackTimeline(memory_sec=None)
        self.recorder = PassRecorder(self.timeline)
        self.play(PLAN, 0.0, until_sec=until_sec)

    def play(
        self,
        plan: Plan,
        begin_sec: float,
        plan_sec: float = 0.0,
        until_sec: float = PLAN.duration_sec,
    ) -> None:
        """Play a plan from one time in it until another."""
        for at_sec in (plan_sec, until_sec):
            self.timeline.add(
                PlaybackMoment(
                    time_ns=nanoseconds(begin_sec + at_sec - plan_sec),
                    plan=plan,
                    plan_time_sec=at_sec,
                    is_moving=at_sec < plan.duration_sec,
                )
            )

    def run(
        self,
        moved_m: Callable[[float], np.ndarray],
        contacts: Sequence[Contact] = (),
        *,
        begin_sec: float = 0.0,
        end_sec: float = 11.0,
        holes: Sequence[Contact] = (),
        resting_m: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> PassCorrections | None:
        """Follow the arm; contacts become known 0.1 s after their ends."""
        rest = np.asarray(resting_m)
        events = [(a + 0.1, 0, a, b) for a, b in contacts]
        events += [(b + 0.1, 1, a, b) for a, b in contacts]
        events.sort()
        for time_sec in np.arange(begin_sec, end_sec, STEP_SEC):
            while events and events[0][0] <= time_sec:
                _, is_end, onset_sec, contact_end_sec = events.pop(0)
                if is_end:
                    self.recorder.close(nanoseconds(contact_end_sec), moved_m(contact_end_sec))
                else:
                    self.recorder.open(nanoseconds(onset_sec), rest)
            if not any(a < time_sec < b for a, b in holes):
                self.recorder.follow(nanoseconds(time_sec), moved_m(time_sec) + rest)
        return self.recorder.corrections()


def ramp(*pushes: tuple[float, float, Sequence[float]]) -> Callable[[float], np.ndarray]:
    """Return the displacement (3,) by time of pushes (from, until, by how much)."""

    def moved(time_sec: float) -> np.ndarray:
        total = np.zeros(3)
        for begin, end, vector in pushes:
            total += np.clip((time_sec - begin) / (end - begin), 0.0, 1.0) * np.asarray(vector)
        return total

    return moved


def test_the_deltas_of_a_guided_pass_add_up_to_where_the_arm_was_at_each_waypoint():
    moved = ramp((1.0, 4.0, (0.06, 0.0, 0.0)), (6.5, 9.5, (0.0, 0.09, 0.0)))
    told = Arm().run(moved, [(1.0, 4.2), (6.5, 9.8)])
    np.testing.assert_array_equal(told.times_sec, PLAN.times_sec[1:])
    expected = [moved(time_sec) for time_sec in PLAN.times_sec[1:]]
    np.testing.assert_allclose(np.cumsum(told.delta_positions, axis=0), expected, atol=1e-3)
    assert told.is_push.tolist() == [True, True, False, True, True]


def test_a_pass_that_nobody_touched_is_silent_at_every_waypoint():
    told = Arm().run(ramp())
    np.testing.assert_array_equal(told.times_sec, PLAN.times_sec[1:])
    assert told.pushes == 0
    assert not told.delta_positions.any()


def test_what_the_tool_was_off_its_plan_without_being_pushed_is_no_correction():
    told = Arm().run(ramp((1.0, 1.5, (0.0, 0.05, 0.0))), [(1.0, 5.0)], resting_m=(0.003, 0, 0))
    assert told.is_push.tolist() == [True, False, False, False, False]
    np.testing.assert_allclose(told.delta_positions[0], [0.0, 0.05, 0.0], atol=1e-9)


def test_a_push_smaller_than_what_counts_is_counted_with_the_next():
    moved = ramp((0.5, 1.5, (0.004, 0, 0)), (2.5, 3.5, (0.004, 0, 0)))
    told = Arm().run(moved, [(0.5, 1.6), (2.5, 3.6)])
    assert told.is_push.tolist() == [False, True, False, False, False]
    np.testing.assert_allclose(told.delta_positions[1], [0.008, 0, 0], atol=1e-9)


def test_the_tail_of_a_release_is_no_second_push():
    # Held over a waypoint and let go, the arm gives way by 2 mm.
    moved = ramp((0.5, 1.5, (0.05, 0, 0)), (2.1, 2.3, (-0.002, 0, 0)))
    told = Arm().run(moved, [(0.5, 2.3)])
    assert told.is_push.tolist() == [True, False, False, False, False]


@pytest.mark.parametrize(('hole', 'unknown'), [((2.5, 3.5), 4.0), ((2.5, 2.9), None)])
def test_a_hole_in_the_samples_is_not_silence(hole, unknown):
    told = Arm().run(ramp(), holes=[hole])
    missing = set(PLAN.times_sec[1:].tolist()) - set(told.times_sec.tolist())
    assert missing == ({unknown} if unknown else set())


def test_who_moved_the_arm_during_a_hole_pushed():
    told = Arm().run(ramp((2.6, 3.4, (0.05, 0, 0))), [(2.5, 3.5)], holes=[(2.55, 3.45)])
    at = told.times_sec.tolist().index(4.0)
    np.testing.assert_allclose(told.delta_positions[at], [0.05, 0, 0], atol=1e-9)


def test_a_pass_that_was_cut_off_counts_as_far_as_it_got():
    arm = Arm()
    told = arm.run(ramp((0.5, 1.5, (0.05, 0, 0))), [(0.5, 1.6)], end_sec=5.0)
    assert told.times_sec.tolist() == [2.0, 4.0]
    assert not arm.recorder.is_complete
    arm.recorder.end()
    assert arm.recorder.is_complete
    assert arm.recorder.corrections() == told


def test_a_push_that_ended_is_told_before_its_waypoint_is_passed():
    arm = Arm()
    moved = ramp((2.2, 3.0, (0.0, 0.0, 0.07)))
    told = arm.run(moved, [(2.2, 3.1)], end_sec=3.5)
    assert told.times_sec.tolist() == [2.0, 4.0]
    np.testing.assert_allclose(told.delta_positions[1], [0, 0, 0.07], atol=1e-9)
    # While it goes on nobody knows where it leads.
    assert Arm().run(moved, [(2.2, 3.1)], end_sec=2.8).times_sec.tolist() == [2.0]


def test_the_last_waypoint_is_where_the_arm_was_let_go():
    arm = Arm()
    moved = ramp((9.0, 12.0, (0.0, 0.09, 0.0)))
    arm.run(moved, [(9.0, 12.2)], end_sec=12.0)
    assert not arm.recorder.is_complete
    told = Arm().run(moved, [(9.0, 12.6)], end_sec=14.0)
    np.testing.assert_allclose(told.delta_positions[-1], [0, 0.09, 0], atol=1e-9)


def test_at_the_last_waypoint_it_counts_where_the_arm_was_held_not_what_it_could_keep():
    arm = Arm()
    moved = ramp((8.5, 9.5, (0.0, 0.0, -0.1)), (10.5, 10.8, (0.0, 0.0, 0.08)))
    # It is let go at 10.7 s and goes back to what the arm can reach.
    told = arm.run(moved, [(8.5, 10.7)], end_sec=12.0)
    np.testing.assert_allclose(told.delta_positions[-1], [0, 0, -0.1], atol=1e-9)


def test_a_pass_is_complete_once_the_arm_stands_and_nobody_holds_it():
    arm = Arm()
    arm.run(ramp(), end_sec=10.1)
    assert not arm.recorder.is_complete
    arm.run(ramp(), begin_sec=10.1, end_sec=10.5)
    assert arm.recorder.is_complete
    # Pushed where it stands, it is not.
    arm.recorder.open(nanoseconds(10.5), np.zeros(3))
    assert not arm.recorder.is_complete


def test_a_contact_that_was_none_leaves_nothing():
    arm = Arm()
    arm.run(ramp((0.5, 1.0, (0.05, 0, 0))), end_sec=0.5)
    arm.recorder.open(nanoseconds(0.5), np.zeros(3))
    arm.recorder.drop()
    assert arm.run(ramp(), begin_sec=0.5).pushes == 0


def test_a_plan_that_changes_under_a_hand_belongs_to_neither_pass():
    arm = Arm(until_sec=2.9)
    arm.play(dataclasses.replace(PLAN, stamp_ns=8), 3.0, plan_sec=3.0)
    moved = ramp((2.5, 3.5, (0.06, 0, 0)), (6.5, 7.5, (0, 0.06, 0)))
    told = arm.run(moved, [(2.5, 5.0), (6.5, 7.8)])
    assert told.plan_stamp_ns == 8
    assert told.times_sec.tolist() == [8.0, 10.0]
    np.testing.assert_allclose(told.delta_positions, [[0, 0.06, 0], [0, 0, 0]], atol=1e-9)
    before = next(each for each in arm.recorder.take() if each.plan_stamp_ns == 7)
    assert before.times_sec.tolist() == [2.0]
    assert before.pushes == 0


def test_of_a_pass_that_was_under_way_nothing_is_told():
    arm = Arm()
    assert arm.run(ramp(), begin_sec=4.0) is None
    assert arm.recorder.is_complete


def test_a_plan_that_is_played_again_is_another_pass():
    arm = Arm()
    arm.run(ramp((0.5, 1.5, (0.05, 0, 0))), [(0.5, 1.6)], end_sec=5.0)
    arm.play(PLAN, 20.0)
    told = arm.run(ramp(), begin_sec=20.0, end_sec=31.0)
    assert told.pushes == 0
    assert len(told.times_sec) == 5


def test_each_change_is_told_once():
    arm = Arm()
    arm.run(ramp(), end_sec=2.5)
    assert len(arm.recorder.take()) == 1
    assert arm.recorder.take() == []
    arm.run(ramp(), begin_sec=2.5, end_sec=3.5)
    assert arm.recorder.take() == []


waypoint_deltas = st.lists(
    st.one_of(
        st.just((0.0, 0.0, 0.0)),
        st.tuples(*[st.floats(-0.1, 0.1).map(lambda x: round(x, 3))] * 3).filter(
            lambda v: np.linalg.norm(v) > 0.012
        ),
    ),
    min_size=5,
    max_size=5,
)


@settings(max_examples=25)
@given(deltas=waypoint_deltas)
def test_what_was_meant_at_each_waypoint_is_what_is_told(deltas):
    pushes, contacts = [], []
    for index, delta in enumerate(deltas):
        if any(delta):
            before, at = PLAN.times_sec[index : index + 2]
            pushes.append((before + 0.3, at - 0.3, delta))
            contacts.append((before + 0.3, at - 0.2))
    told = Arm().run(ramp(*pushes), contacts)
    assert told.is_push.tolist() == [any(delta) for delta in deltas]
    np.testing.assert_allclose(told.delta_positions, deltas, atol=1e-9)


def test_an_arm_that_stands_and_was_told_of_its_next_plan_is_in_no_pass_of_it():
    arm = Arm()
    told = arm.run(ramp(), end_sec=10.5)
    arm.recorder.take()
    arm.timeline.add(
        PlaybackMoment(
            time_ns=nanoseconds(10.6),
            plan=dataclasses.replace(PLAN, stamp_ns=8),
            plan_time_sec=PLAN.duration_sec,
            is_moving=False,
        )
    )
    arm.run(ramp(), [(11.0, 12.0)], begin_sec=10.6, end_sec=13.0)
    assert arm.recorder.take() == []
    assert arm.recorder.is_complete
    assert arm.recorder.corrections() == told

"""What the playback says becomes the moments that contacts are placed by."""

from __future__ import annotations

import dataclasses

import numpy as np
from helpers.sensing_scenarios import PLAN

from reward_learning_ros.interface import Plan, PlaybackState, PlaybackStatus
from reward_learning_ros.sensing.timeline import PlaybackFeed, PlaybackTimeline

SECOND = 1_000_000_000


def feed() -> PlaybackFeed:
    return PlaybackFeed(PlaybackTimeline())


def status(state: PlaybackState, plan_time_sec: float = 0.0, plan: Plan = PLAN) -> PlaybackStatus:
    return PlaybackStatus(
        state=state,
        plan_stamp_ns=plan.stamp_ns,
        plan_time_sec=plan_time_sec,
        fault='reflex' if state is PlaybackState.FAULT else '',
    )


def plan_times(made: PlaybackFeed, *seconds: float) -> list[float]:
    return made.timeline.plan_time_sec(np.array(seconds) * SECOND).tolist()


def test_a_status_that_comes_before_its_plan_is_not_lost():
    made = feed()
    made.add_status(status(PlaybackState.PLAYING, 1.0), 10 * SECOND)
    made.add_status(status(PlaybackState.PLAYING, 2.0), 11 * SECOND)
    assert made.lacks_plan
    assert np.isnan(plan_times(made, 10.5)).all()
    made.add_plan(PLAN)
    assert not made.lacks_plan
    assert plan_times(made, 10.5) == [1.5]


def test_on_the_way_to_the_start_and_in_a_fault_no_plan_is_played():
    made = feed()
    made.add_plan(PLAN)
    made.add_status(status(PlaybackState.APPROACHING), 10 * SECOND)
    made.add_status(status(PlaybackState.PLAYING), 12 * SECOND)
    made.add_status(status(PlaybackState.FAULT, 3.0), 15 * SECOND)
    assert made.timeline.plan_during(10 * SECOND, 11 * SECOND) is None
    assert made.timeline.plan_during(15 * SECOND, 16 * SECOND) is None
    plan, from_ns, until_ns = made.timeline.plan_during(14 * SECOND, 17 * SECOND)
    assert (plan, from_ns, until_ns) == (PLAN, 14 * SECOND, 15 * SECOND)


def test_time_in_the_plan_stands_still_while_it_is_paused_or_held_at_its_end():
    made = feed()
    made.add_plan(PLAN)
    made.add_status(status(PlaybackState.PLAYING, 1.0), 10 * SECOND)
    made.add_status(status(PlaybackState.PAUSED, 2.0), 11 * SECOND)
    assert plan_times(made, 12.0, 13.0) == [2.0, 2.0]
    made.add_status(status(PlaybackState.FINISHED, 10.0), 20 * SECOND)
    assert plan_times(made, 25.0) == [10.0]


def test_it_tells_when_nothing_shifts_the_plan_yet():
    made = feed()
    other = Plan(
        stamp_ns=PLAN.stamp_ns + 1,
        frame_id=PLAN.frame_id,
        positions=PLAN.positions,
        orientations=PLAN.orientations,
        times_sec=PLAN.times_sec,
    )
    told = [
        made.add_status(status(state, at, plan), 10 * SECOND + i)
        for i, (state, at, plan) in enumerate(
            (
                (PlaybackState.APPROACHING, 0.0, PLAN),
                (PlaybackState.APPROACHING, 0.0, PLAN),
                (PlaybackState.PLAYING, 0.5, PLAN),
                (PlaybackState.PAUSED, 3.0, PLAN),
                # A resume goes on with the shift that was taught.
                (PlaybackState.APPROACHING, 3.0, PLAN),
                (PlaybackState.PLAYING, 3.0, PLAN),
                (PlaybackState.PLAYING, 4.0, other),
                (PlaybackState.FINISHED, 10.0, other),
                # The way home begins no pass.
                (PlaybackState.HOMING, 0.0, other),
                (PlaybackState.APPROACHING, 0.0, other),
            )
        )
    ]
    assert told == [True, False, False, False, False, False, True, False, False, True]
    assert made.playbacks == 2


def test_what_is_heard_late_counts_from_when_it_was_so():
    made = feed()
    made.add_plan(PLAN)
    for plan_time_sec, delay in ((1.0, 0.0), (2.0, 0.4), (3.0, 0.1)):
        time_ns = round((10 + plan_time_sec) * SECOND)
        told = dataclasses.replace(status(PlaybackState.PLAYING, plan_time_sec), stamp_ns=time_ns)
        made.add_status(told, time_ns + round(delay * SECOND))
    np.testing.assert_allclose(plan_times(made, 11.5, 12.5, 13.2), [1.5, 2.5, 3.2])


def test_the_stamp_of_another_clock_does_not_count():
    made = feed()
    made.add_plan(PLAN)
    told = dataclasses.replace(status(PlaybackState.PLAYING, 1.0), stamp_ns=10**18)
    made.add_status(told, 11 * SECOND)
    assert made.timeline.newest_ns == 11 * SECOND

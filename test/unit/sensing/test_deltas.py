"""A push becomes the correction that the person meant, of the plan that they saw."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from helpers.sensing_scenarios import (
    LEG_SEC,
    PLAN,
    WAYPOINTS,
    assert_same,
    correct,
    recording,
    seconds,
)

from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.sensing.contact_parameters import ContactParameters
from reward_learning_ros.sensing.displacement import (
    ADMITTANCE,
    RELEASE,
    DisplacementParameters,
    check_sign,
    estimate_tracking_lag_sec,
    explained_share,
    force_from_torque,
)
from reward_learning_ros.sensing.live import LiveDeformation, LiveParameters
from reward_learning_ros.sensing.samples import NANOSECONDS, Stream
from reward_learning_ros.sensing.synthetic import Push, random_pushes
from reward_learning_ros.sensing.timeline import PlaybackMoment, PlaybackTimeline

PUSH = Push(start_sec=4.0, duration_sec=1.5, force_n=(4.0, 18.0, -6.0))


def angle_deg(first: np.ndarray, second: np.ndarray) -> float:
    cosine = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))


def test_random_pushes_give_the_displacement_of_the_tool():
    pushes = random_pushes(30, rng=np.random.default_rng(2))
    made = recording(pushes[-1].end_sec + 2.0, *pushes)
    recorder, corrections = correct(made)
    assert len(corrections) == recorder.counts.pushes == len(pushes)
    truths = [made.peak_displacement_m(push) for push in pushes]
    errors = [
        np.linalg.norm(c.displacement_m - truth)
        for c, truth in zip(corrections, truths, strict=True)
    ]
    angles = [angle_deg(c.displacement_m, t) for c, t in zip(corrections, truths, strict=True)]
    assert np.median(errors) < 0.005
    assert max(errors) < 0.01
    assert max(angles) < 10.0
    for correction, push in zip(corrections, pushes, strict=True):
        assert correction.peak_force_n == pytest.approx(np.linalg.norm(push.force_n), rel=0.2)
        assert 0.8 < correction.confidence <= 1.0


def test_blocks_shuffling_and_doubling_give_the_same_corrections():
    pushes = random_pushes(4, rng=np.random.default_rng(3))
    made = recording(pushes[-1].end_sec + 1.0, *pushes)
    expected = correct(made)[1]
    assert len(expected) == 4
    assert_same(correct(made, size=1234)[1], expected)
    arrivals = made.arrivals()
    rng = np.random.default_rng(4)
    late_ns = rng.uniform(0.0, 20e6, len(arrivals))
    order = np.argsort(arrivals.time_ns - made.time_ns[0] + late_ns, kind='stable')
    assert_same(correct(made, arrivals[order])[1], expected)
    assert_same(correct(made, arrivals[np.repeat(np.arange(len(arrivals)), 2)])[1], expected)


def test_two_seconds_without_samples_give_the_same_correction():
    push = Push(start_sec=4.0, duration_sec=3.0, force_n=(0.0, 20.0, 0.0))
    made = recording(10.0, push)
    (expected,) = correct(made)[1]
    arrivals = made.arrivals()
    since = (arrivals.time_ns - made.time_ns[0]) / NANOSECONDS
    (correction,) = correct(made, arrivals[(since < 4.5) | (since >= 6.5)])[1]
    np.testing.assert_allclose(correction.displacement_m, expected.displacement_m, atol=0.002)
    assert abs(correction.duration_sec - expected.duration_sec) < 0.02
    assert correction.confidence < expected.confidence


def test_a_contact_names_plan_onset_and_force():
    made = recording(8.0, PUSH)
    (contact,) = correct(made)[1]
    assert contact.plan_stamp_ns == PLAN.stamp_ns
    assert contact.onset_plan_sec == pytest.approx(
        LEG_SEC * (0.5 - 0.5 * np.cos(np.pi * seconds(made, contact.onset_ns) / LEG_SEC)),
        abs=0.01,
    )


def test_admittance_integrates_the_force():
    made = recording(8.0, PUSH)
    parameters = DisplacementParameters(displacement_source=ADMITTANCE, admittance_m_per_n_s=0.003)
    (correction,) = correct(made, displacement=parameters)[1]
    impulse = made.force_n.sum(axis=0) * 0.001
    assert correction.source == ADMITTANCE
    np.testing.assert_allclose(correction.displacement_m, 0.003 * impulse, atol=0.008)


def test_without_poses_the_force_stands_in_and_confidence_falls():
    made = recording(8.0, PUSH)
    arrivals = made.arrivals()
    (correction,) = correct(made, arrivals[arrivals.stream != Stream.POSE])[1]
    assert correction.source == ADMITTANCE
    assert correction.confidence < correct(made)[1][0].confidence


def test_without_pose_and_force_there_is_no_correction_but_a_count():
    made = recording(8.0, PUSH)
    arrivals = made.arrivals()
    kept = np.isin(arrivals.stream, [Stream.TORQUE])
    recorder, corrections = correct(
        made, arrivals[kept], contact=ContactParameters(bias_prior_nm=0.2)
    )
    assert corrections == []
    assert recorder.counts.without_displacement == recorder.counts.contacts > 0


def test_the_moment_of_release_counts_if_asked_for():
    out = Push(start_sec=4.0, duration_sec=2.0, force_n=(0.0, 30.0, 0.0))
    back = Push(start_sec=5.0, duration_sec=1.0, force_n=(0.0, -12.0, 0.0))
    made = recording(9.0, out, back)
    (peak,) = correct(made)[1]
    (release,) = correct(made, displacement=DisplacementParameters(displacement_at=RELEASE))[1]
    assert release.displacement_m[1] < 0.8 * peak.displacement_m[1]


def timeline_with_change(made, change_ns, before, after):
    """Another plan from one moment on, told of every 50 ms and at that moment."""
    timeline = PlaybackTimeline()
    times_ns = np.unique(np.append(made.time_ns[::50], change_ns))
    for time_ns in times_ns:
        timeline.add(
            PlaybackMoment(
                time_ns=int(time_ns),
                plan=before if time_ns < change_ns else after,
                plan_time_sec=float(np.interp(time_ns, made.time_ns, made.plan_time_sec)),
                is_moving=True,
            )
        )
    return timeline


# At a point of the recorder's, which stand 10 ms apart, and between two of them.
@pytest.mark.parametrize('offset_ns', [0, 3_000_000])
def test_a_plan_that_changes_during_a_contact_does_not_take_it_over(offset_ns):
    made = recording(9.0, Push(start_sec=4.0, duration_sec=2.0, force_n=(0.0, 20.0, 0.0)))
    other = dataclasses.replace(PLAN, stamp_ns=8, positions=WAYPOINTS + 0.5)
    change_ns = int(made.time_ns[4700]) + offset_ns
    timeline = timeline_with_change(made, change_ns, PLAN, other)
    (correction,) = correct(made, timeline=timeline)[1]
    assert correction.plan_stamp_ns == PLAN.stamp_ns
    assert correction.end_ns == change_ns
    # The other plan's place is not the person's doing.
    assert np.linalg.norm(correction.displacement_m) < 0.08


def test_a_push_that_had_hardly_begun_when_the_plan_changed_is_no_correction():
    made = recording(9.0, Push(start_sec=4.0, duration_sec=2.0, force_n=(0.0, 20.0, 0.0)))
    other = dataclasses.replace(PLAN, stamp_ns=8, positions=WAYPOINTS + 0.5)
    timeline = timeline_with_change(made, int(made.time_ns[4300]), PLAN, other)
    recorder, corrections = correct(made, timeline=timeline)
    assert corrections == []
    assert recorder.counts.cut_short == 1


def test_what_the_tool_was_off_the_plan_before_does_not_count_in_the_next():
    made = recording(9.0, Push(start_sec=4.0, duration_sec=2.0, force_n=(0.0, 20.0, 0.0)))
    other = dataclasses.replace(PLAN, stamp_ns=8, positions=WAYPOINTS + 0.5)
    change_ns = int(made.time_ns[3900])
    timeline = timeline_with_change(made, change_ns, other, PLAN)
    (correction,) = correct(made, timeline=timeline)[1]
    assert correction.plan_stamp_ns == PLAN.stamp_ns
    (undisturbed,) = correct(made)[1]
    np.testing.assert_allclose(correction.displacement_m, undisturbed.displacement_m, atol=0.005)


def test_a_contact_before_the_playback_counts_from_its_start():
    made = recording(9.0, Push(start_sec=3.0, duration_sec=3.0, force_n=(0.0, 20.0, 0.0)))
    timeline = PlaybackTimeline()
    timeline.add(
        PlaybackMoment(time_ns=int(made.time_ns[0]), plan=None, plan_time_sec=0.0, is_moving=False)
    )
    start_ns = int(made.time_ns[4000])
    timeline.add(PlaybackMoment(time_ns=start_ns, plan=PLAN, plan_time_sec=0.0, is_moving=True))
    (correction,) = correct(made, timeline=timeline)[1]
    assert correction.onset_ns == start_ns
    assert correction.onset_plan_sec == 0.0


def test_a_contact_without_any_plan_is_counted_and_no_correction():
    recorder, corrections = correct(recording(8.0, PUSH), timeline=PlaybackTimeline())
    assert corrections == []
    assert recorder.counts.without_plan == 1


@pytest.mark.parametrize('plan_time_sec', [0.0, 3.3, LEG_SEC])
def test_a_push_during_a_pause_is_where_the_plan_stands(plan_time_sec):
    share = plan_time_sec / LEG_SEC
    at = float(np.arccos(1.0 - 2.0 * share) / np.pi * LEG_SEC)
    # The arm stands still at one place of the plan: a leg that takes for ever.
    made = recording(at + 8.0, Push(start_sec=at + 4.0, duration_sec=1.0, force_n=(0, 20.0, 0)))
    timeline = PlaybackTimeline()
    timeline.add(
        PlaybackMoment(
            time_ns=int(made.time_ns[0]), plan=PLAN, plan_time_sec=plan_time_sec, is_moving=False
        )
    )
    (contact,) = correct(made, timeline=timeline)[1]
    assert contact.onset_plan_sec == plan_time_sec


def test_the_live_shift_follows_the_tool_and_keeps_what_it_was_taught():
    made = recording(8.0, PUSH)
    recorder, (correction,) = correct(made)
    shift = recorder.live.shift_m
    assert angle_deg(shift, correction.displacement_m) < 10.0
    assert 0.5 < np.linalg.norm(shift) / np.linalg.norm(correction.displacement_m) <= 1.05
    recorder.live.reset()
    assert not recorder.live.shift_m.any()


def test_the_live_shift_is_bounded_in_speed_and_size_and_a_false_contact_is_undone():
    live = LiveDeformation(LiveParameters(max_shift_speed_m_s=0.1, max_shift_m=0.2))
    live.begin(0, np.zeros((0, 3)))
    before = live.shift_m
    for i in range(1, 500):
        live.advance(i * 10_000_000, np.array([5.0, 0.0, 0.0]), None)
        assert np.linalg.norm(live.shift_m - before) <= 0.1 * 0.01 + 1e-12
        before = live.shift_m
    assert np.linalg.norm(live.shift_m) == pytest.approx(0.2)
    live.advance(6 * NANOSECONDS, np.full(3, np.nan), None)
    np.testing.assert_array_equal(live.shift_m, before)
    live.undo()
    assert not live.shift_m.any()


def test_a_force_at_the_tool_is_recovered_from_the_torque_and_one_at_the_elbow_is_not_explained():
    jacobian = Kinematics().jacobian(np.array([0.0, -np.pi / 4, 0.0, -2.4, 0.0, 1.6, 0.8]))[:3]
    rng = np.random.default_rng(0)
    forces = rng.normal(size=(50, 3)) * 20.0
    torque = forces @ jacobian
    found = force_from_torque(jacobian, torque)
    np.testing.assert_allclose(found, forces, rtol=0.1, atol=1.0)
    assert np.all(explained_share(jacobian, torque, found) > 0.98)
    elbow = np.array([0.0, 5.0, 5.0, 0.0, 0.0, 0.0, 0.0])
    assert explained_share(jacobian, elbow, force_from_torque(jacobian, elbow)) < 0.8


@pytest.mark.parametrize('sign', [-1, 1])
def test_the_sign_check_finds_an_inverted_sign(sign):
    pushes = random_pushes(5, rng=np.random.default_rng(9))
    made = recording(pushes[-1].end_sec + 1.0, *pushes)
    admitted = correct(
        made,
        contact=ContactParameters(torque_sign=sign),
        displacement=DisplacementParameters(displacement_source=ADMITTANCE),
    )[1]
    moved = [c.displacement_m for c in correct(made)[1]]
    result = check_sign([c.displacement_m for c in admitted], moved)
    # The synthetic arm signs like libfranka.
    assert result.sign == -sign
    assert result.pushes == 5


def test_the_sign_check_does_not_guess():
    assert check_sign([], []).sign == 0
    crossed = check_sign([np.array([1.0, 0.0, 0.0])], [np.array([0.0, 1.0, 0.0])])
    assert crossed.sign == 0


def test_a_trailing_arm_is_not_a_displaced_one():
    made = recording(10.0)
    velocity = np.gradient(made.reference_m, 0.001, axis=0)
    lag = estimate_tracking_lag_sec(-0.05 * velocity, velocity)
    assert lag == pytest.approx(0.05)
    assert estimate_tracking_lag_sec(np.zeros((3, 3)), np.zeros((3, 3))) == 0.0


def test_the_time_of_the_plan_stands_still_in_pauses_and_follows_a_slowed_playback():
    timeline = PlaybackTimeline()

    def say(time_sec, plan_time_sec, is_moving):
        timeline.add(
            PlaybackMoment(
                time_ns=round(time_sec * NANOSECONDS),
                plan=PLAN,
                plan_time_sec=plan_time_sec,
                is_moving=is_moving,
            )
        )

    say(10.0, 0.0, True)
    say(12.0, 1.0, True)
    say(13.0, 2.0, False)
    say(20.0, 2.0, True)
    times = np.array([9.0, 10.0, 11.0, 12.5, 15.0, 19.9, 21.0, 99.0])
    plan_times = timeline.plan_time_sec((times * NANOSECONDS).astype(np.int64))
    np.testing.assert_allclose(plan_times, [np.nan, 0.0, 0.5, 1.5, 2.0, 2.0, 3.0, LEG_SEC])


def test_the_timeline_forgets_only_what_is_long_past():
    timeline = PlaybackTimeline(memory_sec=10.0)
    for i in range(5000):
        timeline.add(
            PlaybackMoment(
                time_ns=i * 50_000_000 + 1, plan=PLAN, plan_time_sec=0.0, is_moving=False
            )
        )
    assert len(timeline._moments) < 1600
    last_ns = 4999 * 50_000_000 + 1
    assert np.isfinite(timeline.plan_time_sec(np.array([last_ns - 9 * NANOSECONDS]))).all()

"""A contact is found when a person makes one, and not when the arm's own bias does."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.sensing_scenarios import detect, learned, ordered, recording, seconds

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.parameters import ParameterError
from reward_learning_ros.sensing.contact import Contact, ContactDetector
from reward_learning_ros.sensing.contact_parameters import ContactParameters
from reward_learning_ros.sensing.contact_state import EndReason
from reward_learning_ros.sensing.samples import NANOSECONDS, Arrivals, Stream
from reward_learning_ros.sensing.synthetic import ArmModel, Push, random_pushes, record

PUSH = Push(start_sec=4.0, duration_sec=1.5, force_n=(0.0, 12.0, 6.0))


def accepted(contacts: list[Contact]) -> list[Contact]:
    return [contact for contact in contacts if not contact.rejected]


def cut(arrivals: Arrivals, start_ns: int, end_ns: int) -> Arrivals:
    return arrivals[(arrivals.time_ns < start_ns) | (arrivals.time_ns >= end_ns)]


def overlapping(contacts: list[Contact], made, push: Push) -> list[Contact]:
    return [
        contact
        for contact in contacts
        if seconds(made, contact.onset_ns) < push.end_sec
        and seconds(made, contact.end_ns) > push.start_sec
    ]


@pytest.mark.parametrize(
    'model',
    [
        ArmModel(),
        ArmModel(noise_nm=0.3, noise_memory_sec=0.005),
        ArmModel(drift_nm_per_sec=0.01),
    ],
    ids=['white noise', 'coloured noise', 'drift of 0.6 N·m a minute'],
)
def test_an_unpushed_playback_has_no_contact(model):
    assert detect(recording(120.0, seed=3, model=model).arrivals()) == []


def test_an_unpushed_playback_has_no_contact_before_anything_is_learned():
    made = recording(60.0, seed=4)
    assert detect(made.arrivals(), ContactDetector()) == []


def test_pushes_are_found_once_each_and_on_time():
    pushes = random_pushes(40, rng=np.random.default_rng(5))
    made = recording(pushes[-1].end_sec + 2.0, *pushes, seed=5)
    contacts = accepted(detect(made.arrivals()))
    assert len(contacts) == len(pushes)
    onsets = [seconds(made, contact.onset_ns) for contact in contacts]
    late = np.array(onsets) - [push.start_sec for push in pushes]
    assert np.median(np.abs(late)) < 0.06
    assert np.abs(late).max() < 0.25
    for contact, push in zip(contacts, pushes, strict=True):
        assert contact.reason is EndReason.RELEASED
        assert abs(seconds(made, contact.end_ns) - push.end_sec) < 0.5 * push.duration_sec


def test_blocks_of_any_size_give_the_same_contacts_bit_for_bit():
    rng = np.random.default_rng(6)
    pushes = random_pushes(
        2, rng=rng, start_sec=0.5, duration_sec=(0.3, 0.8), pause_sec=(0.8, 1.0)
    )
    made = recording(pushes[-1].end_sec + 1.0, *pushes)
    whole = detect(made.arrivals(), size=10**9)
    assert len(accepted(whole)) == 2
    for size in (1_003, 7):
        parts = detect(made.arrivals(), size=size)
        assert [c.__dict__ | {'tick': 0} for c in parts] == [
            c.__dict__ | {'tick': 0} for c in whole
        ]


def test_two_pushes_four_tenths_apart_are_two():
    first = Push(start_sec=4.0, duration_sec=0.6, force_n=(0.0, 15.0, 0.0))
    second = Push(start_sec=5.0, duration_sec=0.6, force_n=(0.0, 15.0, 0.0))
    made = recording(8.0, first, second)
    assert len(accepted(detect(made.arrivals()))) == 2


def test_a_hand_that_wavers_makes_one_contact():
    pushes = [
        Push(start_sec=4.0 + 0.3 * i, duration_sec=0.34, force_n=(0.0, 14.0, 0.0), rise_sec=0.1)
        for i in range(6)
    ]
    made = recording(9.0, *pushes)
    assert len(accepted(detect(made.arrivals()))) == 1


def test_a_slow_push_is_found_and_not_learned_as_bias():
    # 15 N over 4 s: less than 2 N·m a second in any joint.
    push = Push(start_sec=5.0, duration_sec=9.0, force_n=(0.0, 15.0, 0.0), rise_sec=4.0)
    made = recording(20.0, push)
    (contact,) = accepted(detect(made.arrivals()))
    assert seconds(made, contact.onset_ns) < 6.5
    assert seconds(made, contact.end_ns) > 12.0


def test_pushes_with_and_against_the_motion_are_found():
    made = recording(8.0)
    velocity = np.gradient(made.reference_m, 0.001, axis=0)[4500]
    direction = velocity / np.linalg.norm(velocity)
    for sign in (1.0, -1.0):
        force = tuple(float(x) for x in sign * 10.0 * direction)
        pushed = recording(8.0, Push(start_sec=4.0, duration_sec=1.0, force_n=force))
        assert len(accepted(detect(pushed.arrivals()))) == 1


def test_a_push_at_the_first_or_last_sample_is_found_with_its_onset_in_the_recording():
    first = Push(start_sec=-1.0, duration_sec=2.0, force_n=(0.0, 0.0, 20.0))
    last = Push(start_sec=7.0, duration_sec=5.0, force_n=(0.0, 20.0, 0.0))
    made = recording(8.0, first, last)
    contacts = accepted(detect(made.arrivals()))
    assert [contact.reason for contact in contacts] == [EndReason.RELEASED, EndReason.GAP]
    assert contacts[0].onset_ns >= made.time_ns[0]
    assert contacts[1].end_ns == made.time_ns[-1]


@pytest.mark.parametrize('scale_nm', [2.0, 10.0])
def test_a_burst_of_heavy_tailed_noise_is_no_contact(scale_nm):
    made = recording(10.0)
    rng = np.random.default_rng(8)
    made.torque_nm[4000:5000] += scale_nm * rng.standard_t(1.5, size=(1000, 7))
    assert accepted(detect(made.arrivals())) == []


def test_lone_spikes_are_no_contact_and_do_not_disturb_one():
    made = recording(8.0, PUSH)
    quiet = detect(made.arrivals())
    made.torque_nm[::97, 3] += 60.0
    spiked = accepted(detect(made.arrivals()))
    assert len(spiked) == len(quiet) == 1
    assert abs(spiked[0].onset_ns - quiet[0].onset_ns) < 0.05 * NANOSECONDS


def test_a_joint_stuck_at_saturation_is_counted_and_makes_no_correction():
    made = recording(60.0)
    made.torque_nm[5000:, 5] = 12.0
    detector = ContactDetector(ContactParameters(max_contact_sec=10.0))
    detector.restore(learned())
    contacts = detect(made.arrivals(), detector)
    assert contacts[0].reason is EndReason.TIMEOUT
    assert contacts[0].saturated_share > 0.98
    assert accepted(contacts) == []
    assert detector.saturated_samples == 55_000


def test_a_changed_load_is_taken_as_bias_and_pushes_are_found_again():
    push = Push(start_sec=30.0, duration_sec=1.0, force_n=(0.0, 15.0, 0.0))
    made = recording(40.0, push)
    made.torque_nm[5000:] += np.array([0.0, 6.0, 0.0, -4.0, 0.0, 1.0, 0.0])
    detector = ContactDetector(ContactParameters(max_contact_sec=8.0))
    detector.restore(learned())
    (contact,) = accepted(detect(made.arrivals(), detector))
    assert abs(seconds(made, contact.onset_ns) - push.start_sec) < 0.25


def test_a_zero_wrench_is_counted_and_no_witness():
    made = recording(8.0, PUSH)
    made.wrench[:] = 0.0
    detector = ContactDetector()
    detector.restore(learned())
    (contact,) = detect(made.arrivals(), detector)
    assert contact.zero_wrench_share == 1.0
    assert contact.peak_wrench_force_n == 0.0
    assert detector.zero_wrench_samples == len(made.time_ns)


def test_the_wrench_tells_the_force_as_the_person_pushes():
    made = recording(8.0, PUSH)
    detector = ContactDetector()
    detector.restore(learned())
    forces = np.concatenate([detector.process(b).wrench_force_n for b in ordered(made.arrivals())])
    np.testing.assert_allclose(forces[4500:5200].mean(axis=0), PUSH.force_n, atol=0.5)


@pytest.mark.parametrize('gap', [(1.0, 3.0), (4.3, 6.3), (6.7, 8.7)])
def test_two_seconds_without_samples_leave_the_same_contact(gap):
    # The push spans the second gap; the others lie in quiet times.
    made = recording(12.0, Push(start_sec=4.0, duration_sec=2.45, force_n=(0.0, 20.0, 0.0)))
    whole = accepted(detect(made.arrivals()))
    start_ns = int(made.time_ns[0])
    left = cut(
        made.arrivals(),
        start_ns + round(gap[0] * NANOSECONDS),
        start_ns + round(gap[1] * NANOSECONDS),
    )
    (contact,) = accepted(detect(left))
    (expected,) = whole
    assert abs(contact.onset_ns - expected.onset_ns) < 0.02 * NANOSECONDS
    assert abs(contact.end_ns - expected.end_ns) < 0.02 * NANOSECONDS
    assert contact.reason is EndReason.RELEASED


def test_a_contact_that_is_gone_after_a_gap_ended_before_it():
    made = recording(12.0, Push(start_sec=4.0, duration_sec=2.0, force_n=(0.0, 20.0, 0.0)))
    start_ns = int(made.time_ns[0])
    left = cut(made.arrivals(), start_ns + 5 * NANOSECONDS, start_ns + 7 * NANOSECONDS)
    (contact,) = detect(left)
    assert contact.reason is EndReason.GAP
    assert contact.end_ns == start_ns + 4_999_000_000


def test_another_push_after_a_gap_is_another_contact():
    first = Push(start_sec=4.0, duration_sec=2.0, force_n=(0.0, 20.0, 0.0))
    second = Push(start_sec=6.5, duration_sec=2.0, force_n=(0.0, -20.0, 0.0))
    made = recording(12.0, first, second)
    start_ns = int(made.time_ns[0])
    left = cut(made.arrivals(), start_ns + 5 * NANOSECONDS, start_ns + 7 * NANOSECONDS)
    contacts = accepted(detect(left))
    assert [contact.reason for contact in contacts] == [EndReason.GAP, EndReason.RELEASED]
    assert contacts[1].onset_ns >= start_ns + 7 * NANOSECONDS


@pytest.mark.parametrize('rate_hz', [100.0, 30.0])
def test_slow_streams_work_too(rate_hz):
    pushes = random_pushes(10, rng=np.random.default_rng(7), duration_sec=(0.8, 3.0))
    calibration = recording(40.0, seed=98, rate_hz=rate_hz)
    detector = ContactDetector()
    detector.learning = True
    detect(calibration.arrivals(), detector)
    taught = detector.snapshot()
    made = recording(pushes[-1].end_sec + 2.0, *pushes, rate_hz=rate_hz)
    contacts = accepted(detect(made.arrivals(), snapshot=taught))
    assert len(contacts) == len(pushes)
    late = [seconds(made, c.onset_ns) - p.start_sec for c, p in zip(contacts, pushes, strict=True)]
    assert np.median(np.abs(late)) < 0.06 + 1.0 / rate_hz


def test_zero_takes_the_present_torque_as_bias():
    made = recording(20.0)
    made.torque_nm[:] += 5.0
    detector = ContactDetector()
    detector.restore(learned())
    blocks = list(ordered(made.arrivals()))
    detector.zero()
    statistic = np.concatenate([detector.process(block).statistic for block in blocks])
    assert statistic[1000:].max() < detector.parameters.off_threshold


def test_zero_during_a_contact_ends_it_rejected():
    made = recording(8.0, Push(start_sec=4.0, duration_sec=3.0, force_n=(0.0, 20.0, 0.0)))
    detector = ContactDetector()
    detector.restore(learned())
    events = []
    for block in ordered(made.arrivals(), size=500):
        events += detector.process(block).events
        if detector.in_contact and block.time_ns[-1] > made.time_ns[4500]:
            detector.zero()
            break
    tail = made.arrivals()
    later = tail[tail.time_ns > made.time_ns[4700]]
    events += [e for b in ordered(later) for e in detector.process(b).events]
    ended = [event for event in events if isinstance(event, Contact)]
    assert ended[0].reason is EndReason.ZEROED
    assert ended[0].rejected


def test_learning_shrinks_the_uncertainty_where_the_arm_was_and_measures_the_noise():
    fresh = ContactDetector()
    taught = ContactDetector()
    taught.restore(learned())
    block = next(ordered(recording(3.0).arrivals()))
    for detector in (fresh, taught):
        detector.process(block[:1])
    assert fresh.bias_uncertainty_nm > 2.0
    assert taught.bias_uncertainty_nm < 0.15
    # White noise of 0.2 N·m behind the median and the low-pass.
    assert np.all((taught.noise_nm > 0.025) & (taught.noise_nm < 0.06))


def test_a_sloppy_playback_with_a_brief_touch_still_teaches_the_bias():
    touched = recording(40.0, Push(start_sec=9.0, duration_sec=1.0, force_n=(0.0, 20.0, 0.0)))
    detector = ContactDetector()
    detector.learning = True
    detect(touched.arrivals(), detector)
    detector.learning = False
    assert (
        accepted(detect(recording(40.0, seed=12).arrivals(), snapshot=detector.snapshot())) == []
    )


def test_time_that_runs_backwards_ends_the_contact_and_detection_goes_on():
    made = recording(9.0, Push(start_sec=4.0, duration_sec=2.0, force_n=(0.0, 20.0, 0.0)))
    detector = ContactDetector()
    detector.restore(learned())
    first, second = made.arrivals(), made.arrivals()
    cut_off = first[first.time_ns < made.time_ns[5000]]
    joined = Arrivals(
        stream=np.concatenate([cut_off.stream, second.stream]),
        time_ns=np.concatenate([cut_off.time_ns, second.time_ns]),
        values=np.concatenate([cut_off.values, second.values]),
    )
    contacts = accepted(detect(joined, detector))
    assert [contact.reason for contact in contacts] == [EndReason.CLOCK_JUMP, EndReason.RELEASED]


def test_without_joint_positions_nothing_false_is_found_and_strong_pushes_are():
    made = recording(30.0, Push(start_sec=20.0, duration_sec=1.5, force_n=(0.0, 40.0, 0.0)))
    arrivals = made.arrivals()
    arrivals = arrivals[arrivals.stream != Stream.JOINTS]
    contacts = accepted(detect(arrivals, ContactDetector()))
    assert len(contacts) == 1
    assert len(overlapping(contacts, made, made.pushes[0])) == 1


def test_a_foreign_snapshot_is_refused():
    with pytest.raises(InvalidInputError):
        ContactDetector().restore(np.zeros(1))


@pytest.mark.parametrize(
    'settings', [{'off_threshold': 9.0}, {'saturation_nm': (1.0,)}, {'torque_sign': 0}]
)
def test_bad_parameters_are_refused(settings):
    with pytest.raises(ParameterError, match=next(iter(settings))):
        ContactParameters(**settings)


@pytest.mark.parametrize('memory_sec', [0.0, 0.005])
def test_noise_louder_than_it_was_learned_is_no_contact_and_weak_pushes_are_still_found(
    memory_sec,
):
    model = ArmModel(noise_nm=0.3, noise_memory_sec=memory_sec)
    pushes = random_pushes(
        20,
        rng=np.random.default_rng(10),
        start_sec=10.0,
        force_n=(8.0, 8.0),
        duration_sec=(0.3, 0.3),
    )
    made = recording(pushes[-1].end_sec + 20.0, *pushes, seed=11, model=model)
    contacts = detect(made.arrivals())
    assert len(contacts) == len(pushes)
    assert all(len(overlapping(contacts, made, push)) == 1 for push in pushes)


def test_another_plan_than_the_learned_one_has_no_contact():
    waypoints = np.array([[0.5, 0.3, 0.5], [0.6, 0.1, 0.15], [0.4, -0.3, 0.3], [0.3, -0.35, 0.5]])
    made = record(
        waypoints_m=waypoints, leg_sec=8.0, duration_sec=60.0, rng=np.random.default_rng(5)
    )
    assert detect(made.arrivals()) == []


def test_learned_friction_is_no_contact_when_the_motion_turns():
    def rubbing(made):
        made.torque_nm[:] += 0.5 * np.tanh(made.joints[:, 7:] / 0.01)
        return made

    detector = ContactDetector()
    detector.learning = True
    detect(rubbing(recording(40.0, seed=7)).arrivals(), detector)
    assert detect(rubbing(recording(60.0, seed=6)).arrivals(), snapshot=detector.snapshot()) == []


def test_a_fifth_of_the_samples_lost_leaves_the_contact():
    made = recording(8.0, PUSH)
    (expected,) = detect(made.arrivals())
    arrivals = made.arrivals()
    kept = np.random.default_rng(1).uniform(size=len(arrivals)) > 0.2
    (contact,) = detect(arrivals[kept])
    assert abs(contact.onset_ns - expected.onset_ns) < 0.02 * NANOSECONDS
    assert abs(contact.end_ns - expected.end_ns) < 0.02 * NANOSECONDS


def test_nothing_to_process_is_nothing_found():
    detector = ContactDetector()
    assert detector.process(next(ordered(recording(1.0).arrivals()))[:0]).events == ()
    assert detector.close() is None


def uncertainty_nm(made, until_sec: float) -> float:
    """How uncertain the bias is after the beginning of a recording, to one who knew nothing."""
    detector = ContactDetector()
    for block in ordered(made.arrivals()):
        detector.process(block[: int(np.searchsorted(block.time_ns, time_ns(made, until_sec)))])
    return detector.bias_uncertainty_nm


def time_ns(made, seconds_: float) -> int:
    return int(made.time_ns[0]) + round(seconds_ * NANOSECONDS)


def test_an_unknown_place_is_learned_within_a_second_of_quiet():
    made = recording(1.0)
    prior_nm = ContactParameters().bias_prior_nm
    assert uncertainty_nm(made, 0.2) > prior_nm
    assert uncertainty_nm(made, 0.8) < 0.5 * prior_nm


def test_a_push_in_an_unknown_place_is_not_taken_for_its_bias():
    push = Push(start_sec=0.15, duration_sec=1.2, force_n=(0.0, 10.0, 0.0), rise_sec=0.1)
    made = recording(1.5, push)
    assert uncertainty_nm(made, 1.3) > 0.9 * uncertainty_nm(made, 0.2)


@pytest.mark.parametrize(
    ('start_sec', 'force_n'),
    [(4.0, (15.0, 20.0, 0.0)), (8.0, (15.0, 20.0, 0.0)), (4.0, (18.0, -20.0, -14.0))],
)
def test_a_push_into_an_unknown_place_is_one_contact_until_its_release(start_sec, force_n):
    # A soft arm that knows nothing but the way so far is pushed far off it.
    push = Push(start_sec=start_sec, duration_sec=4.5, force_n=force_n, rise_sec=0.4)
    model = ArmModel(stiffness_n_per_m=50.0, lag_sec=1.0, noise_nm=0.1)
    made = recording(60.0, push, model=model)
    contacts = detect(made.arrivals(), ContactDetector())
    assert len(contacts) == 1
    assert seconds(made, contacts[0].end_ns) == pytest.approx(push.end_sec, abs=0.4)


@pytest.mark.parametrize('start_sec', [1.5, 2.0, 2.5, 3.0, 4.0, 6.0])
@pytest.mark.parametrize(
    'force_n', [(8.0, -10.0, 3.0), (10.0, -8.0, 2.0), (0.0, 12.0, 0.0), (9.0, 0.0, 9.0)]
)
def test_a_push_soon_after_the_arm_began_to_move_is_found_and_its_release_is_not_another(
    start_sec, force_n
):
    # A soft arm of which next to nothing is known, pushed no harder than needed.
    push = Push(start_sec=start_sec, duration_sec=5.0, force_n=force_n, rise_sec=0.5)
    model = ArmModel(stiffness_n_per_m=100.0, lag_sec=0.3, noise_nm=0.05)
    made = recording(start_sec + 9.0, push, model=model)
    (contact,) = detect(made.arrivals(), ContactDetector())
    assert seconds(made, contact.onset_ns) == pytest.approx(start_sec, abs=0.4)
    assert seconds(made, contact.end_ns) == pytest.approx(push.end_sec, abs=0.5)


def stand(made, stop_sec: float) -> np.ndarray:
    """Let the arm of a recording stand from a time on; return the seconds of its samples."""
    elapsed_sec = (made.time_ns - made.time_ns[0]) / NANOSECONDS
    stands, last = elapsed_sec > stop_sec, int(np.searchsorted(elapsed_sec, stop_sec))
    made.joints[stands] = made.joints[last]
    made.joints[stands, 7:] = 0.0
    noise = np.random.default_rng(0).normal(0.0, 0.05, (stands.sum(), 7))
    made.torque_nm[stands] = made.torque_nm[last] + noise
    return elapsed_sec


@pytest.mark.parametrize(
    ('stop_sec', 'left_nm', 'swing'),
    [(6.0, 5.0, 0.2), (6.0, 6.0, 0.1), (8.0, 8.0, 0.1), (8.0, 8.0, 0.3)],
)
def test_a_torque_that_hovers_where_the_bias_is_unknown_does_not_keep_a_contact_open(
    stop_sec, left_nm, swing
):
    # The arm stops in a place that it does not know, and something that swings about the
    # threshold of an end is left there for good.
    made = recording(30.0, model=ArmModel(noise_nm=0.05))
    elapsed_sec = stand(made, stop_sec)
    ramp = np.clip((elapsed_sec - 4.0) / 0.3, 0.0, 1.0)
    made.torque_nm[:, 1] += left_nm * ramp * (1 + swing * np.sin(2 * np.pi * 0.7 * elapsed_sec))
    (contact,) = detect(made.arrivals(), ContactDetector())
    assert contact.reason is EndReason.RELEASED
    assert seconds(made, contact.end_ns) < stop_sec + 1.0


@pytest.mark.parametrize('left_nm', [1.5, 2.5])
def test_what_stays_as_it_is_after_a_push_is_no_hand_but_a_wrong_bias(left_nm):
    # At the end of its plan the arm stands where it is sure of a bias that is not the right one.
    push = Push(start_sec=4.0, duration_sec=3.0, force_n=(0.0, 25.0, 10.0), rise_sec=0.3)
    made = recording(30.0, seed=4)
    pushed_nm = recording(30.0, push, seed=3).torque_nm - recording(30.0, seed=3).torque_nm
    elapsed_sec = stand(made, stop_sec=6.0)
    made.torque_nm[:] += pushed_nm
    made.torque_nm[elapsed_sec > push.end_sec, 1] += left_nm
    (contact,) = detect(made.arrivals())
    assert contact.reason is EndReason.RELEASED
    assert seconds(made, contact.end_ns) == pytest.approx(push.end_sec, abs=0.6)

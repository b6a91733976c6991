"""The recorder's node: samples of an arm, or of a device, in over real DDS; corrections out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from geometry_msgs.msg import TwistStamped
from helpers.recorder_ros import (
    JOINTS,
    RATE_HZ,
    START_NS,
    RecorderBench,
    learned,
    make_plan,
    make_recording,
    samples_of,
)
from sensor_msgs.msg import JointState, Joy
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from reward_learning_ros.nodes import arm_sources, names
from reward_learning_ros.nodes.conversions import time_message
from reward_learning_ros.nodes.correction_recorder import CorrectionRecorderNode
from reward_learning_ros.parameters import ParameterError
from reward_learning_ros.sensing.samples import NANOSECONDS, Arrivals, Stream
from reward_learning_ros.sensing.synthetic import Push

FIRST = Push(start_sec=1.0, duration_sec=0.9, force_n=(0.0, 18.0, 4.0))
SECOND = Push(start_sec=4.4, duration_sec=0.7, force_n=(10.0, 0.0, -12.0))
DURATION_SEC = 5.5
PLAN = make_plan()


@pytest.fixture
def make_bench(make_ros):
    benches = []

    def make(*arguments: str) -> RecorderBench:
        benches.append(RecorderBench(make_ros, *arguments))
        return benches[-1]

    yield make
    for bench in benches:
        bench.close()


@pytest.fixture
def bench(make_bench):
    bench = make_bench()
    bench.choose_convenience_topics()
    bench.node.recorder.detector.restore(learned())
    return bench


def started(bench, plan=PLAN):
    bench.send_plan(plan)
    bench.tell(plan, 0.0)
    # Plans and statuses are heard in any order.
    bench.wait_until(lambda: not bench.node.feed.lacks_plan)
    return bench


def doubled(arrivals: Arrivals) -> Arrivals:
    return arrivals[np.repeat(np.arange(len(arrivals)), 2)]


def shuffled(arrivals: Arrivals) -> Arrivals:
    delay_ns = np.random.default_rng(3).integers(0, 20_000_000, size=len(arrivals))
    return arrivals[np.argsort(arrivals.time_ns + delay_ns, kind='stable')]


def unplugged(arrivals: Arrivals) -> Arrivals:
    elapsed_sec = (arrivals.time_ns - START_NS) / NANOSECONDS
    return arrivals[(elapsed_sec < 2.2) | (elapsed_sec > 4.2)]


@pytest.mark.parametrize('spoil', [doubled, shuffled, unplugged])
def test_corrections_are_the_same_however_samples_arrive(bench, spoil):
    made = make_recording(DURATION_SEC, FIRST, SECOND)
    started(bench).play(made, spoil(samples_of(made)), plans=((0.0, PLAN),))
    assert len(bench.contacts) == 2
    for contact, push in zip(bench.contacts, (FIRST, SECOND), strict=True):
        assert contact.plan_stamp_ns == PLAN.stamp_ns
        assert abs((contact.onset_ns - START_NS) / NANOSECONDS - push.start_sec) < 0.1
        assert abs(contact.duration_sec - push.duration_sec) < 0.2
        truth = made.peak_displacement_m(push)
        np.testing.assert_allclose(contact.displacement_m, truth, atol=0.006)
    # The plan's time runs slowly at first: both pushes are on the way to its second waypoints.
    told = bench.told
    assert told.plan_stamp_ns == PLAN.stamp_ns
    assert told.pushes == len(told.times_sec) == 2
    counts = bench.node.orderer.counts[Stream.TORQUE]
    # The last few samples still wait for others.
    assert counts.duplicate == pytest.approx(
        round(DURATION_SEC * RATE_HZ) if spoil is doubled else 0, abs=8
    )
    # There is one gap before the recording begins.
    assert counts.gaps == (2 if spoil is unplugged else 1)
    assert (spoil is shuffled) == (counts.out_of_order > 100)
    bench.advance_until(lambda: bench.diagnostics.get('torque.used') == str(counts.used))
    assert bench.diagnostics['torque.duplicate'] == str(counts.duplicate)
    assert bench.diagnostics['pushes'] == '2'


def test_the_plan_gives_way_while_the_person_pushes_and_keeps_it(bench):
    made = make_recording(2.8, FIRST)
    started(bench).play(made, plans=((0.0, PLAN),))
    assert len(bench.shifts_m) > 10
    # It follows the tool, which the push moves by 18 N / 300 N/m in y.
    assert bench.shifts_m[-1][1] > 0.02
    assert np.linalg.norm(bench.shifts_m[0]) < 0.005
    # Who shows plans is told of it, and of the corrections that came of it.
    in_contact = [status.in_contact for status in bench.statuses]
    assert [key for key, _ in itertools.groupby(in_contact)] == [False, True, False]
    assert bench.statuses[-1].digest == bench.told.digest
    assert bench.statuses[-1].plan_stamp_ns == PLAN.stamp_ns
    assert not bench.statuses[-1].is_complete
    # What the plan keeps is what was told.
    bench.wait_until(
        lambda: np.allclose(bench.told.delta_positions.sum(axis=0), bench.shifts_m[-1])
    )
    # A new plan holds what was taught: its shift is zero again.
    bench.shifts_m.clear()
    new = make_plan(stamp_ns=START_NS + 10 * NANOSECONDS)
    bench.send_plan(new)
    bench.set_time(bench.time_ns + NANOSECONDS)
    bench.tell(new, 2.0)
    bench.advance_until(lambda: bench.shifts_m)
    assert not bench.shifts_m[-1].any()


def test_a_contact_belongs_to_the_plan_that_was_played_when_it_began(bench):
    other = make_plan(stamp_ns=8)
    push = Push(start_sec=1.0, duration_sec=2.0, force_n=(0.0, 20.0, 0.0))
    started(bench).send_plan(other)
    bench.play(make_recording(3.6, push), plans=((0.0, PLAN), (1.8, other)))
    (contact,) = bench.contacts
    assert contact.plan_stamp_ns == PLAN.stamp_ns
    assert abs(contact.duration_sec - 0.8) < 0.15
    # It is a correction of neither.
    assert all(told.pushes == 0 for told in bench.corrections)


def test_zero_takes_a_changed_load_as_bias(bench):
    made = make_recording(3.0)
    loaded = samples_of(made)
    # A gripper that holds something: as strong as a push, and it does not go away.
    carries = (loaded.stream == Stream.TORQUE) & (loaded.time_ns > START_NS + NANOSECONDS)
    loaded.values[carries, 1] += 6.0
    half = loaded.time_ns <= START_NS + 2 * NANOSECONDS
    started(bench).play(made, loaded[half], plans=((0.0, PLAN),))
    assert bench.node.recorder.detector.in_contact
    client = bench.arm.create_client(Trigger, names.RECORDER_ZERO_SERVICE)
    bench.wait_until(client.service_is_ready)
    future = client.call_async(Trigger.Request())
    bench.wait_until(future.done)
    assert future.result().success, future.result().message
    bench.play(made, loaded[~half], plans=((0.0, PLAN),))
    assert not bench.node.recorder.detector.in_contact
    assert bench.contacts == []
    assert bench.node.recorder.counts.rejected == 1


def test_zero_is_refused_without_torques(make_bench):
    bench = make_bench()
    client = bench.arm.create_client(Trigger, names.RECORDER_ZERO_SERVICE)
    bench.wait_until(client.service_is_ready)
    future = client.call_async(Trigger.Request())
    bench.wait_until(future.done)
    assert not future.result().success
    assert 'no torques' in future.result().message


def test_told_to_learn_it_takes_everything_as_bias(make_bench):
    bench = make_bench()
    bench.choose_convenience_topics()
    client = bench.arm.create_client(SetBool, names.RECORDER_LEARN_SERVICE)
    bench.wait_until(client.service_is_ready)
    future = client.call_async(SetBool.Request(data=True))
    bench.wait_until(future.done)
    before = bench.node.recorder.detector.bias_uncertainty_nm
    started(bench).play(make_recording(2.0, FIRST), plans=((0.0, PLAN),))
    assert bench.contacts == []
    assert bench.node.recorder.detector.noise_nm.max() < 1.0
    assert bench.node.recorder.detector.bias_uncertainty_nm < max(before, 0.5)


def test_bad_samples_are_counted_and_survived(bench):
    made = make_recording(2.0)
    started(bench).play(made, plans=((0.0, PLAN),))
    time_ns = int(made.time_ns[-1])
    bench.send(Stream.TORQUE, time_ns + 5_000_000, np.full(7, np.nan))
    wrong = JointState(name=JOINTS, effort=[1.0, 2.0])
    wrong.header.stamp = time_message(time_ns + 5_000_000)
    bench.publishers[Stream.TORQUE].publish(wrong)
    bench.publishers[Stream.TORQUE].publish(JointState(name=['other'], effort=[1.0]))
    bench.advance_until(
        lambda: (
            bench.diagnostics.get('torque.non_finite') == '1'
            and bench.diagnostics['torque.malformed'] == '2'
        )
    )
    assert bench.node.recorder.counts.contacts == 0


def test_samples_without_a_stamp_get_the_time_of_their_arrival(bench):
    for _ in range(40):
        bench.set_time(bench.time_ns + 20_000_000)
        bench.send(Stream.TORQUE, 0, np.zeros(7))
        bench.spin()
    bench.advance_until(lambda: bench.node.orderer.counts[Stream.TORQUE].used > 20)
    assert bench.node.orderer.counts[Stream.TORQUE].unstamped == 0


def test_it_uses_the_best_source_that_speaks(make_bench, monkeypatch):
    # Serialized bytes are sent as they are, so any installed type can carry a FrankaRobotState.
    monkeypatch.setattr(arm_sources, 'robot_state_type', lambda: String)
    bench = make_bench('-p', 'source_timeout_sec:=0.6', '-p', 'max_bridged_gap_sec:=0.4')
    sources = bench.node.sources
    plain = bench.arm.create_publisher(JointState, names.JOINT_STATES_TOPIC, 10)
    home = [0.0, -0.8, 0.0, -2.3, 0.0, 1.6, 0.8]
    speaking = {'plain'}
    better = []

    def speak() -> None:
        message = JointState(name=JOINTS, position=home, velocity=[0.0] * 7, effort=[0.0] * 7)
        message.header.stamp = time_message(bench.time_ns)
        if 'plain' in speaking:
            plain.publish(message)
        if 'convenience' in speaking:
            bench.send(Stream.TORQUE, bench.time_ns, np.zeros(7))
        if 'best' in speaking:
            better[0].publish(b'\x00\x01\x00\x00garbage')

    def uses(words: str) -> None:
        def does() -> bool:
            speak()
            return sources.current is not None and words in sources.current.name

        bench.advance_until(does)

    bench.set_time(START_NS)
    uses('joint_states')
    assert not sources.current.is_external
    bench.add_convenience_topics()
    speaking.add('convenience')
    uses('franka_robot_state_broadcaster')
    # What was a worse source's bias is not the better one's.
    assert bench.node.recorder.detector.bias_uncertainty_nm >= 0.0
    better.append(bench.arm.create_publisher(String, names.ROBOT_STATE_TOPIC, 10))
    speaking.add('best')
    uses('FrankaRobotState')
    bench.advance_until(
        lambda: (speak(), bench.node.orderer.counts[Stream.TORQUE].malformed > 0)[1]
    )
    speaking.remove('best')
    bench.arm.destroy_publisher(better[0])
    uses('franka_robot_state_broadcaster')
    speaking.remove('convenience')
    uses('joint_states')
    bench.advance_until(lambda: (speak(), bench.node.orderer.counts[Stream.POSE].used > 5)[1])


def joy(bench, held: bool) -> Joy:
    message = Joy(axes=[0.0, 1.0, 0.0, 0.0, -0.5, 0.0], buttons=[0, 0, 0, 0, int(held), 0])
    message.header.stamp = time_message(bench.time_ns)
    return message


def twist(bench, held: bool) -> TwistStamped:
    message = TwistStamped()
    message.header.stamp = time_message(bench.time_ns)
    message.header.frame_id = 'fr3_link0'
    if held:
        message.twist.linear.x, message.twist.linear.z = 0.1, -0.0457
    return message


@pytest.mark.parametrize(
    ('kind', 'make', 'message_type', 'topic'),
    [('joy', joy, Joy, names.JOY_TOPIC), ('twist', twist, TwistStamped, names.TWIST_TOPIC)],
)
def test_a_device_corrects_on_the_same_path_and_ends_when_it_falls_silent(
    make_bench, kind, make, message_type, topic
):
    bench = make_bench('-p', f'correction_source:={kind}')
    device = bench.arm.create_publisher(message_type, topic, 10)
    bench.set_time(START_NS)
    bench.wait_until(device.get_subscription_count)
    started(bench)
    recorder = bench.node.teleoperation
    # Held for a second, then let go; the second time it is unplugged.
    for steps, release in ((50, True), (25, False)):
        for _ in range(steps):
            bench.set_time(bench.time_ns + 20_000_000)
            received = recorder.counts.received
            device.publish(make(bench, held=True))
            bench.wait_until(lambda received=received: recorder.counts.received > received)
        end_ns = bench.time_ns + NANOSECONDS

        def is_over(release=release, end_ns=end_ns) -> bool:
            if release:
                device.publish(make(bench, held=False))
            return bench.time_ns > end_ns

        bench.advance_until(is_over)
    bench.wait_until(lambda: len(bench.contacts) == 2)
    first, second = bench.contacts
    np.testing.assert_allclose(first.displacement_m, [0.1, 0.0, -0.046], atol=0.004)
    np.testing.assert_allclose(second.displacement_m, [0.05, 0.0, -0.023], atol=0.004)
    assert first.plan_stamp_ns == second.plan_stamp_ns == PLAN.stamp_ns
    assert recorder.counts.timeouts == 1
    bench.wait_until(lambda: np.allclose(bench.shifts_m[-1], [0.15, 0.0, -0.069], atol=0.006))


def test_a_wrong_configuration_is_refused_in_words(make_ros):
    ros = make_ros('--ros-args', '-p', 'source_timeout_sec:=1.0')
    with pytest.raises(ParameterError, match='max_bridged_gap_sec'):
        CorrectionRecorderNode(context=ros.context)

"""Whatever a network does to samples, they come out in order, once, and are accounted for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from reward_learning_ros.sensing.ordering import OrderingParameters, StreamOrderer
from reward_learning_ros.sensing.samples import (
    NANOSECONDS,
    NEVER_NS,
    STREAM_WIDTHS,
    Arrivals,
    SampleBlock,
    SampleShapeError,
    Stream,
    interleave,
    join_blocks,
)

START_NS = 1_700_000_000 * NANOSECONDS
MILLISECOND = 1_000_000


def streams(count: int = 600, seed: int = 0) -> Arrivals:
    """All streams at 1 kHz with common stamps."""
    rng = np.random.default_rng(seed)
    times = START_NS + MILLISECOND * np.arange(count, dtype=np.int64)
    return interleave(
        {
            stream: (times, rng.normal(size=(count, width)))
            for stream, width in STREAM_WIDTHS.items()
        }
    )


def run(arrivals: Arrivals, size: int = 10**9) -> tuple[StreamOrderer, SampleBlock]:
    orderer = StreamOrderer()
    blocks = [
        orderer.release_arrivals(arrivals[start : start + size])
        for start in range(0, len(arrivals), size)
    ]
    return orderer, join_blocks([*blocks, orderer.flush()])


def assert_equal(first: SampleBlock, second: SampleBlock) -> None:
    for name in SampleBlock.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), name)


def concatenated(*parts: Arrivals) -> Arrivals:
    return Arrivals(
        stream=np.concatenate([part.stream for part in parts]),
        time_ns=np.concatenate([part.time_ns for part in parts]),
        values=np.concatenate([part.values for part in parts]),
    )


def only(arrivals: Arrivals, stream: Stream) -> Arrivals:
    return arrivals[arrivals.stream == stream]


@settings(max_examples=25)
@given(st.lists(st.integers(0, 500), max_size=40).map(sorted))
@example(list(range(500)))
def test_the_result_does_not_depend_on_how_arrivals_are_cut(cuts):
    arrivals = streams(100)
    orderer = StreamOrderer()
    blocks = [
        orderer.release_arrivals(arrivals[start:end])
        for start, end in itertools.pairwise([0, *cuts, len(arrivals)])
    ]
    assert_equal(run(arrivals)[1], join_blocks([*blocks, orderer.flush()]))


# Of 600 samples at 1 kHz; more would only take longer.
DELAYS_MS = arrays(np.float64, 600, elements=st.floats(0.0, 20.0, exclude_max=True))


@settings(max_examples=25)
@given(DELAYS_MS, st.integers(1, 500))
def test_shuffling_within_twenty_milliseconds_and_doubling_change_nothing(delays_ms, size):
    arrivals = streams(60)
    expected = run(arrivals)[1]
    doubled = arrivals[np.repeat(np.arange(len(arrivals)), 2)]
    late = delays_ms * MILLISECOND
    shuffled = doubled[np.argsort(doubled.time_ns - START_NS + late, kind='stable')]
    orderer, block = run(shuffled, size)
    assert_equal(block, expected)
    for stream, counts in orderer.counts.items():
        assert (counts.received, counts.used, counts.duplicate) == (120, 60, 60)
        times = only(shuffled, stream).time_ns
        assert counts.out_of_order == sum(times[i] < times[:i].max() for i in range(1, 120))
        assert counts.late == counts.early == counts.missing == 0


def test_every_torque_sample_sees_what_was_measured_with_it():
    arrivals = streams(50)
    block = run(arrivals)[1]
    np.testing.assert_array_equal(
        block.tool_pose, only(arrivals, Stream.POSE).values[:, : STREAM_WIDTHS[Stream.POSE]]
    )
    for name in ('joint_age_ns', 'tool_age_ns', 'reference_age_ns', 'wrench_age_ns'):
        assert not getattr(block, name).any()


def test_samples_are_handed_on_after_the_stated_delay_and_no_later():
    orderer = StreamOrderer(OrderingParameters(reorder_delay_sec=0.01))
    released = []
    for i in range(100):
        orderer.add(Stream.TORQUE, START_NS + i * MILLISECOND, [float(i)] * 7)
        released.append(len(orderer.release()))
    assert sum(released[:10]) == 0
    assert released[10:] == [1] * 90


def test_non_finite_implausible_unstamped_and_malformed_samples_are_counted_and_dropped():
    orderer = StreamOrderer()
    bad = [float('nan'), float('inf'), -float('inf'), 1e300]
    for i, value in enumerate(bad):
        orderer.add(Stream.TORQUE, START_NS + i, [0.0] * 6 + [value])
    orderer.add(Stream.TORQUE, 0, [0.0] * 7)
    orderer.add(Stream.TORQUE, -5, [0.0] * 7)
    orderer.add(Stream.TORQUE, 2**63 - 1, [0.0] * 7)
    orderer.add(Stream.TORQUE, START_NS, [0.0] * 6)
    orderer.add(Stream.TORQUE, START_NS, [1.0] * 7)
    block = orderer.flush()
    assert block.torque_nm.tolist() == [[1.0] * 7]
    counts = orderer.counts[Stream.TORQUE]
    assert (counts.received, counts.used) == (9, 1)
    assert (counts.non_finite, counts.unstamped, counts.malformed) == (4, 3, 1)


def test_missing_samples_and_gaps_are_counted():
    arrivals = streams(3000)
    offset = arrivals.time_ns - START_NS
    kept = (offset % (100 * MILLISECOND) != 0) & (
        (offset < NANOSECONDS) | (offset >= 2 * NANOSECONDS)
    )
    counts = run(arrivals[kept])[0].counts[Stream.TORQUE]
    assert counts.gaps == 1
    assert counts.missing == 3000 - int(kept.sum()) // 5 - 1  # the first of all is not missed


def test_a_corrupted_stamp_far_ahead_is_dropped_and_nothing_else():
    arrivals = only(streams(), Stream.TORQUE)
    spoiled = arrivals[np.arange(len(arrivals))]
    spoiled.time_ns[300] += 3600 * NANOSECONDS
    orderer, block = run(spoiled, size=7)
    assert orderer.counts[Stream.TORQUE].early == 1
    assert orderer.counts[Stream.TORQUE].out_of_order == 0
    assert len(block) == 599
    assert orderer.epoch == 0


def test_a_pause_of_the_stream_is_bridged_and_loses_nothing():
    arrivals = streams()
    arrivals.time_ns[arrivals.time_ns >= START_NS + 300 * MILLISECOND] += 2 * NANOSECONDS
    rng = np.random.default_rng(3)
    late = rng.uniform(0.0, 20.0 * MILLISECOND, len(arrivals))
    shuffled = arrivals[np.argsort(arrivals.time_ns - START_NS + late, kind='stable')]
    expected = run(arrivals)[1]
    assert len(expected) == 600
    assert_equal(run(shuffled, size=11)[1], expected)


def test_a_clock_that_jumps_backwards_begins_a_new_epoch():
    arrivals = streams()
    earlier = streams(seed=1)
    earlier.time_ns[:] -= 100 * NANOSECONDS
    orderer, block = run(concatenated(arrivals, earlier), size=17)
    assert orderer.epoch == 1
    assert np.all(np.diff(block.epoch) >= 0)
    for epoch in (0, 1):
        part = block.time_ns[block.epoch == epoch]
        assert np.all(np.diff(part) > 0)
        assert len(part) > 570
    # What the old clock stamped has no age on the new one.
    first = np.flatnonzero(block.epoch == 1)[0]
    assert block.tool_age_ns[first] in (0, NEVER_NS)


def test_a_straggler_far_behind_is_late_and_not_a_clock_jump():
    arrivals = only(streams(), Stream.TORQUE)
    straggler = arrivals[np.array([0])]
    straggler.time_ns[0] -= 5 * NANOSECONDS
    orderer, block = run(concatenated(arrivals[:300], straggler, arrivals[300:]), size=50)
    assert orderer.counts[Stream.TORQUE].late == 1
    assert len(block) == 600
    assert orderer.epoch == 0


def test_another_stream_that_is_always_late_is_used_with_its_true_age():
    arrivals = streams()
    lag = 60 * MILLISECOND
    arrives = arrivals.time_ns + np.where(arrivals.stream == Stream.POSE, lag, 0)
    orderer, block = run(arrivals[np.argsort(arrives, kind='stable')], size=5)
    assert orderer.counts[Stream.POSE].late > 500
    assert len(block) == 600
    settled = block.tool_age_ns[100:-70]
    assert settled.max() <= lag
    assert settled.min() >= 30 * MILLISECOND


@pytest.mark.parametrize('offset_sec', [-3600.0, 3600.0])
def test_another_stream_with_another_clock_does_not_stop_the_torque(offset_sec):
    arrivals = streams()
    arrivals.time_ns[arrivals.stream == Stream.POSE] += round(offset_sec * NANOSECONDS)
    orderer, block = run(arrivals, size=100)
    assert len(block) == 600
    counts = orderer.counts[Stream.POSE]
    assert counts.late + counts.early > 500


def test_without_torque_the_memory_stays_bounded():
    orderer = StreamOrderer()
    arrivals = only(streams(70_000), Stream.POSE)
    for start in range(0, len(arrivals), 10_000):
        assert len(orderer.release_arrivals(arrivals[start : start + 10_000])) == 0
    assert orderer.counts[Stream.POSE].early == 20_000


def test_wrong_shapes_are_refused():
    with pytest.raises(SampleShapeError):
        interleave({Stream.TORQUE: (np.zeros(3, dtype=np.int64), np.zeros((3, 6)))})
    with pytest.raises(SampleShapeError):
        Arrivals(stream=np.zeros(3), time_ns=np.zeros(2), values=np.zeros((3, 14)))

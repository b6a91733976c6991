"""Recordings that are kept as data give today what they gave when they were made, bit for bit.

`pass_session` holds two passes of Press and the draws of θ that they gave. `pushed_arm` holds the
samples of a simulated arm (MuJoCo, 1 kHz, every fifth sample, rounded) during one unpushed and
three pushed plans, one of which was stopped, and the contacts and deltas that were found in them.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.bag_making import arm_messages, topic_name

from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.interface import Plan, PlaybackState, PlaybackStatus
from reward_learning_ros.learning import LearningParameters
from reward_learning_ros.recording.bag_making import serialized_plan, serialized_status
from reward_learning_ros.recording.bag_reader import BagReader
from reward_learning_ros.recording.bag_writer import BagWriter
from reward_learning_ros.recording.message_types import describe_topic
from reward_learning_ros.recording.redetection import RedetectionParameters, redetect
from reward_learning_ros.recording.reinference import read_recorded, reinfer
from reward_learning_ros.recording.session_topics import (
    JOINTS,
    PARTS,
    PLAN,
    POSE,
    STATUS,
    TORQUES,
    WRENCH,
    SessionTopics,
)
from reward_learning_ros.sensing.deltas import CorrectionRecorder
from reward_learning_ros.sensing.ordering import StreamOrderer
from reward_learning_ros.sensing.samples import Stream, interleave
from reward_learning_ros.sensing.timeline import PlaybackFeed

DATA = Path(__file__).parent / 'data'
ARM_PARTS = (TORQUES, JOINTS, POSE, WRENCH)
_STATES = ('idle', 'approaching', 'homing', 'playing', 'paused', 'stopped', 'finished', 'fault')


@pytest.mark.parametrize('threads', [1, 2])
def test_a_recorded_session_of_passes_gives_its_draws_of_theta(threads):
    parameters = LearningParameters(task='press', beta=5.0, max_draws=60)
    result = reinfer(read_recorded(DATA / 'pass_session'), parameters, threads=threads)
    assert result.equals_published is True
    draws = np.load(DATA / 'pass_session' / 'draws.npy')
    np.testing.assert_array_equal(result.inferred.posterior.chains, draws)


@pytest.fixture(scope='module')
def recorded():
    """The recording as its writer heard it."""
    with np.load(DATA / 'pushed_arm' / 'samples.npz') as stored:
        arrays = {name: stored[name] for name in stored.files}
    for name in ('time_ns', 'torque', 'joints', 'pose', 'wrench', 'status'):
        # Kept as differences, which take a third of the room.
        arrays[name] = np.cumsum(arrays[name], axis=0, dtype=np.int64)
    plans = [
        Plan(
            stamp_ns=int(stamp_ns),
            frame_id='fr3_link0',
            positions=positions,
            orientations=np.tile([1.0, 0.0, 0.0, 0.0], (len(positions), 1)),
            times_sec=times_sec,
        )
        for stamp_ns, positions, times_sec in zip(
            arrays['plan_stamp_ns'],
            arrays['plan_positions_m'],
            arrays['plan_times_sec'],
            strict=True,
        )
    ]
    told = [(plan.stamp_ns, plan) for plan in plans]
    for row in arrays['status'].tolist():
        time_ns, state, plan, plan_time_us, *shift_um, is_limited = row
        status = PlaybackStatus(
            state=PlaybackState(_STATES[state]),
            plan_stamp_ns=plans[plan - 1].stamp_ns if plan else 0,
            plan_time_sec=plan_time_us / 1e6,
            stamp_ns=time_ns,
            shift_m=None if shift_um[0] == -(10**6) else np.array(shift_um) / 1e6,
            is_shift_limited=bool(is_limited),
        )
        told.append((time_ns, status))
    return SimpleNamespace(
        time_ns=arrays['time_ns'],
        torque_nm=arrays['torque'] * 0.01,
        joints=arrays['joints'] * 1e-4,
        tool_pose=arrays['pose'] * 1e-4,
        wrench=arrays['wrench'] * 0.05,
        told=sorted(told, key=lambda pair: pair[0]),
    )


def heard(recorded, records):
    """The contacts and the passes of a recorder that hears it live, in blocks of 40 ms."""
    recorder = CorrectionRecorder(jacobian=Kinematics().jacobian)
    feed = PlaybackFeed(recorder.timeline)
    orderer = StreamOrderer()
    arrivals = interleave(
        {
            Stream.TORQUE: (recorded.time_ns, recorded.torque_nm),
            Stream.JOINTS: (recorded.time_ns, recorded.joints),
            Stream.POSE: (recorded.time_ns, recorded.tool_pose),
            Stream.WRENCH: (recorded.time_ns, recorded.wrench),
        }
    )
    told = list(recorded.told)
    contacts, passes = [], {}
    for first in range(0, len(arrivals), records):
        block = arrivals[first : first + records]
        while told and told[0][0] <= block.time_ns[-1]:
            time_ns, record = told.pop(0)
            if isinstance(record, Plan):
                feed.add_plan(record)
            elif feed.add_status(record, time_ns):
                recorder.live.reset()
        recorder.detector.learning = feed.playbacks == 1
        contacts += recorder.process(orderer.release_arrivals(block))
        passes |= {found.plan_stamp_ns: found for found in recorder.passes.take()}
    contacts += recorder.process(orderer.flush()) + recorder.close()
    recorder.passes.end()
    passes |= {found.plan_stamp_ns: found for found in recorder.passes.take()}
    return contacts, list(passes.values()), recorder


def as_numbers(record):
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in dataclasses.asdict(record).items()
    }


def expected(name):
    return json.loads((DATA / 'pushed_arm' / 'expected.json').read_text())[name]


def test_a_recorded_arm_gives_its_contacts_and_deltas_live(recorded):
    contacts, passes, recorder = heard(recorded, records=32)
    assert [as_numbers(contact) for contact in contacts] == expected('contacts')
    assert [as_numbers(each) for each in passes] == expected('passes')
    assert recorder.detector.noise_nm.tolist() == expected('detector')['noise_nm']
    assert recorder.detector.bias_nm.tolist() == expected('detector')['bias_nm']


def test_a_recorded_arm_gives_its_deltas_out_of_a_bag(recorded, tmp_path):
    parts = (PLAN, STATUS, *ARM_PARTS)
    names = {part: topic_name(part) for part in parts}
    rows = [
        (time_ns, names[part], data)
        for part, messages in arm_messages(recorded, ARM_PARTS).items()
        for time_ns, data in zip(recorded.time_ns.tolist(), messages, strict=True)
    ]
    for time_ns, record in recorded.told:
        part = PLAN if isinstance(record, Plan) else STATUS
        to_bytes = serialized_plan if part == PLAN else serialized_status
        rows.append((time_ns, names[part], to_bytes(record)))
    writer = BagWriter(
        tmp_path / 'bag', [describe_topic(names[part], PARTS[part].type_name) for part in parts]
    )
    for time_ns, name, data in sorted(rows, key=lambda row: row[0]):
        writer.write(name, time_ns, data)
    writer.close()
    with BagReader(tmp_path / 'bag') as bag:
        found = redetect(
            bag,
            SessionTopics(bag.path, bag.topics, {}),
            RedetectionParameters(unpushed_playbacks=1),
        )
    assert [as_numbers(each) for each in found.corrections] == expected('redetected')
    assert dataclasses.asdict(found.counts) == expected('counts')

"""How well and how fast pushes become corrections: false ones, found ones, errors, costs.

Run it with `python benchmarks/sensing.py`; every number is processor time or seeded simulation.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'test'))

from helpers.random_messages import RandomMessages
from helpers.sensing_scenarios import correct, detect, learned, ordered, recording

from reward_learning_ros.sensing.contact import Contact, ContactDetector
from reward_learning_ros.sensing.decoding import (
    FrankaStateDecoder,
    JointStateDecoder,
    PoseStampedDecoder,
    WrenchStampedDecoder,
)
from reward_learning_ros.sensing.ordering import StreamOrderer
from reward_learning_ros.sensing.samples import NANOSECONDS, Stream
from reward_learning_ros.sensing.synthetic import ArmModel, random_pushes

JOINTS = tuple(f'fr3_joint{number}' for number in range(1, 8))


def run() -> dict[str, float]:
    """Measures everything, prints a table and returns it by name."""
    results: dict[str, float] = {}
    results |= false_corrections()
    results |= found_pushes()
    results |= decoding()
    results |= detection_speed()
    width = max(map(len, results))
    for name, value in results.items():
        print(f'{name:<{width}}  {value:12.4g}')
    return results


def false_corrections(minutes: float = 10.0) -> dict[str, float]:
    """Counts corrections of an unpushed playback with noise and a pose-dependent bias."""
    results = {}
    for name, model in (
        ('white noise', ArmModel(noise_nm=0.2, bias_nm=2.0)),
        ('coloured noise', ArmModel(noise_nm=0.3, noise_memory_sec=0.005, bias_nm=2.0)),
    ):
        made = recording(60.0 * minutes, seed=21, model=model)
        contacts = [contact for contact in detect(made.arrivals()) if not contact.rejected]
        results[f'false corrections in {minutes:g} min, {name}'] = float(len(contacts))
        fresh = [c for c in detect(made.arrivals(), ContactDetector()) if not c.rejected]
        results[f'false corrections in {minutes:g} min, {name}, nothing learned before'] = float(
            len(fresh)
        )
    return results


def found_pushes(count: int = 200) -> dict[str, float]:
    """Compares the corrections of random pushes with what the pushes were."""
    pushes = random_pushes(count, rng=np.random.default_rng(22))
    made = recording(pushes[-1].end_sec + 3.0, *pushes, seed=23)
    corrections = correct(made)[1]
    start_ns = int(made.time_ns[0])
    spans = [
        ((c.onset_ns - start_ns) / NANOSECONDS, (c.end_ns - start_ns) / NANOSECONDS)
        for c in corrections
    ]
    owners = [
        [i for i, push in enumerate(pushes) if onset < push.end_sec and end > push.start_sec]
        for onset, end in spans
    ]
    found = [
        (pushes[owner[0]], correction)
        for owner, correction in zip(owners, corrections, strict=True)
        if len(owner) == 1 and sum(owner[0] in other for other in owners) == 1
    ]
    onset_errors, errors, angles = [], [], []
    for push, correction in found:
        truth = made.peak_displacement_m(push)
        size = np.linalg.norm(truth) * np.linalg.norm(correction.vector_m)
        onset_errors.append((correction.onset_ns - start_ns) / NANOSECONDS - push.start_sec)
        errors.append(np.linalg.norm(correction.vector_m - truth))
        cosine = np.clip(truth @ correction.vector_m / size, -1.0, 1.0)
        angles.append(np.degrees(np.arccos(cosine)))
    hit = {i for owner in owners for i in owner}
    return {
        f'pushes found, % of {count}': 100.0 * len(hit) / count,
        'split pushes': float(sum(sum(i in o for o in owners) > 1 for i in range(count))),
        'merged pushes': float(sum(len(owner) > 1 for owner in owners)),
        'corrections without a push': float(sum(not owner for owner in owners)),
        'onset error, median, ms': 1e3 * float(np.median(np.abs(onset_errors))),
        'onset error, 95 %, ms': 1e3 * float(np.percentile(np.abs(onset_errors), 95)),
        'displacement error, median, mm': 1e3 * float(np.median(errors)),
        'displacement error, greatest, mm': 1e3 * float(np.max(errors)),
        'direction error, median, degrees': float(np.median(angles)),
        'direction error, greatest, degrees': float(np.max(angles)),
    }


def decoding(count: int = 20_000) -> dict[str, float]:
    """Times the decoders on messages whose layout repeats, as a topic's does."""
    messages = RandomMessages(np.random.default_rng(24))
    cases = {
        'JointState, effort only': (
            JointStateDecoder(JOINTS),
            messages.joint_state(JOINTS, (0, 0, 7)),
        ),
        'JointState': (JointStateDecoder(JOINTS), messages.joint_state(JOINTS, (7, 7, 7))),
        'PoseStamped': (PoseStampedDecoder(), messages.message('geometry_msgs/msg/PoseStamped')),
        'WrenchStamped': (
            WrenchStampedDecoder(),
            messages.message('geometry_msgs/msg/WrenchStamped'),
        ),
        'FrankaRobotState': (FrankaStateDecoder(), messages.franka_state(JOINTS)),
    }
    results = {}
    for name, (decoder, message) in cases.items():
        data = messages.serialize(message)

        def decode(decoder=decoder, data=data) -> None:
            for _ in range(count):
                decoder.decode(data)

        results[f'decode {name}, us'] = 1e6 * processor_sec(decode) / count
    return results


def detection_speed(seconds: float = 300.0) -> dict[str, float]:
    """Times order and detection of torque, joints and pose at 1 kHz each, as re-inference does."""
    pushes = random_pushes(60, rng=np.random.default_rng(25))
    made = recording(seconds, *pushes, seed=26)
    arrivals = made.arrivals()
    arrivals = arrivals[np.isin(arrivals.stream, (Stream.TORQUE, Stream.JOINTS, Stream.POSE))]
    learned()
    detector = ContactDetector()
    detector.restore(learned())
    blocks = list(ordered(arrivals))
    found: list[Contact] = []

    def detect_only() -> None:
        for block in blocks:
            found.extend(detector.process(block).contacts)

    detecting = processor_sec(detect_only)
    whole = processor_sec(lambda: correct(made, arrivals))
    live_calls = 2_000

    def live() -> None:
        orderer = StreamOrderer()
        detector = ContactDetector()
        torque, joints, pose = (0.1,) * 7, (0.1,) * 14, (0.1,) * 7
        for i in range(live_calls):
            for k in range(10):
                stamp = NANOSECONDS + (10 * i + k) * 1_000_000
                orderer.add(Stream.TORQUE, stamp, torque)
                orderer.add(Stream.JOINTS, stamp, joints)
                orderer.add(Stream.POSE, stamp, pose)
            detector.process(orderer.release())

    return {
        'messages re-detected': float(len(arrivals)),
        'contacts found': float(len(found)),
        'detection alone, s': detecting,
        'order, detection and corrections, s': whole,
        're-detection, messages/s': len(arrivals) / whole,
        'live order and detection at 3 x 1 kHz in 100 Hz, % of a core': (
            100.0 * processor_sec(live) / (live_calls * 0.01)
        ),
    }


def processor_sec(function: Callable[[], object]) -> float:
    """Returns the processor time of one call."""
    start = time.process_time()
    function()
    return time.process_time() - start


if __name__ == '__main__':
    run()

"""A synthetic arm, its learned bias, and recordings run through the whole path."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.interface import ContactReport
from reward_learning_ros.interface.plan import Plan
from reward_learning_ros.sensing.contact import Contact, ContactDetector
from reward_learning_ros.sensing.deltas import CorrectionRecorder
from reward_learning_ros.sensing.ordering import StreamOrderer
from reward_learning_ros.sensing.samples import NANOSECONDS, Arrivals
from reward_learning_ros.sensing.synthetic import ArmModel, Push, Recording, record
from reward_learning_ros.sensing.timeline import PlaybackMoment, PlaybackTimeline

WAYPOINTS = np.array(
    [[0.35, 0.0, 0.5], [0.45, -0.1, 0.4], [0.55, -0.1, 0.3], [0.6, 0.1, 0.25], [0.6, 0.25, 0.2]]
)
LEG_SEC = 10.0
PLAN = Plan(
    stamp_ns=7,
    frame_id='fr3_link0',
    positions=WAYPOINTS,
    orientations=np.tile([1.0, 0.0, 0.0, 0.0], (len(WAYPOINTS), 1)),
    times_sec=np.linspace(0.0, LEG_SEC, len(WAYPOINTS)),
)


def recording(duration_sec: float, *pushes: Push, seed: int = 1, **settings) -> Recording:
    return record(
        waypoints_m=WAYPOINTS,
        leg_sec=LEG_SEC,
        duration_sec=duration_sec,
        pushes=pushes,
        rng=np.random.default_rng(seed),
        **settings,
    )


def ordered(arrivals: Arrivals, size: int = 20_000):
    """The blocks of a recording, as a node would get them."""
    orderer = StreamOrderer()
    for start in range(0, len(arrivals), size):
        yield orderer.release_arrivals(arrivals[start : start + size])
    yield orderer.flush()


@lru_cache(maxsize=4)
def learned(noise_nm: float = 0.2, noise_memory_sec: float = 0.0) -> np.ndarray:
    """What a detector knows after 40 s of unpushed playback, there and back twice."""
    detector = ContactDetector()
    detector.learning = True
    model = ArmModel(noise_nm=noise_nm, noise_memory_sec=noise_memory_sec)
    for block in ordered(recording(40.0, seed=99, model=model).arrivals()):
        detector.process(block)
    return detector.snapshot()


def detect(
    arrivals: Arrivals,
    detector: ContactDetector | None = None,
    snapshot: np.ndarray | None = None,
    size: int = 20_000,
) -> list[Contact]:
    """All contacts of a recording, rejected ones too."""
    if detector is None:
        detector = ContactDetector()
        detector.restore(learned() if snapshot is None else snapshot)
    events = [
        event for block in ordered(arrivals, size) for event in detector.process(block).events
    ]
    last = detector.close()
    events += [] if last is None else [last]
    return [event for event in events if isinstance(event, Contact)]


def timeline_of(made: Recording, plan: Plan = PLAN) -> PlaybackTimeline:
    timeline = PlaybackTimeline(memory_sec=None)
    for i in range(0, len(made.time_ns), 20):
        timeline.add(
            PlaybackMoment(
                time_ns=int(made.time_ns[i]),
                plan=plan,
                plan_time_sec=float(made.plan_time_sec[i]),
                is_moving=True,
            )
        )
    return timeline


def correct(
    made: Recording, arrivals: Arrivals | None = None, size: int = 20_000, **settings
) -> tuple[CorrectionRecorder, list[ContactReport]]:
    """All contacts of a recording."""
    settings.setdefault('timeline', timeline_of(made))
    recorder = CorrectionRecorder(jacobian=Kinematics().jacobian, **settings)
    recorder.detector.restore(learned())
    contacts = []
    for block in ordered(made.arrivals() if arrivals is None else arrivals, size):
        contacts += recorder.process(block)
    return recorder, contacts + recorder.close()


def seconds(made: Recording, time_ns: int) -> float:
    return float(time_ns - made.time_ns[0]) / NANOSECONDS


def assert_same(first: list[ContactReport], second: list[ContactReport]) -> None:
    assert first == second

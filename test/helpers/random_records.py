"""Random records of every kind, from a seeded generator."""

from __future__ import annotations

import numpy as np

from reward_learning_ros.core.scenery import ROLES, SHAPES, SceneObject
from reward_learning_ros.interface import (
    ContactReport,
    Correction,
    Deformation,
    Diagnostic,
    DiagnosticReport,
    InferenceEvent,
    InferenceState,
    InferenceStatus,
    JointReading,
    JointTrajectory,
    Level,
    LiveTheta,
    OperatorMark,
    ParticipantState,
    ParticipantStatus,
    PassCorrections,
    Plan,
    PlaybackState,
    PlaybackStatus,
    PoseReading,
    QuestionnaireAnswers,
    RecorderStatus,
    SessionEnd,
    SessionState,
    SessionStatus,
    ThetaSamples,
    ThetaSummary,
    WrenchReading,
)

FRAME = 'fr3_link0'


def stamp(rng: np.random.Generator) -> int:
    return int(rng.integers(0, 2**31 * 10**9))


def length(rng: np.random.Generator) -> int:
    return int(rng.integers(1, 12))


def vectors(rng: np.random.Generator, *shape: int) -> np.ndarray:
    # Magnitudes from a nanometre to a kilometre: a text in between must not lose digits.
    return rng.normal(size=shape) * 10.0 ** rng.integers(-9, 4)


def quaternions(rng: np.random.Generator, *shape: int) -> np.ndarray:
    values = rng.normal(size=(*shape, 4))
    return values / np.linalg.norm(values, axis=-1, keepdims=True)


def times(rng: np.random.Generator, count: int) -> np.ndarray:
    return np.cumsum(rng.uniform(1e-6, 3.0, size=count))


def names(rng: np.random.Generator, count: int) -> tuple[str, ...]:
    return tuple(f'name {index} µ{rng.integers(1000)}' for index in range(count))


def plan(rng: np.random.Generator, count: int | None = None) -> Plan:
    count = count or length(rng)
    return Plan(
        stamp_ns=stamp(rng),
        frame_id=FRAME,
        positions=vectors(rng, count, 3),
        orientations=quaternions(rng, count),
        times_sec=times(rng, count),
    )


def correction(rng: np.random.Generator, count: int | None = None) -> Correction:
    count = count or length(rng)
    return Correction(
        stamp_ns=stamp(rng),
        frame_id=FRAME,
        tool_frame='fr3_hand_tcp',
        plan_stamp_ns=stamp(rng),
        delta_positions=np.clip(vectors(rng, count, 3), -100.0, 100.0),
        delta_orientations=quaternions(rng, count),
        times_sec=times(rng, count),
        onset_waypoint=int(rng.integers(count)),
        onset_time_sec=rng.uniform(0, 10),
        duration_sec=rng.exponential(),
        peak_force=rng.exponential(10.0),
        confidence=rng.uniform(),
    )


def corrections(rng: np.random.Generator, count: int | None = None) -> PassCorrections:
    """Return what a person did to a pass: pushes, and silence in between."""
    count = count or length(rng)
    deltas = np.clip(vectors(rng, count, 3), -100.0, 100.0)
    turns = quaternions(rng, count)
    is_silent = rng.random(count) < 0.5
    # The first is a push: a test that changes numbers needs one that is not zero.
    is_silent[0] = False
    deltas[is_silent] = 0.0
    turns[is_silent] = (0.0, 0.0, 0.0, 1.0)
    return PassCorrections(
        plan_stamp_ns=stamp(rng),
        frame_id=FRAME,
        tool_frame='fr3_hand_tcp',
        times_sec=times(rng, count),
        delta_positions=deltas,
        delta_orientations=turns,
    )


def contact(rng: np.random.Generator) -> ContactReport:
    return ContactReport(
        plan_stamp_ns=stamp(rng),
        onset_ns=stamp(rng),
        onset_plan_sec=rng.uniform(0, 10),
        duration_sec=rng.exponential(),
        displacement_m=vectors(rng, 3),
        peak_force_n=rng.exponential(10.0),
        confidence=rng.uniform(),
        source='measured',
    )


def digest(rng: np.random.Generator) -> str:
    return rng.bytes(8).hex()


def playback_status(rng: np.random.Generator) -> PlaybackStatus:
    state = list(PlaybackState)[rng.integers(len(PlaybackState))]
    return PlaybackStatus(
        state=state,
        plan_stamp_ns=stamp(rng),
        plan_time_sec=rng.exponential(),
        progress=rng.uniform(),
        fault='joint 4 = reflex & "stop"' if state is PlaybackState.FAULT else '',
        faults=int(rng.integers(1, 9)),
        last_fault='joint 4 = reflex & "stop"',
        not_ready='' if rng.integers(2) else 'there is no plan',
        stamp_ns=stamp(rng),
        shift_m=vectors(rng, 3),
        is_shift_limited=bool(rng.integers(2)),
    )


def deformation(rng: np.random.Generator) -> Deformation:
    return Deformation(stamp_ns=stamp(rng), frame_id=FRAME, shift=vectors(rng, 3))


def session_status(rng: np.random.Generator) -> SessionStatus:
    state = list(SessionState)[rng.integers(len(SessionState))]
    ends = list(SessionEnd)
    return SessionStatus(
        state=state,
        passes=int(rng.integers(9)),
        corrections=int(rng.integers(9)),
        end=ends[rng.integers(len(ends))] if state is SessionState.ENDED else None,
        reason='' if rng.random() < 0.5 else 'waiting for a, b: "c" µ',
    )


def inference_status(rng: np.random.Generator) -> InferenceStatus:
    stamps = tuple(sorted(stamp(rng) for _ in range(rng.integers(4))))
    return InferenceStatus(
        state=list(InferenceState)[rng.integers(len(InferenceState))],
        event=list(InferenceEvent)[rng.integers(len(InferenceEvent))],
        corrections_ns=stamps,
        considered_ns=stamps[:-1],
        learned_from_ns=stamps[:1],
        data=digest(rng),
        considered_data=digest(rng),
        learned_data='' if rng.random() < 0.5 else digest(rng),
        pushes=int(rng.integers(30)),
        heard=len(stamps),
        plan_stamp_ns=stamp(rng),
        reasons=('the chains disagree', 'unreachable: 3')[: rng.integers(3)],
        fault='' if rng.random() < 0.5 else 'a fault',
        quality={'max_r_hat': repr(rng.normal())},
    )


def recorder_status(rng: np.random.Generator) -> RecorderStatus:
    return RecorderStatus(
        in_contact=rng.random() < 0.5,
        plan_stamp_ns=stamp(rng),
        digest='' if rng.random() < 0.5 else digest(rng),
        is_complete=rng.random() < 0.5,
    )


def participant_status(rng: np.random.Generator) -> ParticipantStatus:
    return ParticipantStatus(
        state=list(ParticipantState)[rng.integers(len(ParticipantState))],
        theta=vectors(rng, length(rng)),
        beta=rng.exponential(),
        pushes=int(rng.integers(9)),
    )


def theta_summary(rng: np.random.Generator) -> ThetaSummary:
    size = length(rng)
    return ThetaSummary(
        features=names(rng, size),
        mean=vectors(rng, size),
        sd=rng.exponential(size=size),
        quantiles=np.sort(vectors(rng, 3, size), axis=0),
    )


def live_theta(rng: np.random.Generator) -> LiveTheta:
    return LiveTheta(theta=theta_summary(rng))


def theta_samples(rng: np.random.Generator) -> ThetaSamples:
    size = length(rng)
    return ThetaSamples(features=names(rng, size), samples=vectors(rng, length(rng), size))


def diagnostic(rng: np.random.Generator) -> Diagnostic:
    return Diagnostic(
        name='inference: R̂',
        level=Level(rng.integers(len(Level))),
        message='a: b, c = "d"',
        hardware_id='fr3',
        values={'r_hat': rng.normal(), 'ess': float('nan'), 'draws': int(rng.integers(9)), '': ''},
    )


def diagnostic_report(rng: np.random.Generator) -> DiagnosticReport:
    return DiagnosticReport(
        stamp_ns=stamp(rng), diagnostics=tuple(diagnostic(rng) for _ in range(length(rng)))
    )


def joint_trajectory(rng: np.random.Generator) -> JointTrajectory:
    count, joints = length(rng), length(rng)
    return JointTrajectory(
        stamp_ns=stamp(rng),
        joint_names=names(rng, joints),
        positions=vectors(rng, count, joints),
        times_sec=times(rng, count),
        velocities=vectors(rng, count, joints) if rng.random() < 0.5 else None,
        accelerations=vectors(rng, count, joints) if rng.random() < 0.5 else None,
    )


def joint_reading(rng: np.random.Generator) -> JointReading:
    joints = length(rng)
    return JointReading(
        stamp_ns=stamp(rng),
        joint_names=names(rng, joints),
        positions=vectors(rng, joints) if rng.random() < 0.5 else None,
        velocities=vectors(rng, joints) if rng.random() < 0.5 else None,
        efforts=vectors(rng, joints) if rng.random() < 0.5 else None,
    )


def pose_reading(rng: np.random.Generator) -> PoseReading:
    return PoseReading(
        stamp_ns=stamp(rng),
        frame_id=FRAME,
        position=vectors(rng, 3),
        orientation=quaternions(rng),
    )


def wrench_reading(rng: np.random.Generator) -> WrenchReading:
    return WrenchReading(
        stamp_ns=stamp(rng), frame_id=FRAME, force=vectors(rng, 3), torque=vectors(rng, 3)
    )


def scene_object(rng: np.random.Generator) -> SceneObject:
    return SceneObject(
        name='table',
        shape=str(rng.choice(SHAPES)),
        role=str(rng.choice(ROLES)),
        position=vectors(rng, 3),
        size=rng.uniform(0.01, 1.0, size=3),
        orientation=quaternions(rng),
    )


def answers(rng: np.random.Generator) -> QuestionnaireAnswers:
    return QuestionnaireAnswers(
        stamp_ns=stamp(rng),
        questionnaire='nasa_tlx',
        digest=f'{rng.integers(2**60):x}',
        participant=f'p{rng.integers(99)}',
        trial=int(rng.integers(1, 99)),
        answers={
            'effort': repr(float(rng.uniform(0, 100))),
            'effort:performance': 'effort',
            'comment': 'née <b>=\n"µ"',
        },
    )


def mark(rng: np.random.Generator) -> OperatorMark:
    moments = sorted(stamp(rng) for _ in range(2))
    return OperatorMark(
        stamp_ns=moments[0], machine_ns=moments[1], key='spilled', note='twice, née <b>'
    )


ALL = {
    maker.__name__: maker
    for maker in (
        answers,
        mark,
        plan,
        corrections,
        contact,
        playback_status,
        session_status,
        inference_status,
        participant_status,
        recorder_status,
        deformation,
        theta_summary,
        live_theta,
        theta_samples,
        diagnostic,
        diagnostic_report,
        joint_trajectory,
        joint_reading,
        pose_reading,
        wrench_reading,
    )
}

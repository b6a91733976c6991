"""Whole sessions of passes, made without an arm, as a live one would have recorded them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from reward_learning_ros.interface import (
    ContactReport,
    InferenceStatus,
    ParticipantStatus,
    PassCorrections,
    Plan,
    PlaybackStatus,
    SessionStatus,
)
from reward_learning_ros.interface.recorder import contact_diagnostic_of
from reward_learning_ros.interface.status import participant_diagnostic_of, session_diagnostic_of
from reward_learning_ros.interface.theta import inference_diagnostic_of
from reward_learning_ros.learning import Learner, LearningParameters, learn
from reward_learning_ros.learning.inference_result import tool_paths_of
from reward_learning_ros.parameters import to_mapping
from reward_learning_ros.participant.people import Person
from reward_learning_ros.recording.bag_making import (
    serialized_diagnostic,
    serialized_pass_corrections,
    serialized_plan,
    serialized_status,
    serialized_theta,
)
from reward_learning_ros.recording.bag_writer import BagWriter
from reward_learning_ros.recording.message_types import describe_topic
from reward_learning_ros.recording.session_topics import (
    CONTACTS,
    CORRECTIONS,
    INFERENCE,
    PARTICIPANT,
    PARTICIPANT_CORRECTIONS,
    PARTS,
    PLAN,
    SESSION,
    STATUS,
    THETA,
)
from reward_learning_ros.session.folder import SessionFolder
from reward_learning_ros.session.session_parameters import SessionParameters

SECOND_NS = 10**9
# From the end of the last push to the next plan, in the seconds of the recording.
LATENCY_SEC = 0.5
STILL = (0.0, 0.0, 0.0, 1.0)


def pass_corrections(plan: Plan, deltas: np.ndarray, waypoints: list[int]) -> PassCorrections:
    """Return deltas (k, 3) at some waypoints of a plan."""
    return PassCorrections(
        plan_stamp_ns=plan.stamp_ns,
        frame_id=plan.frame_id,
        tool_frame='fr3_hand_tcp',
        times_sec=plan.times_sec[waypoints],
        delta_positions=deltas,
        delta_orientations=np.tile(STILL, (len(waypoints), 1)),
    )


def contacts_of(record: PassCorrections) -> list[ContactReport]:
    """Return a contact of half a second for each push."""
    return [
        ContactReport(
            plan_stamp_ns=record.plan_stamp_ns,
            onset_ns=record.plan_stamp_ns + round(time_sec * SECOND_NS),
            onset_plan_sec=time_sec,
            duration_sec=0.5,
            displacement_m=delta,
            peak_force_n=12.5,
            confidence=0.9,
            source='measured',
        )
        for time_sec, delta, is_push in zip(
            record.times_sec, record.delta_positions, record.is_push, strict=True
        )
        if is_push
    ]


def write_session(
    path: Path,
    parameters: LearningParameters,
    *,
    theta: np.ndarray,
    kind: str = 'purposeful',
    passes: int = 2,
    noise_m: float = 0.0,
    seed: int = 0,
) -> SessionFolder:
    """Let a simulated person correct passes, infer after each, and write the session.

    Args:
        path: Folder of the session, new.
        parameters: How is learned.
        theta: (d,) what the person wants.
        kind: Of person.
        passes: How many.
        noise_m: By how much the recorded deltas are off the meant ones.
        seed: Of the person.
    """
    rng = np.random.default_rng(seed)
    paths = tool_paths_of(parameters)
    task = paths.task
    person = Person(kind=kind, task=task, theta=theta, seed=seed)
    learner = Learner(paths)
    rows: list[tuple[int, str, bytes]] = []
    plan = paths.initial_plan(10 * SECOND_NS)
    fixed = task.space.fixed_waypoints
    waypoints = list(range(fixed, len(task.plan)))
    state = {'theta': theta, 'beta': person.beta}

    def say(time_ns: int, part: str, data: bytes) -> None:
        rows.append((time_ns, part, data))

    def say_participant(time_ns: int, **changes: object) -> None:
        status = ParticipantStatus(**{**state, **changes})
        say(time_ns, PARTICIPANT, serialized_diagnostic(participant_diagnostic_of(status)))

    say(plan.stamp_ns, PLAN, serialized_plan(plan))
    pushes = 0
    for number in range(1, passes + 1):
        meant = person.deltas(paths.trajectory_of(plan))
        felt = np.where(
            np.abs(meant).max(axis=1, keepdims=True) > 0.0,
            meant + noise_m * rng.standard_normal(meant.shape),
            0.0,
        )
        record = pass_corrections(plan, felt, waypoints)
        pushes += record.pushes
        end_ns = plan.stamp_ns + round((plan.duration_sec + 1.0) * SECOND_NS)
        for time_ns, name in ((plan.stamp_ns + 1, 'playing'), (end_ns, 'finished')):
            status = PlaybackStatus(state=name, plan_stamp_ns=plan.stamp_ns)
            say(time_ns, STATUS, serialized_status(status))
        say_participant(plan.stamp_ns, state='pushing', pushes=pushes)
        said = serialized_pass_corrections(pass_corrections(plan, meant, waypoints))
        say(end_ns, PARTICIPANT_CORRECTIONS, said)
        for contact in contacts_of(record):
            data = serialized_diagnostic(contact_diagnostic_of(contact))
            say(contact.end_ns, CONTACTS, data)
        # It is told as far as the arm has got, and then as a whole.
        for count in (2, len(waypoints)):
            part = pass_corrections(plan, felt[:count], waypoints[:count])
            told_ns = plan.stamp_ns + round(float(plan.times_sec[waypoints[count - 1]]) * 1e9)
            say(told_ns, CORRECTIONS, serialized_pass_corrections(part))
        learner.add_plan(plan)
        learner.add_corrections(record)
        result = learn(parameters, learner.sequences(), task=task, threads=1)
        ends = [contact.end_ns for contact in contacts_of(record)]
        next_ns = max([end_ns, *ends]) + round(LATENCY_SEC * SECOND_NS)
        stamps = tuple(each.plan_stamp_ns for each in learner.passes)
        # A plan that is not trusted is not shown: the last one is played again.
        plan = (
            result.stamped_plan(next_ns)
            if result.plan is not None
            else replace(plan, stamp_ns=next_ns)
        )
        status = InferenceStatus(
            state='waiting',
            event='learned',
            corrections_ns=stamps,
            considered_ns=stamps,
            learned_from_ns=stamps,
            data=learner.digest,
            considered_data=learner.digest,
            learned_data=learner.digest,
            pushes=learner.pushes,
            heard=number,
            plan_stamp_ns=plan.stamp_ns,
        )
        say(next_ns, THETA, serialized_theta(result.theta))
        say(next_ns, INFERENCE, serialized_diagnostic(inference_diagnostic_of(status)))
        say(next_ns, PLAN, serialized_plan(plan))
    say_participant(plan.stamp_ns + 1, state='watching', pushes=pushes)
    ended = SessionStatus(state='ended', passes=passes, corrections=pushes, end='max_passes')
    say(plan.stamp_ns + 2, SESSION, serialized_diagnostic(session_diagnostic_of(ended)))
    folder = SessionFolder(path=path)
    folder.path.mkdir(parents=True)
    config = SessionParameters(task=parameters.task, study='made', participant='p01', trial=1)
    folder.write_configuration(
        config, {'reward_inference': {'parameters': to_mapping(parameters)}}
    )
    names = {part: f'/{PARTS[part].name}' for part in dict.fromkeys(part for _, part, _ in rows)}
    writer = BagWriter(
        folder.bag, [describe_topic(name, PARTS[part].type_name) for part, name in names.items()]
    )
    for time_ns, part, data in sorted(rows, key=lambda row: row[0]):
        writer.write(names[part], time_ns, data)
    writer.close()
    return folder

"""Bags of corrections that no session recorded: out of tables, or published data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros.interface import (
    Correction,
    Diagnostic,
    LiveTheta,
    OperatorMark,
    ParticipantState,
    ParticipantStatus,
    PassCorrections,
    Plan,
    PlaybackState,
    PlaybackStatus,
    QuestionnaireAnswers,
    ThetaSummary,
)
from reward_learning_ros.interface.correction import joint_name_of
from reward_learning_ros.interface.plan import diagnostic_of
from reward_learning_ros.interface.status import participant_diagnostic_of
from reward_learning_ros.interface.study_records import answers_diagnostic_of, mark_diagnostic_of
from reward_learning_ros.interface.theta import LIVE_STATISTIC, STATISTIC, STATISTICS, label_of
from reward_learning_ros.learning import ToolPaths
from reward_learning_ros.recording.bag_reader import BagReader
from reward_learning_ros.recording.bag_writer import BagWriter, existing_files
from reward_learning_ros.recording.message_types import (
    Topic,
    describe_topic,
    standard_types,
)
from reward_learning_ros.recording.problems import BagError, Problem
from reward_learning_ros.recording.published_recordings import Recording, corrections_of
from reward_learning_ros.recording.session_topics import (
    ANSWERS,
    CORRECTIONS,
    MARKS,
    PARTICIPANT,
    PARTS,
    PLAN,
    STATUS,
)

_NANOSECONDS = 1_000_000_000


def serialized_plan(plan: Plan) -> bytes:
    """Return a plan as nav_msgs/Path."""
    poses = [
        _new(
            'geometry_msgs/msg/PoseStamped',
            header=_header(round(time_sec * 1e9), plan.frame_id),
            pose=_new(
                'geometry_msgs/msg/Pose',
                position=_new('geometry_msgs/msg/Point', **_xyz(position)),
                orientation=_quaternion(orientation),
            ),
        )
        for position, orientation, time_sec in zip(
            plan.positions, plan.orientations, plan.times_sec, strict=True
        )
    ]
    return _bytes_of(
        _new('nav_msgs/msg/Path', header=_header(plan.stamp_ns, plan.frame_id), poses=poses)
    )


def serialized_pass_corrections(corrections: PassCorrections) -> bytes:
    """Return what a person did to a pass as trajectory_msgs/MultiDOFJointTrajectory."""
    return _serialized_deltas(corrections, corrections.plan_stamp_ns, corrections.tool_frame)


def serialized_correction(correction: Correction) -> bytes:
    """Return a correction, as older recordings have it, as the same type of message."""
    return _serialized_deltas(correction, correction.stamp_ns, joint_name_of(correction))


def serialized_corrections(record: PassCorrections | Correction) -> bytes:
    """Return corrections of either kind."""
    if isinstance(record, PassCorrections):
        return serialized_pass_corrections(record)
    return serialized_correction(record)


def _serialized_deltas(
    record: PassCorrections | Correction, stamp_ns: int, joint_name: str
) -> bytes:
    points = [
        _new(
            'trajectory_msgs/msg/MultiDOFJointTrajectoryPoint',
            transforms=[
                _new(
                    'geometry_msgs/msg/Transform',
                    translation=_new('geometry_msgs/msg/Vector3', **_xyz(delta)),
                    rotation=_quaternion(turn),
                )
            ],
            velocities=[],
            accelerations=[],
            time_from_start=_time('builtin_interfaces/msg/Duration', round(time_sec * 1e9)),
        )
        for delta, turn, time_sec in zip(
            record.delta_positions, record.delta_orientations, record.times_sec, strict=True
        )
    ]
    return _bytes_of(
        _new(
            'trajectory_msgs/msg/MultiDOFJointTrajectory',
            header=_header(stamp_ns, record.frame_id),
            joint_names=[joint_name],
            points=points,
        )
    )


def serialized_diagnostic(diagnostic: Diagnostic) -> bytes:
    """Return a diagnostic, or a status that is one, as diagnostic_msgs/DiagnosticStatus."""
    values = [
        _new('diagnostic_msgs/msg/KeyValue', key=key, value=value)
        for key, value in diagnostic.values.items()
    ]
    return _bytes_of(
        _new(
            'diagnostic_msgs/msg/DiagnosticStatus',
            level=int(diagnostic.level),
            name=diagnostic.name,
            message=diagnostic.message,
            hardware_id=diagnostic.hardware_id,
            values=values,
        )
    )


def serialized_theta(theta: ThetaSummary | LiveTheta) -> bytes:
    """Return the statistics of θ, kept or live, as std_msgs/Float64MultiArray."""
    label = STATISTIC
    if isinstance(theta, LiveTheta):
        label, theta = LIVE_STATISTIC, theta.theta
    rows, columns = theta.table.shape
    layout = _new(
        'std_msgs/msg/MultiArrayLayout',
        dim=[
            _dimension(label_of(label, STATISTICS), rows, rows * columns),
            _dimension(label_of('feature', theta.features), columns, columns),
        ],
        data_offset=0,
    )
    return _bytes_of(
        _new('std_msgs/msg/Float64MultiArray', layout=layout, data=theta.table.ravel())
    )


def _dimension(label: str, size: int, stride: int) -> Any:
    return _new('std_msgs/msg/MultiArrayDimension', label=label, size=size, stride=stride)


def serialized_status(status: PlaybackStatus) -> bytes:
    """Return the playback's status as diagnostic_msgs/DiagnosticStatus."""
    return serialized_diagnostic(diagnostic_of(status))


def _new(type_name: str, **fields: Any) -> Any:
    return standard_types().types[type_name](**fields)


def _bytes_of(message: Any) -> bytes:
    return bytes(standard_types().serialize_cdr(message, message.__msgtype__))


def _time(type_name: str, time_ns: int) -> Any:
    return _new(type_name, sec=time_ns // _NANOSECONDS, nanosec=time_ns % _NANOSECONDS)


def _header(stamp_ns: int, frame_id: str) -> Any:
    stamp = _time('builtin_interfaces/msg/Time', stamp_ns)
    return _new('std_msgs/msg/Header', stamp=stamp, frame_id=frame_id)


def _xyz(vector: np.ndarray) -> dict[str, float]:
    return {axis: float(value) for axis, value in zip('xyz', vector, strict=True)}


def _quaternion(xyzw: Sequence[float] | np.ndarray) -> Any:
    parts = {axis: float(value) for axis, value in zip('xyzw', xyzw, strict=True)}
    return _new('geometry_msgs/msg/Quaternion', **parts)


# The published recordings say how long they took, not when they were made.
_PUBLISHED_START_NS = 1_000_000_000


def write_corrections(
    path: Path,
    plans: Sequence[Plan],
    corrections: Sequence[PassCorrections | Correction],
    theta_star: np.ndarray | None = None,
) -> None:
    """Write a bag in which plans are played and corrected, as a session would have recorded it.

    Args:
        path: Folder of the bag; must not be there yet.
        plans: What was shown.
        corrections: Of those plans; what is known of each pass, or of each contact.
        theta_star: (d,) what the person wants, where that is known.

    Raises:
        BagError: The folder is there already.
        BagWriteError: It cannot be written.
    """
    _require_new(path)
    parts = (PLAN, STATUS, CORRECTIONS, *(() if theta_star is None else (PARTICIPANT,)))
    names = {part: f'/{PARTS[part].name}' for part in parts}
    rows: list[tuple[int, str, bytes]] = []
    for plan in plans:
        end_ns = plan.stamp_ns + round(plan.duration_sec * _NANOSECONDS)
        rows.append((plan.stamp_ns, names[PLAN], serialized_plan(plan)))
        for time_ns, state, share in (
            (plan.stamp_ns, PlaybackState.PLAYING, 0.0),
            (end_ns, PlaybackState.FINISHED, 1.0),
        ):
            status = PlaybackStatus(
                state=state,
                plan_stamp_ns=plan.stamp_ns,
                plan_time_sec=share * plan.duration_sec,
                progress=share,
            )
            rows.append((time_ns, names[STATUS], serialized_status(status)))
    for record in corrections:
        rows.append((_told_ns(record), names[CORRECTIONS], serialized_corrections(record)))
    if theta_star is not None:
        told = participant_diagnostic_of(
            ParticipantStatus(state=ParticipantState.CONTENT, theta=theta_star, beta=0.0)
        )
        first_ns = min(time_ns for time_ns, _, _ in rows)
        rows.append((first_ns, names[PARTICIPANT], serialized_diagnostic(told)))
    writer = BagWriter(
        path,
        [describe_topic(names[part], PARTS[part].type_name, PARTS[part].qos) for part in parts],
    )
    # A stable sort: a plan stays before what belongs to it.
    for time_ns, topic, data in sorted(rows, key=lambda row: row[0]):
        writer.write(topic, time_ns, data)
    writer.close()


def add_study_record(
    path: Path, record: QuestionnaireAnswers | OperatorMark, *, namespace: str = ''
) -> None:
    """Add an answer or a mark to the bag of a session that has ended; nobody else may write to it.

    What is there stays as it is: the message is in a file of its own.

    Args:
        path: Folder of the bag.
        record: What was said.
        namespace: Of the session's topics.

    Raises:
        BagError: There is no bag, or one in another storage.
        BagWriteError: It cannot be written.
    """
    if not path.is_dir():
        raise BagError(f'{path}: there is no recording')
    part = PARTS[MARKS if isinstance(record, OperatorMark) else ANSWERS]
    prefix = f'/{namespace.strip("/")}' if namespace else ''
    topic = describe_topic(f'{prefix}/{part.name}', part.type_name, part.qos)
    if isinstance(record, OperatorMark):
        told, said_ns = mark_diagnostic_of(record), record.machine_ns
    else:
        told, said_ns = answers_diagnostic_of(record), record.stamp_ns
    # In simulated time a recording may be ahead of the clock.
    ends_ns = [file.end_ns or 0 for file in existing_files(path)]
    writer = BagWriter(path, [topic])
    writer.write(
        topic.name,
        max([said_ns, *(end_ns + 1 for end_ns in ends_ns)]),
        serialized_diagnostic(told),
    )
    writer.close()
    if writer.dropped[topic.name]:
        raise BagError(f'{path}: what was said could not be written')


def _told_ns(record: PassCorrections | Correction) -> int:
    """Return when all of it was known: after the last waypoint, or at the end of the contact."""
    if isinstance(record, Correction):
        return record.end_ns
    last_sec = float(record.times_sec[-1]) if len(record.times_sec) else 0.0
    return record.plan_stamp_ns + round(last_sec * _NANOSECONDS)


def copy_bag(source: Path, target: Path) -> list[Problem]:
    """Copy all that can be read of a bag, of any storage, into a new and whole one.

    Returns:
        What is wrong with the source.

    Raises:
        BagError: The source is no bag, or the target is there already.
        BagWriteError: The target cannot be written.
    """
    _require_new(target)
    with BagReader(source) as reader:
        names = [name for name, topic in reader.topics.items() if topic.encoding == 'cdr']
        topics = [
            Topic(
                name=name,
                type_name=reader.topics[name].type_name,
                definition=reader.topics[name].definition
                or describe_topic(name, reader.topics[name].type_name).definition,
            )
            for name in names
        ]
        writer = BagWriter(target, topics)
        for message in reader.messages(names):
            writer.write(message.topic.name, message.time_ns, message.data)
        writer.close()
        return reader.problems


def published_records(
    recording: Recording, paths: ToolPaths
) -> tuple[list[Plan], list[Correction]]:
    """Return a recording of the published study as a plan and its corrections.

    Args:
        recording: The recording.
        paths: How the arm follows the task that was done.
    """
    sequence = corrections_of(recording, paths.task.plan)
    plan = paths.plan_of(sequence.plan, _PUBLISHED_START_NS)
    end_sec = float(recording.rows[-1, 0] - recording.rows[0, 0])
    corrections = []
    before = plan.positions
    for index, trajectory in enumerate(sequence.corrected):
        after = paths.plan_of(trajectory, plan.stamp_ns).positions
        share = (index + 1) / len(sequence.corrected)
        onset_sec = min(share * end_sec, plan.duration_sec)
        corrections.append(
            Correction(
                # A nanosecond apart at least: corrections are known by their stamps.
                stamp_ns=plan.stamp_ns + round(share * end_sec * _NANOSECONDS) + index,
                frame_id=plan.frame_id,
                tool_frame=paths.description.tool_frame,
                plan_stamp_ns=plan.stamp_ns,
                delta_positions=after - before,
                delta_orientations=np.tile([0.0, 0.0, 0.0, 1.0], (len(after), 1)),
                times_sec=plan.times_sec,
                onset_waypoint=min(index + 1, len(after) - 1),
                onset_time_sec=onset_sec,
                duration_sec=0.0,
                peak_force=0.0,
                confidence=1.0,
            )
        )
        before = after
    return [plan], corrections


def _require_new(path: Path) -> None:
    if path.exists():
        raise BagError(f'{path}: is there already; nothing is overwritten')

"""Records of `interface` as ROS messages.

The way back, from a message to its record, needs no ROS and stands beside each record.
"""

from __future__ import annotations

from builtin_interfaces.msg import Duration, Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import (
    Point,
    Pose,
    PoseStamped,
    Quaternion,
    Transform,
    Vector3,
    Vector3Stamped,
    Wrench,
    WrenchStamped,
)
from nav_msgs.msg import Path
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header, MultiArrayDimension, MultiArrayLayout
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage
from trajectory_msgs.msg import (
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from reward_learning_ros.interface import (
    ContactReport,
    Deformation,
    Diagnostic,
    DiagnosticReport,
    InferenceStatus,
    JointReading,
    JointTrajectory,
    LiveTheta,
    OperatorMark,
    ParticipantStatus,
    PassCorrections,
    Plan,
    PlaybackStatus,
    PoseReading,
    QuestionnaireAnswers,
    RecorderStatus,
    SessionStatus,
    ThetaSamples,
    ThetaSummary,
    WrenchReading,
)
from reward_learning_ros.interface.plan import diagnostic_of
from reward_learning_ros.interface.recorder import contact_diagnostic_of, recorder_diagnostic_of
from reward_learning_ros.interface.records import FloatArray
from reward_learning_ros.interface.status import participant_diagnostic_of, session_diagnostic_of
from reward_learning_ros.interface.study_records import answers_diagnostic_of, mark_diagnostic_of
from reward_learning_ros.interface.theta import (
    LIVE_STATISTIC,
    STATISTIC,
    STATISTICS,
    inference_diagnostic_of,
    label_of,
)


def time_message(stamp_ns: int) -> Time:
    """Return a time in nanoseconds as a message."""
    seconds, nanoseconds = divmod(stamp_ns, 10**9)
    return Time(sec=seconds, nanosec=nanoseconds)


def time_message_of_seconds(seconds: float) -> Time:
    """Return a time in seconds as a message."""
    return time_message(round(seconds * 1e9))


def duration_message(seconds: float) -> Duration:
    """Return a duration in seconds as a message."""
    whole, nanoseconds = divmod(round(seconds * 1e9), 10**9)
    return Duration(sec=whole, nanosec=nanoseconds)


def header_message(stamp_ns: int, frame_id: str) -> Header:
    """Return a header."""
    return Header(stamp=time_message(stamp_ns), frame_id=frame_id)


def point_message(xyz: FloatArray) -> Point:
    """Return a position (3,) as a message."""
    return Point(x=float(xyz[0]), y=float(xyz[1]), z=float(xyz[2]))


def vector_message(xyz: FloatArray) -> Vector3:
    """Return a vector (3,) as a message."""
    return Vector3(x=float(xyz[0]), y=float(xyz[1]), z=float(xyz[2]))


def quaternion_message(xyzw: FloatArray) -> Quaternion:
    """Return a quaternion (4,) x y z w as a message."""
    return Quaternion(x=float(xyzw[0]), y=float(xyzw[1]), z=float(xyzw[2]), w=float(xyzw[3]))


def pose_message(position: FloatArray, orientation: FloatArray) -> Pose:
    """Return a pose of a position (3,) and a quaternion (4,) as a message."""
    return Pose(position=point_message(position), orientation=quaternion_message(orientation))


def transform_message(translation: FloatArray, rotation: FloatArray) -> Transform:
    """Return a transform of a translation (3,) and a quaternion (4,) as a message."""
    return Transform(
        translation=vector_message(translation), rotation=quaternion_message(rotation)
    )


def diagnostic_to_message(diagnostic: Diagnostic) -> DiagnosticStatus:
    """Return one diagnostic as a message."""
    return DiagnosticStatus(
        # A byte of a message is `bytes` in rclpy.
        level=bytes([diagnostic.level]),
        name=diagnostic.name,
        message=diagnostic.message,
        hardware_id=diagnostic.hardware_id,
        values=[KeyValue(key=key, value=value) for key, value in diagnostic.values.items()],
    )


def diagnostic_report_to_message(report: DiagnosticReport) -> DiagnosticArray:
    """Return a report as a message; diagnostics have no frame."""
    return DiagnosticArray(
        header=header_message(report.stamp_ns, ''),
        status=[diagnostic_to_message(diagnostic) for diagnostic in report.diagnostics],
    )


def plan_to_message(plan: Plan) -> Path:
    """Return a plan as a nav_msgs/Path; the stamp of each pose is its time from the start."""
    return Path(
        header=header_message(plan.stamp_ns, plan.frame_id),
        poses=[
            PoseStamped(
                header=Header(stamp=time_message_of_seconds(time), frame_id=plan.frame_id),
                pose=pose_message(position, orientation),
            )
            for position, orientation, time in zip(
                plan.positions, plan.orientations, plan.times_sec, strict=True
            )
        ],
    )


def joint_trajectory_to_message(trajectory: JointTrajectory) -> JointTrajectoryMessage:
    """Return a motion as a message; a stamp of zero means: start at once."""
    points = []
    for index, time in enumerate(trajectory.times_sec):
        point = JointTrajectoryPoint(
            positions=trajectory.positions[index].tolist(), time_from_start=duration_message(time)
        )
        if trajectory.velocities is not None:
            point.velocities = trajectory.velocities[index].tolist()
        if trajectory.accelerations is not None:
            point.accelerations = trajectory.accelerations[index].tolist()
        points.append(point)
    return JointTrajectoryMessage(
        header=header_message(trajectory.stamp_ns, ''),
        joint_names=list(trajectory.joint_names),
        points=points,
    )


def playback_status_to_message(status: PlaybackStatus) -> DiagnosticStatus:
    """Return the playback's status as a diagnostic whose values are the status' fields."""
    return diagnostic_to_message(diagnostic_of(status))


def deformation_to_message(deformation: Deformation) -> Vector3Stamped:
    """Return a deformation as a message."""
    return Vector3Stamped(
        header=header_message(deformation.stamp_ns, deformation.frame_id),
        vector=vector_message(deformation.shift),
    )


def corrections_to_message(corrections: PassCorrections) -> MultiDOFJointTrajectory:
    """Return the corrections of a pass as a trajectory; `PassCorrections` tells the layout."""
    return MultiDOFJointTrajectory(
        header=header_message(corrections.plan_stamp_ns, corrections.frame_id),
        joint_names=[corrections.tool_frame],
        points=[
            MultiDOFJointTrajectoryPoint(
                transforms=[transform_message(delta, turn)],
                time_from_start=duration_message(time),
            )
            for delta, turn, time in zip(
                corrections.delta_positions,
                corrections.delta_orientations,
                corrections.times_sec,
                strict=True,
            )
        ],
    )


def contact_to_message(contact: ContactReport) -> DiagnosticStatus:
    """Return a contact as a diagnostic whose values are its fields."""
    return diagnostic_to_message(contact_diagnostic_of(contact))


def recorder_status_to_message(status: RecorderStatus) -> DiagnosticStatus:
    """Return the recorder's status as a diagnostic whose values are the status' fields."""
    return diagnostic_to_message(recorder_diagnostic_of(status))


def theta_summary_to_message(summary: ThetaSummary) -> Float64MultiArray:
    """Return a summary as statistic × feature."""
    return _summary_message(summary, STATISTIC)


def live_theta_to_message(live: LiveTheta) -> Float64MultiArray:
    """Return a live belief as live statistic × feature."""
    return _summary_message(live.theta, LIVE_STATISTIC)


def _summary_message(summary: ThetaSummary, rows: str) -> Float64MultiArray:
    return _message(
        summary.table, label_of(rows, STATISTICS), label_of('feature', summary.features)
    )


def theta_samples_to_message(samples: ThetaSamples) -> Float64MultiArray:
    """Return samples as draw × feature."""
    return _message(samples.samples, label_of('draw'), label_of('feature', samples.features))


def _message(table: FloatArray, rows: str, columns: str) -> Float64MultiArray:
    height, width = table.shape
    return Float64MultiArray(
        layout=MultiArrayLayout(
            dim=[
                MultiArrayDimension(label=rows, size=height, stride=height * width),
                MultiArrayDimension(label=columns, size=width, stride=width),
            ]
        ),
        data=table.ravel().tolist(),
    )


def inference_status_to_message(status: InferenceStatus) -> DiagnosticStatus:
    """Return the inference's status as a diagnostic whose values are the status' fields."""
    return diagnostic_to_message(inference_diagnostic_of(status))


def participant_status_to_message(status: ParticipantStatus) -> DiagnosticStatus:
    """Return a participant's status as a diagnostic whose values are the status' fields."""
    return diagnostic_to_message(participant_diagnostic_of(status))


def session_status_to_message(status: SessionStatus) -> DiagnosticStatus:
    """Return the session's status as a diagnostic whose values are the status' fields."""
    return diagnostic_to_message(session_diagnostic_of(status))


def joint_reading_to_message(reading: JointReading) -> JointState:
    """Return the joints as a message; what is not told is an empty array."""
    return JointState(
        header=header_message(reading.stamp_ns, ''),
        name=list(reading.joint_names),
        position=_list(reading.positions),
        velocity=_list(reading.velocities),
        effort=_list(reading.efforts),
    )


def pose_reading_to_message(reading: PoseReading) -> PoseStamped:
    """Return a pose as a message."""
    return PoseStamped(
        header=header_message(reading.stamp_ns, reading.frame_id),
        pose=pose_message(reading.position, reading.orientation),
    )


def wrench_reading_to_message(reading: WrenchReading) -> WrenchStamped:
    """Return a wrench as a message."""
    return WrenchStamped(
        header=header_message(reading.stamp_ns, reading.frame_id),
        wrench=Wrench(force=vector_message(reading.force), torque=vector_message(reading.torque)),
    )


def _list(values: FloatArray | None) -> list[float]:
    return [] if values is None else values.tolist()


def answers_to_message(answers: QuestionnaireAnswers) -> DiagnosticStatus:
    """Return answers as a diagnostic whose values are the record's fields and each answer."""
    return diagnostic_to_message(answers_diagnostic_of(answers))


def mark_to_message(mark: OperatorMark) -> DiagnosticStatus:
    """Return a mark as a diagnostic whose values are the mark's fields."""
    return diagnostic_to_message(mark_diagnostic_of(mark))

"""A motion of the joints as trajectory_msgs/JointTrajectory."""

from __future__ import annotations

from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage
from trajectory_msgs.msg import JointTrajectoryPoint

from reward_learning_ros.interface import JointTrajectory
from reward_learning_ros.nodes.conversions.basics import duration_message, header_message


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

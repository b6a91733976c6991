"""A plan as nav_msgs/Path."""

from __future__ import annotations

from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from std_msgs.msg import Header

from reward_learning_ros.interface import Plan
from reward_learning_ros.nodes.conversions.basics import (
    header_message,
    pose_message,
    time_message_of_seconds,
)


def plan_to_message(plan: Plan) -> Path:
    """Return a plan as a path; the stamp of each pose is its time from the start."""
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

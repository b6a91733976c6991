"""The device with which a person teleoperates corrections: Joy or TwistStamped messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import TwistStamped
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Joy

from reward_learning_ros.interface import ContactReport
from reward_learning_ros.interface.records import stamp_ns_of
from reward_learning_ros.nodes import names
from reward_learning_ros.parameters.shared import JOY
from reward_learning_ros.sensing.teleoperation import (
    JoyRecord,
    TeleoperationRecorder,
    TwistRecord,
)

_DEVICE_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=50, reliability=ReliabilityPolicy.BEST_EFFORT
)
# A stamp farther than this from our own clock is of another clock.
_LONGEST_DELAY_NS = 500_000_000


class TeleoperationDevice:
    """Listens to one device and passes on what the person does with it."""

    def __init__(
        self,
        node: Node,
        kind: str,
        recorder: TeleoperationRecorder,
        *,
        base_frame: str,
        on_contacts: Callable[[list[ContactReport]], None],
    ) -> None:
        """Begin to listen.

        Args:
            node: subscribes.
            kind: `joy` or `twist`.
            recorder: takes the messages.
            base_frame: the only frame that velocities may be in, besides none.
            on_contacts: is told of the contacts that ended.
        """
        self._node = node
        self._recorder = recorder
        self._base_frame = base_frame
        self._on_contacts = on_contacts
        message_type, self.topic, callback = (
            (Joy, names.JOY_TOPIC, self._on_joy)
            if kind == JOY
            else (TwistStamped, names.TWIST_TOPIC, self._on_twist)
        )
        node.create_subscription(message_type, self.topic, callback, _DEVICE_QOS)

    def _on_joy(self, message: Joy) -> None:
        record = JoyRecord(
            time_ns=self._time_ns(message), axes=message.axes, buttons=message.buttons
        )
        self._on_contacts(self._recorder.add_joy(record))

    def _on_twist(self, message: TwistStamped) -> None:
        frame = message.header.frame_id
        linear: tuple[float, ...] = ()
        if frame in ('', self._base_frame):
            velocity = message.twist.linear
            linear = (velocity.x, velocity.y, velocity.z)
        else:
            self._node.get_logger().warning(
                f'velocities in frame {frame!r} are not followed; allowed: {self._base_frame!r}',
                throttle_duration_sec=5.0,
            )
        record = TwistRecord(time_ns=self._time_ns(message), linear_m_s=linear)
        self._on_contacts(self._recorder.add_twist(record))

    def _time_ns(self, message: Any) -> int:
        """Return the stamp, or the time of arrival if it has none or one of another clock."""
        now_ns = self._node.get_clock().now().nanoseconds
        stamp_ns = stamp_ns_of(message.header.stamp)
        return stamp_ns if abs(now_ns - stamp_ns) <= _LONGEST_DELAY_NS else now_ns

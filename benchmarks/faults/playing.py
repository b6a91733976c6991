"""An arm and its playback without a session: plans are made here, and played."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from nav_msgs.msg import Path as PathMessage
from numpy.typing import NDArray
from std_srvs.srv import SetBool, Trigger

from benchmarks.faults.station import ARM, PLAYBACK, Station, StuckError
from reward_learning_ros.arm.description import FR3
from reward_learning_ros.arm.simulation_parameters import SIMULATED
from reward_learning_ros.interface import Plan, PlaybackState
from reward_learning_ros.nodes import arm_names, names
from reward_learning_ros.nodes.conversions import plan_to_message
from reward_learning_ros.session.session_description import NodeDescription

Array = NDArray[np.float64]

_WAYPOINTS = 8
_BEGIN_M = np.array([0.40, -0.20, 0.40])
_END_M = np.array([0.58, 0.22, 0.30])
_GRIPPER_DOWN = (1.0, 0.0, 0.0, 0.0)
# Found before a fault is made: what is asked for then must not wait for discovery.
_SERVICES = {
    arm_names.USER_STOP_SERVICE: SetBool,
    arm_names.ERROR_RECOVERY_SERVICE: Trigger,
    names.PLAYBACK_START_SERVICE: Trigger,
    names.PLAYBACK_STOP_SERVICE: Trigger,
}
_STANDING = (PlaybackState.IDLE, PlaybackState.STOPPED, PlaybackState.FINISHED)


def line_plan(stamp_ns: int, offset_m: Array, duration_sec: float) -> Plan:
    """Return a straight plan, shifted by an offset (3,)."""
    return Plan(
        stamp_ns=stamp_ns,
        frame_id=FR3.base_frame,
        positions=np.linspace(_BEGIN_M, _END_M, _WAYPOINTS) + offset_m,
        orientations=np.tile(_GRIPPER_DOWN, (_WAYPOINTS, 1)),
        times_sec=np.linspace(0.0, duration_sec, _WAYPOINTS),
    )


def across_line(rng: np.random.Generator, distance_m: float) -> Array:
    """Draw an offset (3,) of a length at right angles to the line of `line_plan`."""
    along = (_END_M - _BEGIN_M) / np.linalg.norm(_END_M - _BEGIN_M)
    drawn = rng.normal(size=3)
    across = drawn - (drawn @ along) * along
    return distance_m * across / np.linalg.norm(across)


class PlayingStation(Station):
    """An arm and its playback with the shipped parameters, and further nodes that it watches.

    Args:
        logs: Folder of their logs.
        watched: Nodes without which playback holds.
        is_time_simulated: Whether the arm makes the clock, which runs as the wall's does.
    """

    def __init__(self, logs: Path, *watched: str, is_time_simulated: bool = False) -> None:
        self._is_time_simulated = is_time_simulated
        arm: dict[str, Any] = {}
        playback: dict[str, Any] = {}
        if watched:
            # An empty list has no type that ROS could know.
            playback['watched_nodes'] = list(watched)
        if is_time_simulated:
            arm |= {'clock': SIMULATED, 'speed': 1.0}
            playback['use_sim_time'] = True
        nodes = (
            NodeDescription(executable=ARM, name=ARM, parameters=arm),
            NodeDescription(executable=PLAYBACK, name=PLAYBACK, parameters=playback),
            *(NodeDescription(executable=name, name=name) for name in watched),
        )
        super().__init__(nodes, logs)
        self._plans = self.operator.create_publisher(
            PathMessage, names.PLAN_TOPIC, names.LATCHED_QOS
        )

    def now_ns(self) -> int:
        """Return the time on the arm's clock; simulated time falls behind on a busy machine."""
        if self._is_time_simulated:
            return self.times_ns[-1] if self.times_ns else 0
        return super().now_ns()

    def arm_ns(self) -> int:
        """Return the time for the arm: the stamp that it told last."""
        return self.times_ns[-1]

    def set_stop(self, is_pressed: bool) -> None:
        """Press or release the user stop.

        Raises:
            StuckError: The arm does not take it.
        """
        request = SetBool.Request(data=is_pressed)
        response = self.call(arm_names.USER_STOP_SERVICE, SetBool, request)
        if not response.success:
            raise StuckError(f'the user stop is not taken: {response.message}')

    def await_services(self) -> None:
        """Wait until the services of the arm and of playback are offered.

        Raises:
            StuckError: Somebody does not offer them.
        """
        for service, service_type in _SERVICES.items():
            client = self.client(service, service_type)
            self.wait_until(client.service_is_ready, service)

    def send(self, plan: Plan) -> None:
        """Tell playback of a plan."""
        self._plans.publish(plan_to_message(plan))

    def play(self, plan: Plan) -> None:
        """Play a plan from its beginning, and wait until the arm has come there.

        Raises:
            StuckError: Playback neither does it nor holds on the way.
        """
        self.begin(plan)
        self.wait_until(
            lambda: (
                self.playback is not None
                and self.playback.state in (PlaybackState.PLAYING, PlaybackState.FAULT)
            ),
            'a plan that is played',
            40.0,
        )

    def begin(self, plan: Plan) -> None:
        """Start a plan, out of any state in which the arm may move.

        Raises:
            StuckError: Playback does not do it.
        """
        self.send(plan)
        self.wait_until(lambda: self._knows(plan), 'a plan that is taken')
        if self.playback is not None and self.playback.state not in _STANDING:
            self.call(names.PLAYBACK_STOP_SERVICE)
        self.wait_until(lambda: self._knows(plan) and self._is_ready, 'playback that is ready')
        response = self.call(names.PLAYBACK_START_SERVICE)
        if not response.success:
            raise StuckError(f'playback does not start: {response.message}')

    def _knows(self, plan: Plan) -> bool:
        return self.playback is not None and self.playback.plan_stamp_ns == plan.stamp_ns

    @property
    def _is_ready(self) -> bool:
        status = self.playback
        return status is not None and status.state in _STANDING and not status.not_ready

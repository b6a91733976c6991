"""The simulated FR3 as a ROS 2 node that looks like franka_ros2 from the outside."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rclpy.context import Context
from rclpy.node import Node
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage

from reward_learning_ros.arm.description import RobotMode
from reward_learning_ros.arm.simulation import CYCLE_NS, SimulatedArm
from reward_learning_ros.arm.simulation_parameters import (
    CLOCK_TOPIC,
    WALL,
    SimulatedArmParameters,
    SimulationParameters,
    start_ns,
)
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import (
    Diagnostic,
    Level,
    joint_trajectory_from_message,
    wrench_reading_from_message,
)
from reward_learning_ros.nodes import arm_names, names
from reward_learning_ros.nodes.conversions import diagnostic_to_message
from reward_learning_ros.nodes.franka_publishers import FrankaPublishers
from reward_learning_ros.nodes.franka_robot_state import (
    PackedMessage,
    RobotStateMessage,
    robot_state_type,
    stamp_bytes,
)
from reward_learning_ros.nodes.ros_parameters import declare
from reward_learning_ros.nodes.running import events_executor, run
from reward_learning_ros.parameters import from_mapping, specifications, to_mapping

# How many cycles pass between two looks for commands: in real time as many milliseconds, and else
# as many as make looking, which costs as much as a cycle, a small part of the work.
_CYCLES_PER_LOOK = 4
# Its mode is told again and again: one that is old is not known.
_MODE_CYCLES = 25
_CYCLES_PER_LOOK_WHEN_FAST = 10
# Behind by more than this, missed cycles are skipped instead of made up for.
_MAX_DELAY_SEC = 0.1


class SimulatedArmNode(Node):
    """The simulated arm as a ROS 2 node; `advance` simulates one cycle."""

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__('simulated_arm', context=context)
        self.config = declare(self, SimulatedArmParameters)
        self.arm = SimulatedArm(_simulation_part(self.config), start_ns=start_ns(self.config))
        description = self.arm.kinematics.description
        self._base_frame = description.base_frame
        self._state_topics = FrankaPublishers(self, self.arm)
        self._status_publisher = self.create_publisher(
            DiagnosticStatus, arm_names.ARM_STATUS_TOPIC, names.LATCHED_QOS
        )
        self._robot_state: RobotStateMessage | None = None
        message_type = robot_state_type()
        if message_type is not None:
            self._robot_state = RobotStateMessage(message_type(), self.arm, serialize_message)
            self._robot_state_publisher = self.create_publisher(
                message_type, names.ROBOT_STATE_TOPIC, arm_names.RELIABLE_STATE_QOS
            )
        self._clock_message = PackedMessage(serialize_message(Clock()), [])
        self._clock_publisher = None
        if self.config.clock != WALL:
            self._clock_publisher = self.create_publisher(Clock, CLOCK_TOPIC, arm_names.CLOCK_QOS)
        self.create_subscription(
            JointTrajectoryMessage,
            names.command_topic(self.config.controller),
            self._on_trajectory,
            names.COMMAND_QOS,
        )
        self.create_subscription(
            WrenchStamped, arm_names.PERSON_WRENCH_TOPIC, self._on_push, names.ROBOT_STATE_QOS
        )
        self.create_service(Trigger, arm_names.ERROR_RECOVERY_SERVICE, self._on_recovery)
        self.create_service(SetBool, arm_names.USER_STOP_SERVICE, self._on_user_stop)
        self._cycle = 0
        self._state_cycles = 1000 // self.config.convenience_publish_rate
        self._clock_cycles = 1000 // self.config.clock_publish_rate
        self._next_joint_state = 0.0
        self._published_mode: RobotMode | None = None
        self._is_silent = False
        self._taken_pushes = 0
        self._refused_pushes = 0
        self._push_refusal = ''
        self._publish_mode()
        self.get_logger().info(
            f'simulated {description.name} is up: scene {self.config.scene}, '
            f'{self.config.clock} time, commands on '
            f'{names.command_topic(self.config.controller)}'
        )

    def advance(self) -> None:
        """Simulate one cycle and publish what is due after it."""
        arm = self.arm
        arm.step()
        self._cycle += 1
        if self._clock_publisher is not None and self._cycle % self._clock_cycles == 0:
            self._clock_publisher.publish(self._clock_message.stamped(stamp_bytes(arm.time_ns)))
        self._is_silent |= self.config.silent_after_stop and not arm.mode.follows_commands
        if self._is_silent:
            return
        is_state_due = self._cycle % self._state_cycles == 0
        is_joint_state_due = self._cycle >= self._next_joint_state
        if is_state_due or is_joint_state_due or self._robot_state is not None:
            arm.observe()
        if self._robot_state is not None:
            # Always a thousand times a second, as the broadcaster does.
            self._robot_state_publisher.publish(self._robot_state.stamped(arm.time_ns))
        if is_state_due:
            self._state_topics.publish_state(arm.time_ns)
        if is_joint_state_due:
            self._state_topics.publish_joint_states(arm.time_ns)
            self._next_joint_state += 1000.0 / self.config.joint_state_rate
        if arm.mode is not self._published_mode or self._cycle % _MODE_CYCLES == 0:
            self._publish_mode()

    def skip(self, cycles: int) -> None:
        """Let time pass without simulating it: the process slept, or the clock was set."""
        self.arm.time_ns += cycles * CYCLE_NS
        self.get_logger().warning(f'skipped {cycles} cycles to keep up with the clock')

    def _publish_mode(self) -> None:
        mode, reason = self.arm.mode, self.arm.mode_reason
        is_news, self._published_mode = mode is not self._published_mode, mode
        if reason and is_news:
            self.get_logger().warning(f'{mode.text}: {reason}')
        diagnostic = Diagnostic(
            name=arm_names.ARM_STATUS_NAME,
            level=Level.OK if mode.follows_commands else Level.ERROR,
            message=reason or mode.text,
            hardware_id=self.arm.kinematics.description.name,
            values={
                arm_names.ROBOT_MODE_KEY: str(int(mode)),
                arm_names.TAKEN_PUSHES_KEY: str(self._taken_pushes),
                arm_names.REFUSED_PUSHES_KEY: str(self._refused_pushes),
                arm_names.PUSH_REFUSAL_KEY: self._push_refusal,
            },
        )
        self._status_publisher.publish(diagnostic_to_message(diagnostic))

    def _on_trajectory(self, message: JointTrajectoryMessage) -> None:
        if self._is_silent:
            return
        try:
            self.arm.command(joint_trajectory_from_message(message))
        except RewardLearningError as error:
            self.get_logger().warning(f'ignored a trajectory: {error}')

    def _on_push(self, message: WrenchStamped) -> None:
        # Without a frame it is that of the base.
        message.header.frame_id = message.header.frame_id or self._base_frame
        try:
            reading = wrench_reading_from_message(message)
            wrench = np.concatenate([reading.force, reading.torque])
            self.arm.push(wrench, frame=reading.frame_id)
        except RewardLearningError as error:
            # Who pushes hears a topic, not this log.
            self._refused_pushes += 1
            self._push_refusal = str(error)
            self.get_logger().warning(f'refused a push: {error}', throttle_duration_sec=1.0)
        else:
            self._taken_pushes += 1

    def _on_recovery(self, request: Any, response: Any) -> Any:
        try:
            self.arm.recover()
        except RewardLearningError as error:
            response.success, response.message = False, str(error)
        else:
            self._is_silent = False
            self._next_joint_state = max(self._next_joint_state, self._cycle)
            response.success, response.message = True, self.arm.mode.text
        return response

    def _on_user_stop(self, request: Any, response: Any) -> Any:
        self.arm.set_user_stop(request.data)
        response.success, response.message = True, self.arm.mode.text
        return response


class CycleLoop:
    """Runs the cycles of the simulated arm on time, and callbacks in between.

    Attributes:
        late_cycles: how many cycles began more than `late_sec` after their time.
        cycles: how many ran.
    """

    def __init__(self, node: SimulatedArmNode, executor: Any, *, late_sec: float = 0.001) -> None:
        self._node = node
        self._executor = executor
        self._late_sec = late_sec
        speed = node.config.speed
        self._period_sec = CYCLE_NS / 1e9 / speed if speed > 0.0 else 0.0
        self._cycles_per_look = (
            _CYCLES_PER_LOOK if self._period_sec else _CYCLES_PER_LOOK_WHEN_FAST
        )
        self._is_on_the_wall = node.config.clock == WALL
        if self._is_on_the_wall:
            # Making the arm took its time.
            node.arm.time_ns = time.time_ns()
        self._due_sec = time.perf_counter()
        self.cycles = 0
        self.late_cycles = 0

    def run_cycles(self) -> None:
        """Run a few cycles, each at its time, and the callbacks that wait."""
        for _ in range(self._cycles_per_look):
            self._await_cycle()
            self._node.advance()
            self.cycles += 1
        self._executor.spin_once(timeout_sec=0.0)

    def _await_cycle(self) -> None:
        if not self._period_sec:
            return
        self._due_sec += self._period_sec
        delay_sec = self._delay_sec()
        if delay_sec < -_MAX_DELAY_SEC:
            # The wall clock was set back.
            self._leave_out(delay_sec)
        elif delay_sec < 0.0:
            time.sleep(-delay_sec)
            delay_sec = self._delay_sec()
        if delay_sec > self._late_sec:
            self.late_cycles += 1
        if delay_sec > _MAX_DELAY_SEC:
            self._leave_out(delay_sec)

    def _delay_sec(self) -> float:
        """How late the next cycle is; on the wall clock where the arm has that time."""
        if self._is_on_the_wall:
            return (time.time_ns() - self._node.arm.time_ns - CYCLE_NS) / 1e9
        return time.perf_counter() - self._due_sec

    def _leave_out(self, delay_sec: float) -> None:
        if self._is_on_the_wall:
            self._node.skip(round(delay_sec / self._period_sec))
        else:
            self._due_sec += delay_sec


class _SimulatingExecutor:
    """An executor for `run` whose spinning is the cycles of the arm."""

    def __init__(self, context: Context) -> None:
        self._executor = events_executor(context)
        self._loop: CycleLoop | None = None

    def add_node(self, node: SimulatedArmNode) -> None:
        self._executor.add_node(node)
        _raise_priority(node)
        self._loop = CycleLoop(node, self._executor)

    def spin_once(self, timeout_sec: float | None = None) -> None:
        if self._loop is not None:
            self._loop.run_cycles()

    def shutdown(self) -> None:
        with contextlib.suppress(Exception):
            self._executor.shutdown()


def _raise_priority(node: SimulatedArmNode) -> None:
    priority = node.config.realtime_priority
    if not priority:
        return
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except (AttributeError, OSError) as error:
        node.get_logger().warning(f'no real-time priority: {error}')


def _simulation_part(config: SimulatedArmParameters) -> SimulationParameters:
    known = specifications(SimulationParameters)
    values = {name: value for name, value in to_mapping(config).items() if name in known}
    return from_mapping(SimulationParameters, values)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the simulated arm."""
    return run(
        lambda context: SimulatedArmNode(context=context),
        arguments,
        make_executor=_SimulatingExecutor,
    )


if __name__ == '__main__':
    raise SystemExit(main())

"""The simulated arm and playback in lockstep, without ROS: a second takes a fiftieth of one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field

import numpy as np

from reward_learning_ros.arm import simulation_kernels as kernels
from reward_learning_ros.arm.simulation import SimulatedArm
from reward_learning_ros.arm.simulation_parameters import SimulationParameters
from reward_learning_ros.interface import JointTrajectory, Plan, PlaybackState
from reward_learning_ros.playback.configuration import PlaybackParameters
from reward_learning_ros.playback.motion import Command, Now
from reward_learning_ros.playback.state_machine import Playback

TICK_CYCLES = 20
GRIPPER_DOWN = (1.0, 0.0, 0.0, 0.0)
SECOND_NS = 1_000_000_000


def straight_plan(
    stamp_ns: int,
    *,
    start=(0.33, 0.0, 0.48),
    end=(0.6, 0.3, 0.2),
    duration_sec: float = 3.5,
    bend=(0.0, 0.0, 0.0),
) -> Plan:
    """A line of eight waypoints, bent in its middle."""
    share = np.linspace(0.0, 1.0, 8)[:, None]
    positions = np.array(start) * (1 - share) + np.array(end) * share
    positions = positions + np.sin(np.pi * share) * np.array(bend)
    return Plan(
        stamp_ns=stamp_ns,
        frame_id='fr3_link0',
        positions=positions,
        orientations=np.tile(GRIPPER_DOWN, (8, 1)),
        times_sec=np.linspace(0.0, duration_sec, 8),
    )


@dataclass
class Faults:
    """What is broken at the moment."""

    joints_silent: bool = False
    torque_silent: bool = False
    joints_nan: bool = False
    torque_nan: bool = False
    mode_silent: bool = False
    pose_silent: bool = False
    tool_offset_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    controller_lost: bool = False
    controller_inactive: bool = False
    playback_dead: bool = False
    other_publishers: int = 0
    clock_offset_ns: int = 0
    time_offset_ns: int = 0


class SlowExecutor(Executor):
    """Does one piece of work after the other, each in a given simulated time."""

    def __init__(self, now_sec: Callable[[], float]) -> None:
        self.work_sec = 0.0
        self._now_sec = now_sec
        self._queue: list[tuple[Future, Callable]] = []
        self._done_sec = 0.0

    def submit(self, function, /, *arguments, **options):
        if not self._queue:
            self._done_sec = self._now_sec() + self.work_sec
        future = Future()
        self._queue.append((future, lambda: function(*arguments, **options)))
        self.work()
        return future

    def work(self) -> None:
        """Do what is done by now."""
        while self._queue and self._done_sec <= self._now_sec() + 1e-9:
            future, function = self._queue.pop(0)
            self._done_sec = self._now_sec() + self.work_sec
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(function())
            except Exception as error:
                future.set_exception(error)


@dataclass
class Bench:
    """Steps both, passes everything between them, and remembers every set-point."""

    simulation: SimulationParameters = field(default_factory=SimulationParameters)
    config: PlaybackParameters = field(default_factory=PlaybackParameters)
    planning_sec: float = 0.0

    def __post_init__(self) -> None:
        self.arm = SimulatedArm(self.simulation, start_ns=100 * SECOND_NS)
        self.faults = Faults()
        self.executor = SlowExecutor(lambda: self.now().steady_sec)
        self.executor.work_sec = self.planning_sec
        self.playback = Playback(self.config, self.now, self.executor)
        self.commands: list[Command] = []
        self.states: list[PlaybackState] = []
        self.set_points: list[np.ndarray] = []
        self.measured: list[np.ndarray] = []
        self.tick()

    def now(self) -> Now:
        time_ns = self.arm.time_ns + self.faults.time_offset_ns
        return Now(ros_ns=time_ns + self.faults.clock_offset_ns, steady_sec=time_ns / SECOND_NS)

    def run(self, seconds: float, each_tick: Callable[[], None] | None = None) -> None:
        for _ in range(round(seconds * 1000)):
            self.arm.step()
            self.set_points.append(self.arm.set_point.copy())
            self.measured.append(self.arm.joints_rad)
            self.states.append(self.playback.state)
            if round(self.arm.time_ns / 1e6) % TICK_CYCLES == 0:
                if each_tick is not None:
                    each_tick()
                self.tick()

    def run_until(self, state: PlaybackState, limit_sec: float = 30.0) -> None:
        for _ in range(round(limit_sec / 0.02)):
            if self.playback.state is state:
                return
            self.run(0.02)
        raise TimeoutError(f'{self.playback.state}: {self.playback.fault}, not {state}')

    def start(self, plan: Plan | None = None, *, play_sec: float = 0.0) -> None:
        """Give a plan, start it, and play it for a while."""
        self.give(plan or straight_plan(self.arm.time_ns))
        self.playback.start()
        self.run_until(PlaybackState.PLAYING)
        self.run(play_sec)

    def give(self, plan: Plan) -> None:
        """Give a plan, and wait until it is the one in use."""
        self.playback.set_plan(plan)
        while self.playback.status().plan_stamp_ns != plan.stamp_ns:
            self.run(0.02)

    def tick(self) -> None:
        faults, view = self.faults, self.playback.view
        told = self.arm.observe()
        time_ns, now_sec = self.arm.time_ns, self.arm.time_ns / SECOND_NS
        if not faults.joints_silent:
            joints = told[:14] * np.nan if faults.joints_nan else told[:14].copy()
            view.joints.take(joints, time_ns, now_sec)
        if not faults.torque_silent:
            torque = told[kernels.EXTERNAL_TORQUE] * (np.nan if faults.torque_nan else 1.0)
            view.torque.take(torque, time_ns, now_sec)
        if not faults.pose_silent:
            pose = told[kernels.POSE].copy()
            pose[:3] += faults.tool_offset_m
            view.pose.take(pose, time_ns, now_sec)
        if not faults.mode_silent:
            view.mode_arrival_sec = now_sec
        view.mode, view.mode_reason = self.arm.mode, self.arm.mode_reason
        view.command_subscribers = 0 if faults.controller_lost else 1
        view.command_publishers = 1 + faults.other_publishers
        view.inactive_controllers = ('controller',) if faults.controller_inactive else ()
        if faults.playback_dead:
            return
        self.executor.work()
        command = self.playback.tick()
        if command is None:
            return
        self.commands.append(command)
        is_deaf = faults.controller_lost or faults.controller_inactive
        if is_deaf or not self.arm.mode.follows_commands:
            return
        self.arm.command(
            JointTrajectory(
                stamp_ns=command.stamp_ns,
                joint_names=self.arm.kinematics.description.joint_names,
                times_sec=command.times_sec,
                positions=command.positions_rad,
                velocities=command.velocities_rad_s,
                accelerations=command.accelerations_rad_s2,
            )
        )

    def activate_controller(self) -> None:
        """Let it hold where the arm is, as joint_trajectory_controller does."""
        self.faults.controller_inactive = False
        self.arm._follower.hold(self.arm.joints_rad, self.arm.time_ns)

    def tool_set_points(self) -> np.ndarray:
        positions = np.array(self.set_points)[:, 0]
        return self.arm.kinematics.tool_poses(positions)[0]

    def tool_measured(self) -> np.ndarray:
        return self.arm.kinematics.tool_poses(np.array(self.measured))[0]

    def largest_step_m(self) -> float:
        """Largest step of the tool's set-point within a millisecond."""
        return float(np.linalg.norm(np.diff(self.tool_set_points(), axis=0), axis=1).max())

    def largest_acceleration(self) -> float:
        """Largest change of a joint's commanded velocity, per second."""
        velocities = np.array(self.set_points)[:, 1]
        return float(np.abs(np.diff(velocities, axis=0)).max() / 1e-3)

    def speed(self) -> float:
        """Largest commanded joint speed now."""
        return float(np.abs(self.arm.set_point[1]).max())

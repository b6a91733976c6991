"""The simulated arm playing plans in lockstep with the recorder, and its twin that nobody pushes.

What the pushes did to the tool is the difference between the two, with tracking errors and
friction as they are. If the plan gives way the twin soon is elsewhere; then it is the true
deviation of the tool from its plan.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reward_learning_ros.arm import simulation_kernels as kernels
from reward_learning_ros.arm.simulation import SimulatedArm
from reward_learning_ros.arm.simulation_parameters import SimulationParameters
from reward_learning_ros.interface import (
    ContactReport,
    Deformation,
    JointTrajectory,
    Plan,
    PlaybackState,
    PlaybackStatus,
)
from reward_learning_ros.playback.configuration import PlaybackParameters
from reward_learning_ros.playback.motion import Now
from reward_learning_ros.playback.state_machine import Playback
from reward_learning_ros.sensing.deltas import CorrectionRecorder
from reward_learning_ros.sensing.ordering import StreamOrderer
from reward_learning_ros.sensing.samples import NANOSECONDS, Stream, interleave
from reward_learning_ros.sensing.synthetic import Push
from reward_learning_ros.sensing.timeline import PlaybackFeed, planned_position_m

# As the recorder's node has it: samples are looked at, and the shift is told, at 25 Hz.
TICK_CYCLES = 40
# Playback looks ahead for 0.3 s, so that it may think less often than its node does.
_PLAYBACK_TICKS = 2
# So long after a fault the arm is at rest.
_REST_SEC = 3.0
_ON_PLAN = (PlaybackState.PLAYING, PlaybackState.FINISHED)
_RESTING = (PlaybackState.IDLE, PlaybackState.STOPPED, PlaybackState.FINISHED)
_GRIPPER_DOWN = (1.0, 0.0, 0.0, 0.0)
# 40 N at the tool are more than playback allows by default.
_PLAYBACK = PlaybackParameters(stop_torque_nm=(34.0, 34.0, 34.0, 34.0, 11.9, 11.9, 11.9))
_PLANS = (
    ((0.35, 0.0, 0.5), (0.6, 0.3, 0.2), (0.0, -0.1, 0.05)),
    ((0.45, -0.3, 0.3), (0.55, 0.25, 0.35), (0.1, 0.0, 0.1)),
    ((0.6, 0.2, 0.25), (0.4, -0.2, 0.45), (0.0, 0.1, -0.05)),
)


def make_plan(number: int, stamp_ns: int, duration_sec: float) -> Plan:
    """Return one of a few bent plans."""
    start, end, bend = (np.array(point) for point in _PLANS[number % len(_PLANS)])
    share = np.linspace(0.0, 1.0, 8)[:, None]
    return Plan(
        stamp_ns=stamp_ns,
        frame_id='fr3_link0',
        positions=start * (1 - share) + end * share + np.sin(np.pi * share) * bend,
        orientations=np.tile(_GRIPPER_DOWN, (8, 1)),
        times_sec=np.linspace(0.0, duration_sec, 8),
    )


class Station:
    """An arm and its playback."""

    def __init__(self, simulation: SimulationParameters) -> None:
        self.arm = SimulatedArm(simulation, start_ns=100 * NANOSECONDS)
        self.playback = Playback(_PLAYBACK, self._now)
        self.playback.view.command_subscribers = 1
        self._names = self.arm.kinematics.description.joint_names

    def _now(self) -> Now:
        return Now(ros_ns=self.arm.time_ns, steady_sec=self.arm.time_ns / NANOSECONDS)

    def tick(self) -> None:
        """Let playback look at the arm and tell it what to do."""
        view, told = self.playback.view, self.arm.observe()
        now_sec = self.arm.time_ns / NANOSECONDS
        view.joints.take(told[:14].copy(), self.arm.time_ns, now_sec)
        view.torque.take(told[kernels.EXTERNAL_TORQUE].copy(), self.arm.time_ns, now_sec)
        view.mode, view.mode_reason = self.arm.mode, self.arm.mode_reason
        command = self.playback.tick()
        if command is not None and self.arm.mode.follows_commands:
            self.arm.command(
                JointTrajectory(
                    stamp_ns=command.stamp_ns,
                    joint_names=self._names,
                    times_sec=command.times_sec,
                    positions=command.positions_rad,
                    velocities=command.velocities_rad_s,
                    accelerations=command.accelerations_rad_s2,
                )
            )


@dataclass(kw_only=True)
class PushedArm:
    """Plays plan after plan while somebody pushes now and then.

    Attributes:
        recorder: hears what the arm tells.
        yields: whether the plan gives way while somebody pushes.
        plan_sec: how long a plan takes.
    """

    simulation: SimulationParameters
    recorder: CorrectionRecorder
    yields: bool = True
    plan_sec: float = 12.0

    def __post_init__(self) -> None:
        self.station = Station(self.simulation)
        self.twin = None if self.yields else Station(self.simulation)
        self.feed = PlaybackFeed(self.recorder.timeline)
        self.orderer = StreamOrderer()
        self.contacts: list[ContactReport] = []
        self.pushes: list[Push] = []
        # When each push really began, and how far the tool was then from where it would be.
        self.truths_m: list[np.ndarray] = []
        self.faults = 0
        self._passes = 0
        self._start_sec = 0.0
        self._is_pushed = False
        self._plan: Plan | None = None
        self._stations = [s for s in (self.station, self.twin) if s is not None]
        self._told: PlaybackStatus | None = None
        self._ticks = 0

    @property
    def time_sec(self) -> float:
        """The arm's time."""
        return self.station.arm.time_ns / NANOSECONDS

    def run(
        self,
        *,
        seconds: float = np.inf,
        pushes: int = 0,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Play for a time, or until so many pushes were made."""
        end_sec = self.time_sec + seconds
        next_push_sec = self.time_sec + 3.0
        push: Push | None = None
        moved: list[np.ndarray] = []
        wanted = len(self.pushes) + pushes
        while self.time_sec < end_sec and (not pushes or len(self.pushes) < wanted or push):
            self._advance(push)
            if push is not None:
                if self.station.playback.state in _ON_PLAN:
                    moved.append(self._moved())
                if self.time_sec > push.end_sec:
                    self.truths_m.append(_farthest(np.array(moved)))
                    self.pushes.append(push)
                    push, moved = None, []
                    assert rng is not None
                    next_push_sec = self.time_sec + rng.uniform(0.8, 3.0)
            elif rng is not None and self.time_sec > next_push_sec:
                push = self._next_push(rng)
        for _ in range(50):
            self._advance(None)

    def _next_push(self, rng: np.random.Generator) -> Push | None:
        """Return a push of 8 to 40 N, 0.3 to 3 s, if there is time for it in this pass."""
        status = self.station.playback.status()
        duration_sec = rng.uniform(0.3, 3.0)
        left_sec = self.plan_sec - status.plan_time_sec
        if status.state is not PlaybackState.PLAYING or left_sec < duration_sec + 0.3:
            return None
        direction = rng.normal(size=3)
        force = rng.uniform(8.0, 40.0) * direction / np.linalg.norm(direction)
        return Push(
            start_sec=self.time_sec,
            duration_sec=duration_sec,
            force_n=(float(force[0]), float(force[1]), float(force[2])),
            rise_sec=rng.uniform(0.05, 0.5) * duration_sec,
        )

    def _moved(self) -> np.ndarray:
        tool = self.station.arm.tool_position_m()
        if self.twin is not None:
            return tool - self.twin.arm.tool_position_m()
        assert self._plan is not None, 'somebody pushes during a plan'
        at = np.array([self.station.playback.status().plan_time_sec])
        return tool - planned_position_m(self._plan, at)[0]

    def _advance(self, push: Push | None) -> None:
        """Simulate what happens between two ticks, and then let everybody act."""
        arm = self.station.arm
        self._is_pushed = push is not None
        times, rows = (
            np.empty(TICK_CYCLES, dtype=np.int64),
            np.empty((TICK_CYCLES, kernels.OBSERVATION_SIZE)),
        )
        for cycle in range(TICK_CYCLES):
            if push is not None:
                force = push.force_at(np.array([arm.time_ns / NANOSECONDS]))[0]
                arm.push([*force, 0.0, 0.0, 0.0])
            arm.step()
            if self.twin is not None:
                self.twin.arm.step()
            rows[cycle] = arm.observe()
            times[cycle] = arm.time_ns
        if push is None:
            arm.push(np.zeros(6))
        self._tell()
        block = self.orderer.release_arrivals(
            interleave(
                {
                    Stream.TORQUE: (times, rows[:, kernels.EXTERNAL_TORQUE]),
                    Stream.JOINTS: (times, rows[:, :14]),
                    Stream.POSE: (times, rows[:, kernels.POSE]),
                    Stream.WRENCH: (times, rows[:, kernels.WRENCH_IN_BASE]),
                }
            )
        )
        self.contacts += self.recorder.process(block)
        self._play()

    def _tell(self) -> None:
        status, time_ns = self.station.playback.status(), self.station.arm.time_ns
        told = self._told
        if (
            told is None
            or (status.state, status.plan_stamp_ns) != (told.state, told.plan_stamp_ns)
            or status.state is PlaybackState.PLAYING
        ):
            self._told = status
            if self.feed.add_status(status, time_ns):
                self.recorder.live.reset()

    def _play(self) -> None:
        playback, arm = self.station.playback, self.station.arm
        if self.yields and self.recorder.detector.in_contact:
            playback.set_deformation(
                Deformation(
                    stamp_ns=arm.time_ns, frame_id='fr3_link0', shift=self.recorder.live.shift_m
                )
            )
        self._ticks += 1
        if self._ticks % _PLAYBACK_TICKS:
            return
        for station in self._stations:
            station.tick()
        if playback.state is PlaybackState.FAULT:
            self.faults += 1
            self._start_sec = self.time_sec + _REST_SEC
            for station in self._stations:
                station.arm.recover()
                station.playback.stop()
        if (
            all(station.playback.state in _RESTING for station in self._stations)
            and self.time_sec >= self._start_sec
            and not self._is_pushed
        ):
            self._plan = make_plan(self._passes, arm.time_ns, self.plan_sec)
            self._passes += 1
            self.feed.add_plan(self._plan)
            for station in self._stations:
                station.playback.set_plan(self._plan)
                station.playback.start()


def _farthest(moved: np.ndarray) -> np.ndarray:
    """Return the farthest displacement (3,) of (n, 3) from the first."""
    moved = moved - moved[0]
    farthest: np.ndarray = moved[np.argmax(np.linalg.norm(moved, axis=1))]
    return farthest

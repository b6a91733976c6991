"""Corrections by joystick or by velocity command, on the same path as those by hand.

A correction begins when the person moves the device (and holds the deadman, if there is one) and
ends when they stop, let go, or the device falls silent. Between two messages the older velocity
holds, but no longer than the timeout: what a lost device would have done is not counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reward_learning_ros.interface.recorder import ContactReport
from reward_learning_ros.parameters import ParameterError, Parameters, parameter
from reward_learning_ros.parameters.shared import MAX_SHIFT_M, limited
from reward_learning_ros.sensing.passes import PassRecorder
from reward_learning_ros.sensing.samples import NANOSECONDS
from reward_learning_ros.sensing.timeline import PlaybackTimeline

TELEOPERATION = 'teleoperation'


@dataclass(frozen=True, kw_only=True)
class TeleoperationParameters(Parameters):
    """Parameters of teleoperation: axes, speeds and timeouts of the device."""

    deadman_button: int = parameter(
        4,
        description='Button that must be held, counted from 0; -1 for none (joystick only)',
        minimum=-1,
        maximum=63,
    )
    axes: tuple[int, ...] = parameter(
        (1, 0, 4),
        description='Axes of the joystick for x, y and z of the base frame, counted from 0',
        minimum=0,
        maximum=63,
    )
    axis_speeds_m_s: tuple[float, ...] = parameter(
        (0.1, 0.1, 0.1),
        description='Speed at full deflection along x, y and z; negative turns the axis around',
        minimum=-1.0,
        maximum=1.0,
        unit='m/s',
    )
    dead_zone: float = parameter(
        0.08,
        description='Deflection below which an axis counts as released',
        minimum=0.0,
        maximum=0.9,
    )
    min_device_speed_m_s: float = parameter(
        0.002,
        description='Speed below which a velocity command counts as none',
        minimum=0.0,
        maximum=1.0,
        unit='m/s',
        former_names=('slowest_m_s',),
    )
    max_device_speed_m_s: float = parameter(
        0.25,
        description='Fastest speed that is followed',
        minimum=0.001,
        maximum=2.0,
        unit='m/s',
        former_names=('fastest_m_s',),
    )
    pause_sec: float = parameter(
        0.3,
        description='A shorter stop of the device does not end the correction',
        minimum=0.0,
        maximum=5.0,
        unit='s',
    )
    device_timeout_sec: float = parameter(
        0.25,
        description='A device silent for longer than this is gone and the correction ends',
        minimum=0.01,
        maximum=5.0,
        unit='s',
    )
    min_correction_m: float = parameter(
        0.002,
        description='A smaller displacement is none',
        minimum=0.0,
        maximum=0.1,
        unit='m',
        former_names=('shortest_correction_m',),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ('axes', 'axis_speeds_m_s'):
            if len(getattr(self, name)) != 3:
                raise ParameterError(
                    type(self).__name__, name, getattr(self, name), 'must be three: x, y, z'
                )


@dataclass(frozen=True, kw_only=True)
class JoyRecord:
    """Axes and buttons of a sensor_msgs/Joy."""

    time_ns: int
    axes: Sequence[float]
    buttons: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class TwistRecord:
    """What a geometry_msgs/TwistStamped says, in the base frame."""

    time_ns: int
    linear_m_s: Sequence[float]


@dataclass
class TeleoperationCounts:
    """What became of the device's messages."""

    received: int = 0
    malformed: int = 0
    out_of_order: int = 0
    timeouts: int = 0
    corrections: int = 0


class TeleoperationRecorder:
    """Device messages in, corrections out: moving the device is a contact like any other.

    Attributes:
        shift_m: (3,) live shift of the plan, kept after a correction until `reset`.
        counts: what became of the messages.

    Args:
        timeline: what is played when.
        parameters: what the device's axes mean.
        passes: what the corrections make of the pass that is played.
        max_shift_m: farthest shift that playback takes.
    """

    def __init__(
        self,
        timeline: PlaybackTimeline,
        parameters: TeleoperationParameters | None = None,
        passes: PassRecorder | None = None,
        *,
        max_shift_m: float = MAX_SHIFT_M,
    ) -> None:
        self.parameters = parameters or TeleoperationParameters()
        self.timeline = timeline
        self.passes = passes or PassRecorder(timeline)
        self._max_shift_m = max_shift_m
        self.shift_m = np.zeros(3)
        self.counts = TeleoperationCounts()
        self._velocity_m_s = np.zeros(3)
        self._last_ns: int | None = None
        self._onset_ns: int | None = None
        self._last_motion_ns = 0
        self._moved_m = np.zeros(3)

    @property
    def in_correction(self) -> bool:
        """Whether a correction is open."""
        return self._onset_ns is not None

    def add_joy(self, record: JoyRecord) -> list[ContactReport]:
        """Takes a message of a joystick and returns the contact that it ended, if any."""
        parameters = self.parameters
        try:
            held = parameters.deadman_button < 0 or bool(record.buttons[parameters.deadman_button])
            deflection = [float(record.axes[axis]) for axis in parameters.axes]
        except (IndexError, TypeError, ValueError):
            return self._malformed()
        velocity = np.array(
            [
                speed * _beyond(value, parameters.dead_zone)
                for value, speed in zip(deflection, parameters.axis_speeds_m_s, strict=True)
            ]
        )
        return self._add(record.time_ns, velocity if held else np.zeros(3), released=not held)

    def add_twist(self, record: TwistRecord) -> list[ContactReport]:
        """Takes a velocity command and returns the correction that it ended, if any."""
        try:
            velocity = np.array(record.linear_m_s, dtype=np.float64)
        except (TypeError, ValueError):
            return self._malformed()
        if velocity.shape != (3,):
            return self._malformed()
        if np.linalg.norm(velocity) < self.parameters.min_device_speed_m_s:
            velocity = np.zeros(3)
        return self._add(record.time_ns, velocity, released=False)

    def advance(self, now_ns: int) -> list[ContactReport]:
        """Lets time pass without a message: a silent device ends the correction.

        A device that was never heard says nothing of anybody's silence either.
        """
        is_heard = self._last_ns is not None
        self.passes.follow(now_ns, self.shift_m if is_heard else np.full(3, np.nan))
        timeout_ns = round(self.parameters.device_timeout_sec * NANOSECONDS)
        if self._last_ns is None or now_ns - self._last_ns <= timeout_ns:
            return []
        self._velocity_m_s = np.zeros(3)
        if self._onset_ns is None:
            return []
        self.counts.timeouts += 1
        return self._end(self._last_ns)

    def reset(self) -> None:
        """A new plan contains what was learned: it is not shifted."""
        self.shift_m = np.zeros(3)

    def _malformed(self) -> list[ContactReport]:
        self.counts.received += 1
        self.counts.malformed += 1
        return []

    def _add(self, time_ns: int, velocity_m_s: np.ndarray, released: bool) -> list[ContactReport]:
        if not np.isfinite(velocity_m_s).all() or time_ns <= 0:
            return self._malformed()
        self.counts.received += 1
        if self._last_ns is not None and time_ns <= self._last_ns:
            if self._last_ns - time_ns <= NANOSECONDS:
                self.counts.out_of_order += 1
                return []
            # The clock jumped backwards: what was open ends where the old clock ended.
            ended = self._end(self._last_ns) if self._onset_ns is not None else []
            self._velocity_m_s = np.zeros(3)
            self._last_ns = None
            self.counts.received -= 1
            return ended + self._add(time_ns, velocity_m_s, released)
        ended = self.advance(time_ns)
        if self._last_ns is not None:
            step = self._velocity_m_s * ((time_ns - self._last_ns) / NANOSECONDS)
            # Playback takes no farther shift: what it would not follow is not learned from.
            shift_m = limited(self.shift_m + step, self._max_shift_m)
            self._moved_m = self._moved_m + (shift_m - self.shift_m)
            self.shift_m = shift_m
        self._last_ns = time_ns
        self.passes.follow(time_ns, self.shift_m)
        size = float(np.linalg.norm(velocity_m_s))
        if size > self.parameters.max_device_speed_m_s:
            velocity_m_s = velocity_m_s * (self.parameters.max_device_speed_m_s / size)
        self._velocity_m_s = velocity_m_s
        if size > 0.0:
            if self._onset_ns is None:
                self._onset_ns = time_ns
                self._moved_m = np.zeros(3)
                self.passes.open(time_ns, np.zeros(3))
            self._last_motion_ns = time_ns
        elif self._onset_ns is not None:
            pause_ns = round(self.parameters.pause_sec * NANOSECONDS)
            if released or time_ns - self._last_motion_ns > pause_ns:
                ended += self._end(time_ns if released else self._last_motion_ns)
        return ended

    def _end(self, end_ns: int) -> list[ContactReport]:
        assert self._onset_ns is not None, 'only an open correction ends'
        onset_ns, self._onset_ns = self._onset_ns, None
        found = self.timeline.plan_during(onset_ns, end_ns)
        if found is None or (np.linalg.norm(self._moved_m) < self.parameters.min_correction_m):
            self.passes.drop()
            return []
        plan, from_ns, until_ns = found
        self.counts.corrections += 1
        self.passes.close(end_ns, self.shift_m)
        return [
            ContactReport(
                plan_stamp_ns=plan.stamp_ns,
                onset_ns=from_ns,
                onset_plan_sec=float(self.timeline.plan_time_sec(np.array([from_ns]))[0]),
                duration_sec=(until_ns - from_ns) / NANOSECONDS,
                displacement_m=self._moved_m.copy(),
                peak_force_n=0.0,
                # A device held on purpose leaves no doubt that it was meant.
                confidence=1.0,
                source=TELEOPERATION,
            )
        ]


def _beyond(value: float, dead_zone: float) -> float:
    """Returns the deflection beyond the dead zone, -1 to 1, continuous at its edge."""
    size = (min(abs(value), 1.0) - dead_zone) / (1.0 - dead_zone)
    return math.copysign(max(size, 0.0), value) if math.isfinite(value) else value

"""Whether set-points go on without a step, and along the plan that the status names; no ROS.

- Step: between two set-points dt apart, with tool positions x and tool speeds v, the tool may go
  dt · max(v₁, v₂) by its velocities, and a · dt² / 4 more by its largest acceleration a, which
  matters only where the machine left set-points out. What it goes farther than that is a step.
- Plan: while a plan is played, the set-point of the tool lies on the curve of the plan that the
  status names, once the status names it, and it is played without interruption, for `JOIN_SEC`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.arm.curve import curve
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.arm.limits import TOOL_ACCELERATION_M_S2
from reward_learning_ros.interface import Plan, PlaybackState, PlaybackStatus

Array = NDArray[np.float64]

MAX_STEP_M = 0.001
MAX_DISTANCE_M = 0.005
JOIN_SEC = 2.0
# A set-point is compared with a status if it is of the same time, up to this.
_SAME_TIME_SEC = 0.01
# After a silence of so long the arm may be another one, which stands elsewhere.
_SILENCE_SEC = 1.0
_CURVE_POINTS = 2001


@dataclass(kw_only=True)
class PlanRule:
    """Judges set-points and statuses, in the order of their times.

    Attributes:
        plans: by their stamps; all that were sent.
        max_step_m: the largest step so far, below 0 if velocities explain more than there was.
        worst_step: where that was, in words.
        steps: how many were above `MAX_STEP_M`.
        gaps: how often more than 20 ms passed between two set-points.
        compared: how many statuses were compared with the set-point.
        wrong: those of them that named another plan than was played: their time and distance.
    """

    plans: dict[int, Plan] = field(default_factory=dict)
    max_step_m: float = -np.inf
    worst_step: str = ''
    steps: int = 0
    gaps: int = 0
    compared: int = 0
    wrong: list[dict[str, float]] = field(default_factory=list)
    _kinematics: Kinematics = field(default_factory=Kinematics)
    _last: Array | None = None  # time, tool position and tool speed of the last set-point
    # The plan that the status names, and since when it is played without interruption.
    _named: tuple[int, float] = (0, 0.0)

    def judge(self, set_points: Array, statuses: list[PlaybackStatus]) -> None:
        """Judge what came since the last call.

        Args:
            set_points: (n, 15) times in seconds, positions and velocities of the joints.
            statuses: of the same time.
        """
        if not len(set_points):
            return
        positions, velocities = set_points[:, 1:8], set_points[:, 8:15]
        step_sec = 1e-6
        tool_m = self._kinematics.tool_poses(positions)[0]
        ahead_m = self._kinematics.tool_poses(positions + step_sec * velocities)[0]
        speeds = np.linalg.norm(ahead_m - tool_m, axis=1) / step_sec
        self._judge_steps(np.column_stack([set_points[:, 0], tool_m, speeds]))
        for status in statuses:
            self._judge_plan(status, set_points[:, 0], tool_m)

    def _judge_steps(self, rows: Array) -> None:
        if self._last is not None and rows[0, 0] - self._last[0] < _SILENCE_SEC:
            rows = np.vstack([self._last, rows])
        self._last = rows[-1]
        if len(rows) < 2:
            return
        gone_sec = np.diff(rows[:, 0])
        gone_m = np.linalg.norm(np.diff(rows[:, 1:4], axis=0), axis=1)
        explained_m = gone_sec * np.maximum(rows[:-1, 4], rows[1:, 4])
        explained_m += TOOL_ACCELERATION_M_S2 * gone_sec**2 / 4
        steps_m = gone_m - explained_m
        self.gaps += int(np.count_nonzero(gone_sec > 0.02))
        self.steps += int(np.count_nonzero(steps_m > MAX_STEP_M))
        worst = int(np.argmax(steps_m))
        if steps_m[worst] > self.max_step_m:
            self.max_step_m = float(steps_m[worst])
            self.worst_step = (
                f'{1e3 * gone_m[worst]:.3f} mm in {1e3 * gone_sec[worst]:.0f} ms at '
                f'{rows[worst, 4]:.3f} and {rows[worst + 1, 4]:.3f} m/s'
            )

    def _judge_plan(self, status: PlaybackStatus, times_sec: Array, tool_m: Array) -> None:
        stamp_sec = status.stamp_ns / 1e9
        plan_ns, since_sec = self._named
        if status.state is not PlaybackState.PLAYING:
            self._named = (0, stamp_sec)
            return
        if status.plan_stamp_ns != plan_ns:
            self._named = (status.plan_stamp_ns, stamp_sec)
            return
        nearest = int(np.argmin(np.abs(times_sec - stamp_sec)))
        is_same_time = abs(times_sec[nearest] - stamp_sec) <= _SAME_TIME_SEC
        if stamp_sec - since_sec < JOIN_SEC or not is_same_time:
            return
        self.compared += 1
        parameter = np.linspace(0.0, 1.0, _CURVE_POINTS)
        line_m = curve(self.plans[status.plan_stamp_ns].positions, parameter).value
        distance_m = float(np.linalg.norm(line_m - tool_m[nearest], axis=1).min())
        if distance_m > MAX_DISTANCE_M:
            self.wrong.append({'time_sec': stamp_sec, 'distance_m': distance_m})

"""Another plan again and again in mid-motion, with halts in between, on a busy machine.

Judged are the controller's set-points (`desired_joint_states`, 1 kHz) and the status, by the rules
of `plan_rule.py`; two plans in a row are `APART_M` from each other all along. And no hold may say
that playback was asleep.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.faults.plan_rule import MAX_STEP_M, PlanRule
from benchmarks.faults.playing import PlayingStation, across_line, line_plan
from benchmarks.faults.report import Progress, print_table
from benchmarks.faults.station import StuckError
from reward_learning_ros.core.cores import available_cores
from reward_learning_ros.interface import Plan, PlaybackState, PlaybackStatus
from reward_learning_ros.nodes import names
from tools.repeat import busy

PLAN_SEC = 15.0
APART_M = 0.04
MAX_DWELL_SEC = 3.5
# A halt may come before the first command of the new plan, so short reactions are more frequent.
MAX_REACTION_SEC = 0.2
_ASLEEP = 'asleep'
_HALTS = ('none', 'pause', 'stop')


def run(*, replacements: int, seed: int) -> dict[str, Any]:
    """Replace the plan so often; return what was measured."""
    campaign = _Campaign(np.random.default_rng(seed))
    progress = Progress('replacement', replacements)
    done = 0
    with busy(available_cores()), tempfile.TemporaryDirectory() as folder:
        while done < replacements:
            with PlanStation(Path(folder)) as station:
                while done < replacements:
                    done += 1
                    try:
                        progress.show(done, campaign.replace(station))
                    except StuckError as error:
                        campaign.stuck.append(str(error))
                        progress.show(done, f'stuck: {error}')
                        break
                campaign.take(station)
    return campaign.results(replacements)


class PlanStation(PlayingStation):
    """An arm that plays plans, and its set-points.

    Attributes:
        statuses: what playback told, with when it was told.
        set_points: rows of time in seconds, positions (7) and velocities (7).
    """

    def __init__(self, logs: Path) -> None:
        super().__init__(logs)
        self.statuses: list[PlaybackStatus] = []
        self.set_points: list[tuple[float, ...]] = []
        self._desired = self.listen_to_joints(names.DESIRED_JOINT_STATES_TOPIC)

    def measure(self) -> None:
        """Take the set-points that came, too."""
        super().measure()
        for record in self.take_joints(self._desired):
            self.set_points.append((record.time_ns / 1e9, *record.position, *record.velocity))

    def on_playback(self, status: PlaybackStatus) -> None:
        """Keep what playback tells."""
        super().on_playback(status)
        self.statuses.append(status)


class _Campaign:
    """The replacements, and what was measured so far."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rule = PlanRule()
        self.stuck: list[str] = []
        self.holds: Counter[str] = Counter()
        self.halts: Counter[str] = Counter()
        self.states: Counter[str] = Counter()
        self._rng = rng
        self._offset_m = np.zeros(3)
        self._faults = 0

    def replace(self, station: PlanStation) -> str:
        """Send another plan at a random moment, perhaps halt, and see what is played then."""
        if station.playback is None or not station.playback.state.is_moving:
            station.begin(self._next_plan(station))
        station.spin(self._rng.uniform(0.0, MAX_DWELL_SEC))
        state = 'unknown' if station.playback is None else station.playback.state.value
        self.states[state] += 1
        station.send(self._next_plan(station))
        halt = str(self._rng.choice(_HALTS))
        self.halts[halt] += 1
        if halt != 'none':
            station.spin(MAX_REACTION_SEC * self._rng.random() ** 2)
            station.call(f'playback/{halt}')
            station.spin(self._rng.uniform(0.0, 1.0))
        resumed = self._resume(station)
        station.spin(self._rng.uniform(0.0, 2 * MAX_DWELL_SEC))
        self.take(station)
        return (
            f'{state}, {halt}, {resumed}; {self.rule.steps} steps, {len(self.rule.wrong)} of '
            f'{self.rule.compared} statuses wrong'
        )

    def _next_plan(self, station: PlanStation) -> Plan:
        """Make a plan beside the one before."""
        before_m = self._offset_m
        while np.linalg.norm(self._offset_m - before_m) < APART_M:
            self._offset_m = across_line(self._rng, self._rng.uniform(0.0, 0.06))
        plan = line_plan(station.now_ns(), self._offset_m, PLAN_SEC)
        self.rule.plans[plan.stamp_ns] = plan
        return plan

    def _resume(self, station: PlanStation) -> str:
        """Go on after a pause or a hold, as soon as playback would."""
        deadline_sec = time.monotonic() + 20.0
        while time.monotonic() < deadline_sec:
            status = station.playback
            if status is None or status.state not in (PlaybackState.PAUSED, PlaybackState.FAULT):
                return 'nothing to resume'
            if not status.not_ready and station.call(names.PLAYBACK_RESUME_SERVICE).success:
                return 'resumed'
            station.spin(0.1)
        raise StuckError(f'no resume; {station.situation()}')

    def take(self, station: PlanStation) -> None:
        """Judge what was measured."""
        statuses = list(station.statuses)
        self.rule.judge(np.array(station.set_points).reshape(-1, 15), statuses)
        station.set_points.clear()
        station.statuses.clear()
        for status in statuses:
            if status.faults > self._faults:
                self.holds[status.last_fault] += status.faults - self._faults
            self._faults = status.faults

    def results(self, replacements: int) -> dict[str, Any]:
        """Print the table and return what was measured."""
        rule = self.rule
        asleep = sum(count for reason, count in self.holds.items() if _ASLEEP in reason)
        rows = [
            {'': name, 'found': found, 'allowed': allowed}
            for name, found, allowed in (
                ('holds because playback was asleep', asleep, 0),
                ('other holds', sum(self.holds.values()) - asleep, '-'),
                ('largest step of the tool, mm', 1e3 * rule.max_step_m, 1e3 * MAX_STEP_M),
                ('steps above that', rule.steps, 0),
                ('gaps in the set-points above 20 ms', rule.gaps, '-'),
                ('statuses whose plan was compared', rule.compared, '-'),
                ('statuses that named another plan', len(rule.wrong), 0),
            )
        ]
        print_table(
            f'{replacements} replacements of the plan, {available_cores()} cores busy', rows
        )
        for reason, count in self.holds.most_common():
            print(f'  {count} holds: {reason}')
        for text in self.stuck:
            print(f'  STUCK: {text}')
        verdicts = {
            f'{asleep} holds because playback was asleep': asleep > 0,
            f'{rule.steps} steps of the tool; the largest: {rule.worst_step}': rule.steps > 0,
            f'{len(rule.wrong)} statuses named a plan that was not played': bool(rule.wrong),
            f'{len(self.stuck)} times playback was stuck': bool(self.stuck),
            'no plan was compared: nothing was tested': rule.compared == 0,
        }
        return {
            'replacements': replacements,
            'replaced while': dict(self.states),
            'halts': dict(self.halts),
            'holds': dict(self.holds),
            'asleep': asleep,
            'largest step, m': rule.max_step_m,
            'steps': rule.steps,
            'worst step': rule.worst_step,
            'gaps': rule.gaps,
            'statuses compared': rule.compared,
            'statuses wrong': rule.wrong,
            'stuck': self.stuck,
            'violations': [text for text, is_wrong in verdicts.items() if is_wrong],
        }

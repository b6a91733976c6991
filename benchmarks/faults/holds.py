"""Faults at random moments of a motion, on a busy machine: how soon the arm is at rest.

The time counts from the fault to the last measured joint velocity above the threshold. Where the
process of the simulated arm was halted, or had to leave cycles out because the machine did not let
it run, the arm stood still as no real one would: these gaps are not counted, but told. A trial in
which it left out more than `MAX_LEFT_OUT_SEC` tells nothing about playback, and is made again.
Whoever pushes too hard lets go as soon as playback holds; from then on the arm must come to rest.
"""

from __future__ import annotations

import signal
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rosgraph_msgs.msg import Clock
from trajectory_msgs.msg import JointTrajectory

from benchmarks.faults.playing import PlayingStation, across_line, line_plan
from benchmarks.faults.report import print_table
from benchmarks.faults.station import ARM, MAX_GAP_SEC, MOVING_RAD_S, PLAYBACK, StuckError
from reward_learning_ros.arm.description import RobotMode
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.interface import PlaybackState
from reward_learning_ros.nodes import arm_names, names
from reward_learning_ros.playback.configuration import (
    TrajectoryPlaybackParameters,
)
from tools.repeat import busy

# Not one that listens to the arm: for seconds after kill -9 of such a node the simulated arm was
# measured to publish at a fifth of its rate, when both still spoke by shared memory.
WATCHED_NODE = 'session_conductor'
PLAN_SEC = 20.0
# How long a process is halted: longer than anything in playback waits for it.
HALTED_SEC = 1.5
# How long the arm is watched after the fault, and after it was mended.
WATCHED_SEC = 3.0
MENDED_SEC = 2.0
# At the wrist 10.5 N·m: too large for playback, 9 N·m, and too small for a reflex, 12 N·m.
FORCE_N = 50.0
MAX_PUSH_SEC = 2.0
JUMP_NS = 5_000_000_000
MAX_STUCK = 5
MAX_DISCARDED = 5
MAX_ATTEMPTS = 5
MAX_LEFT_OUT_SEC = 0.5


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one fault led to.

    Attributes:
        rest_sec: from the fault until the arm was at rest.
        left_out_sec: gaps in the arm's time until then, not counted.
        moved_again: whether it moved again although nobody asked it to.
        is_held: whether playback says that it holds, or the arm that it stopped by itself.
    """

    rest_sec: float
    left_out_sec: float
    moved_again: bool
    is_held: bool


def run(*, minutes: float, seed: int, kinds: Sequence[str], load: int) -> dict[str, Any]:
    """Make each fault in turn, in random orders, for so long and at least once.

    Args:
        minutes: How long.
        seed: Of orders, plans and moments.
        kinds: Which faults, of `KINDS`.
        load: Busy processes beside.

    Returns:
        What was measured.
    """
    campaign = _Campaign(seed, minutes, kinds, load)
    with busy(load), tempfile.TemporaryDirectory() as folder:
        while not campaign.is_over:
            if any(kind in FAULTS for kind in kinds):
                with PlayingStation(Path(folder), WATCHED_NODE) as station:
                    campaign.make_all(station, [kind for kind in kinds if kind in FAULTS])
            if any(kind in CLOCK_FAULTS for kind in kinds):
                with PlayingStation(Path(folder), is_time_simulated=True) as station:
                    campaign.make_all(station, [kind for kind in kinds if kind in CLOCK_FAULTS])
    return campaign.results()


class _Campaign:
    """The faults, and what was measured so far."""

    def __init__(self, seed: int, minutes: float, kinds: Sequence[str], load: int) -> None:
        self.outcomes: dict[str, list[Outcome]] = defaultdict(list)
        # Holds that came by themselves, before a fault was made.
        self.holds: Counter[str] = Counter()
        self.discarded: Counter[str] = Counter()
        self.stuck: list[str] = []
        self._rng = np.random.default_rng(seed)
        self._minutes = minutes
        self._load = load
        self._kinds = tuple(kinds)
        self._deadline_sec = time.monotonic() + 60.0 * minutes

    @property
    def is_over(self) -> bool:
        """Whether the time is up and each fault was made."""
        is_complete = self.outcomes.keys() >= set(self._kinds)
        # What is always stuck, or always too slow, is not tried for ever.
        is_complete |= len(self.stuck) > MAX_STUCK
        is_complete |= max(self.discarded.values(), default=0) > MAX_DISCARDED
        return is_complete and time.monotonic() > self._deadline_sec

    def make_all(self, station: PlayingStation, kinds: list[str]) -> None:
        """Make faults, each in mid-motion, in a random order."""
        for kind in (str(kind) for kind in self._rng.permutation(kinds)):
            if self.is_over:
                return
            try:
                outcome = self._make(kind, station)
            except StuckError as error:
                self.stuck.append(f'{kind}: {error}')
                print(f'{kind}: STUCK: {error}', flush=True)
                return
            if outcome.left_out_sec > MAX_LEFT_OUT_SEC:
                self.discarded[kind] += 1
                print(f'{kind}: the machine was too busy for the arm itself', flush=True)
                continue
            self.outcomes[kind].append(outcome)
            left_min = max(self._deadline_sec - time.monotonic(), 0.0) / 60.0
            print(
                f'{kind}: at rest after {outcome.rest_sec:.3f} s'
                f'{"" if outcome.is_held else ", NOT HELD"}'
                f'{", MOVED AGAIN" if outcome.moved_again else ""}; '
                f'about {left_min:.0f} min left',
                flush=True,
            )

    def _make(self, kind: str, station: PlayingStation) -> Outcome:
        """Make a fault at a random moment of a motion, and mend it."""
        station.wait_until(lambda: bool(station.times_ns), 'the arm')
        station.await_services()
        for _ in range(MAX_ATTEMPTS):
            offset_m = across_line(self._rng, 0.03)
            station.play(line_plan(station.now_ns(), offset_m, PLAN_SEC))
            station.spin(self._rng.uniform(1.0, 6.0))
            status = station.playback
            if status is not None and status.fault:
                self.holds[status.fault] += 1
            elif station.is_moving:
                break
        else:
            raise StuckError(f'no motion in {MAX_ATTEMPTS} attempts; {station.situation()}')
        outcome = {**FAULTS, **CLOCK_FAULTS}[kind](station)
        station.times_ns.clear()
        station.speeds_rad_s.clear()
        _mend(station)
        moved_again = max(station.speeds_rad_s, default=0.0) > MOVING_RAD_S
        return replace(outcome, moved_again=outcome.moved_again or moved_again)

    def results(self) -> dict[str, Any]:
        """Print the table and return what was measured."""
        config = TrajectoryPlaybackParameters()
        rows, violations = [], []
        for kind in self._kinds:
            outcomes = self.outcomes.get(kind, [])
            rests_sec = [outcome.rest_sec for outcome in outcomes]
            bound_sec = config.hold_within_sec
            if kind == WATCHED_KILLED:
                # Silence becomes a fault only then.
                bound_sec += config.watch_timeout_sec
            faults = {
                f'{sum(rest > bound_sec for rest in rests_sec)} too late': rests_sec
                and max(rests_sec) > bound_sec,
                f'{sum(not outcome.is_held for outcome in outcomes)} not held': not all(
                    outcome.is_held for outcome in outcomes
                ),
                f'{sum(outcome.moved_again for outcome in outcomes)} moved again': any(
                    outcome.moved_again for outcome in outcomes
                ),
                'not measured': not outcomes,
            }
            wrong = [text for text, is_wrong in faults.items() if is_wrong]
            violations += [f'{kind}: {text}' for text in wrong]
            rows.append(
                {
                    'fault': kind,
                    'n': len(outcomes),
                    'median, s': median(rests_sec) if rests_sec else None,
                    'max, s': max(rests_sec, default=None),
                    'bound, s': bound_sec,
                    'left out, s': max((o.left_out_sec for o in outcomes), default=None),
                    'discarded': self.discarded[kind],
                    'verdict': ', '.join(wrong).upper() or 'held',
                }
            )
        print_table(
            f'{self._minutes:g} minutes of faults, 1 kHz state, {self._load} busy processes: '
            'time from the fault to the arm at rest',
            rows,
        )
        for reason, count in self.holds.most_common():
            print(f'  {count} holds before a fault was made: {reason}')
        for text in self.stuck:
            print(f'  STUCK: {text}')
        violations += [f'{len(self.stuck)} times something was stuck'] if self.stuck else []
        return {
            'minutes': self._minutes,
            'faults': rows,
            'measured': {kind: [vars(o) for o in found] for kind, found in self.outcomes.items()},
            'other holds': dict(self.holds),
            'stuck': self.stuck,
            'violations': violations,
        }


def _mend(station: PlayingStation) -> None:
    """Make the arm and its playback fit for the next motion; none of it is a consent."""
    station.start_missing()
    station.wait_until(lambda: station.mode is not None, 'the arm')
    if station.mode is RobotMode.USER_STOPPED:
        station.set_stop(False)
    elif station.mode is RobotMode.REFLEX:
        station.call(arm_names.ERROR_RECOVERY_SERVICE)
    station.wait_until(lambda: station.mode is RobotMode.MOVE, 'an arm that follows')
    station.spin(MENDED_SEC)


def _outcome(
    station: PlayingStation, fault_ns: int, *, halted_sec: float = 0.0, is_told: bool = True
) -> Outcome:
    """Watch the arm after a fault.

    Args:
        station: what is watched.
        fault_ns: when it was made, on the arm's clock.
        halted_sec: for how long after it the arm's process was halted on purpose.
        is_told: whether anybody is left to tell that the arm is held.
    """
    station.spin(WATCHED_SEC)
    is_held = (
        not is_told
        or (station.playback is not None and station.playback.state is PlaybackState.FAULT)
        or (station.mode is not None and not station.mode.follows_commands)
    )
    times_sec = (np.array(station.times_ns, dtype=np.int64) - fault_ns) / 1e9
    gone_sec = np.diff(times_sec, prepend=times_sec[:1])
    is_left_out = gone_sec > MAX_GAP_SEC
    # Time as it passed for the arm from the fault on, and what passed for the others only.
    first = int(np.searchsorted(times_sec, 0.0))
    arm_sec = np.cumsum(np.where(is_left_out, 0.0, gone_sec)[first:])
    left_out_sec = np.cumsum(np.where(is_left_out, gone_sec, 0.0)[first:])
    moving = np.flatnonzero(np.array(station.speeds_rad_s[first:]) > MOVING_RAD_S)
    if not len(moving):
        return Outcome(rest_sec=0.0, left_out_sec=0.0, moved_again=False, is_held=is_held)
    # A motion after a rest of half a second is no braking any more.
    rests = np.flatnonzero(np.diff(arm_sec[moving]) > 0.5)
    last = int(moving[rests[0]] if len(rests) else moving[-1])
    return Outcome(
        rest_sec=float(arm_sec[last]),
        left_out_sec=max(float(left_out_sec[last]) - halted_sec, 0.0),
        moved_again=bool(len(rests)),
        is_held=is_held,
    )


def _halt_arm(station: PlayingStation) -> Outcome:
    fault_ns = station.arm_ns()
    station.signal(ARM, signal.SIGSTOP)
    began_sec = time.monotonic()
    station.spin(HALTED_SEC)
    station.signal(ARM, signal.SIGCONT)
    return _outcome(station, fault_ns, halted_sec=time.monotonic() - began_sec)


def _halt_playback(station: PlayingStation) -> Outcome:
    fault_ns = station.arm_ns()
    station.signal(PLAYBACK, signal.SIGSTOP)
    station.spin(HALTED_SEC)
    station.signal(PLAYBACK, signal.SIGCONT)
    return _outcome(station, fault_ns)


def _kill_playback(station: PlayingStation) -> Outcome:
    fault_ns = station.arm_ns()
    station.kill(PLAYBACK)
    outcome = _outcome(station, fault_ns, is_told=False)
    # What it told last is no longer so.
    station.playback = None
    return outcome


def _kill_arm(station: PlayingStation) -> Outcome:
    fault_ns = station.arm_ns()
    station.kill(ARM)
    outcome = _outcome(station, fault_ns)
    station.mode = None
    return outcome


def _kill_watched(station: PlayingStation) -> Outcome:
    fault_ns = station.arm_ns()
    station.kill(WATCHED_NODE)
    station.spin(TrajectoryPlaybackParameters().watch_timeout_sec)
    return _outcome(station, fault_ns)


def _press_stop(station: PlayingStation) -> Outcome:
    fault_ns = station.arm_ns()
    station.set_stop(True)
    return _outcome(station, fault_ns)


def _trip_reflex(station: PlayingStation) -> Outcome:
    fault_ns = station.arm_ns()
    if not station.trip_reflex():
        raise StuckError(f'no reflex; {station.situation()}')
    return _outcome(station, fault_ns)


def _push_too_hard(station: PlayingStation) -> Outcome:
    """Push outwards: the lever to the wrist is the same wherever the tool is."""
    tool = Kinematics().tool_poses(station.positions_rad)[0]
    outwards = tool[:2] / np.linalg.norm(tool[:2])
    force_n = (FORCE_N * float(outwards[0]), FORCE_N * float(outwards[1]), 0.0)

    def is_held() -> bool:
        station.push(force_n)
        return station.playback is not None and station.playback.state is PlaybackState.FAULT

    try:
        station.wait_until(is_held, 'a hold', MAX_PUSH_SEC)
    finally:
        station.push((0.0, 0.0, 0.0))
    return _outcome(station, station.arm_ns())


def _command_beside(station: PlayingStation) -> Outcome:
    fault_ns = station.arm_ns()
    publisher = station.operator.create_publisher(
        JointTrajectory,
        names.command_topic(TrajectoryPlaybackParameters().controller),
        names.COMMAND_QOS,
    )
    outcome = _outcome(station, fault_ns)
    station.operator.destroy_publisher(publisher)
    return outcome


def _jump_clock(station: PlayingStation) -> Outcome:
    fault_ns = station.arm_ns()
    publisher = station.operator.create_publisher(Clock, '/clock', arm_names.CLOCK_QOS)

    def is_held() -> bool:
        seconds, nanoseconds = divmod(station.now_ns() + JUMP_NS, 1_000_000_000)
        publisher.publish(Clock(clock=Time(sec=seconds, nanosec=nanoseconds)))
        return station.playback is not None and station.playback.state is PlaybackState.FAULT

    station.wait_until(is_held, 'a hold', WATCHED_SEC)
    station.operator.destroy_publisher(publisher)
    return _outcome(station, fault_ns)


WATCHED_KILLED = 'watched node killed'
FAULTS: dict[str, Callable[[PlayingStation], Outcome]] = {
    'state stream stopped (SIGSTOP arm)': _halt_arm,
    'kill -9 arm': _kill_arm,
    'kill -9 playback': _kill_playback,
    'SIGSTOP playback': _halt_playback,
    'user stop': _press_stop,
    'reflex': _trip_reflex,
    'too large a force': _push_too_hard,
    'second publisher of commands': _command_beside,
    WATCHED_KILLED: _kill_watched,
}
# In simulated time, where a clock can jump without that of the machine.
CLOCK_FAULTS: dict[str, Callable[[PlayingStation], Outcome]] = {'clock jump': _jump_clock}
KINDS = (*FAULTS, *CLOCK_FAULTS)

"""What becomes of a session in which something fails: measured, and as a table.

Each fault is made while the session waits for a consent, while the arm plays its plan, and after
it was stopped in mid-plan, while something is learned. From the fault on the arm is watched:
motions without consent, its fastest joint, the largest step between set-points. Then the fault is
mended, and the session must take a consent again and play. The recording is read, too.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.faults.consent_rule import ConsentRule
from benchmarks.faults.relay import PREFIX, behind_relay
from benchmarks.faults.report import Progress, print_table
from benchmarks.faults.session_faults import FAULTS, LASTS_SEC, SessionFault
from benchmarks.faults.session_station import SessionStation, session_configuration
from benchmarks.faults.station import MAX_GAP_SEC, MOVING_RAD_S, StuckError
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import SessionState
from reward_learning_ros.nodes import names
from reward_learning_ros.recording.bag_reader import BagReader
from reward_learning_ros.session.processes import NodeProcess
from reward_learning_ros.session.session_parameters import SessionParameters

READY, PLAYING, LEARNING = 'ready', 'playing', 'learning'
STATES = (READY, PLAYING, LEARNING)
# How long the arm is watched after the fault was mended.
_WATCHED_SEC = 2.0
# A recording may lack the last second of a process that was killed, and no more.
MAX_LOST_SEC = 1.0
_RELAY = 'relay'


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a fault led to.

    Attributes:
        fault: what was made.
        state: of the session when it was made.
        told: what the session said of itself then, its reason in words.
        unwanted: motions without consent.
        max_speed_rad_s: of the fastest joint, from the fault on.
        max_step_rad: between two set-points.
        gap_sec: the longest time of which the recording has no joint state, beyond the fault.
        ended: nodes that ended though nobody killed them.
        goes_on: whether it could be consented to a motion afterwards, and the arm moved.
    """

    fault: str
    state: str
    told: str
    unwanted: int
    max_speed_rad_s: float
    max_step_rad: float
    gap_sec: float | None
    ended: tuple[str, ...]
    goes_on: bool


class FaultySession(SessionStation):
    """A session whose arm may be heard through a relay that spoils what it says.

    Attributes:
        bag: its recording.
        steps_rad: largest change of a joint between one set-point and the next.
    """

    def __init__(self, config: SessionParameters, rule: ConsentRule, *, has_relay: bool) -> None:
        super().__init__(config, rule, change=behind_relay if has_relay else None)
        self.bag = self.folder.bag
        self.steps_rad: list[float] = []
        self._last_set_point_sec, self._last_set_point_rad = -float('inf'), self.positions_rad
        if has_relay:
            # What the arm does, not what is told of it.
            self._measured = self.listen_to_joints(PREFIX + names.MEASURED_JOINT_STATES_TOPIC)
            command = [sys.executable, '-m', 'benchmarks.faults.relay']
            log = self.folder.logs / f'{_RELAY}.log'
            self.processes[_RELAY] = NodeProcess(_RELAY, command, log)

    def on_set_point(self, time_sec: float, positions_rad: np.ndarray) -> None:
        """Take note of a set-point; what was told before a gap is none that this one follows."""
        if time_sec - self._last_set_point_sec < MAX_GAP_SEC:
            self.steps_rad.append(float(np.abs(positions_rad - self._last_set_point_rad).max()))
        self._last_set_point_sec, self._last_set_point_rad = time_sec, positions_rad

    def clear(self) -> None:
        """Forget what was measured."""
        super().clear()
        self.steps_rad.clear()

    def bring_to(self, state: str, rng: np.random.Generator) -> None:
        """Bring the session into a state in which a fault is to be made."""
        self.make_fit()
        if state == READY:
            return
        self.set_in_motion(rng)
        self.wait_until(lambda: self._is(SessionState.PLAYING), 'a pass')
        self.spin(float(rng.uniform(0.5, 4.0)))
        if state == LEARNING:
            self.take_away('stop', 0.0)
            self.call(names.PLAYBACK_STOP_SERVICE)
            self.wait_until(lambda: not self._is(SessionState.PLAYING), 'the end of the pass')

    def can_go_on(self, rng: np.random.Generator) -> bool:
        """Consent to a motion; return whether the arm moves."""
        self.make_fit()
        self.set_in_motion(rng)
        self.wait_until(lambda: self.is_moving, 'a motion')
        return True

    def _is(self, state: SessionState) -> bool:
        return self.session is not None and self.session.state is state


def run(
    *, seed: int, states: Sequence[str], faults: Sequence[str], pairs: int = 0
) -> dict[str, Any]:
    """Make each fault in each state, and some two at once.

    Args:
        seed: Of moments, orders and sessions.
        states: Of `STATES`.
        faults: Of `FAULTS`.
        pairs: How many times two faults are made at once.

    Returns:
        What was measured.
    """
    rng = np.random.default_rng(seed)
    cases = [((fault,), state) for fault in faults for state in states]
    for _ in range(pairs):
        first, second = (str(each) for each in rng.choice(list(FAULTS), size=2, replace=False))
        cases.append(((first, second), str(rng.choice(states))))
    progress = Progress('fault', len(cases))
    outcomes: list[Outcome] = []
    stuck: list[str] = []
    groups = [
        [case for case in cases if any(FAULTS[name].needs_relay for name in case[0]) is relayed]
        for relayed in (False, True)
    ]
    for has_relay, group in zip((False, True), groups, strict=True):
        waiting = list(group)
        while waiting:
            with tempfile.TemporaryDirectory() as folder:
                rule = ConsentRule(moving_rad_s=MOVING_RAD_S, max_gap_sec=MAX_GAP_SEC)
                config = session_configuration(Path(folder), seed + len(outcomes))
                with FaultySession(config, rule, has_relay=has_relay) as station:
                    while waiting:
                        made, state = waiting.pop(0)
                        try:
                            outcome = _try(station, made, state, rng)
                        except StuckError as error:
                            stuck.append(f'{" + ".join(made)}, {state}: {error}')
                            progress.show(len(outcomes) + len(stuck), f'STUCK: {error}')
                            # With another session.
                            break
                        outcomes.append(outcome)
                        told = f'{outcome.fault}, {state}: {_verdict(outcome, FAULTS[made[0]])}'
                        progress.show(len(outcomes) + len(stuck), told)
    return _results(outcomes, stuck)


def _try(
    station: FaultySession, made: tuple[str, ...], state: str, rng: np.random.Generator
) -> Outcome:
    """Make faults, watch, mend them, and let the session go on."""
    station.bring_to(state, rng)
    # What led here is judged too, or the rule would not know that the arm moves by consent.
    before = len(station.judge())
    station.clear()
    began_ns = station.now_ns()
    faults = [FAULTS[name] for name in made]
    starts = {name: process.starts for name, process in station.processes.items()}
    with contextlib.ExitStack() as stack:
        for name, fault in zip(made, faults, strict=True):
            if fault.withdraws:
                station.take_away(name, LASTS_SEC)
            stack.enter_context(fault.make(station))
        station.spin(LASTS_SEC)
        told = '' if station.session is None else station.session.reason
    ended_ns = station.now_ns()
    station.spin(_WATCHED_SEC)
    speeds, steps = list(station.speeds_rad_s), list(station.steps_rad)
    unwanted = before + len(station.judge())
    station.clear()
    killed = {name.removeprefix('kill -9 ') for name in made}
    ended = tuple(
        name
        for name, process in station.processes.items()
        if process.starts > starts[name] and name not in killed
    )
    goes_on = station.can_go_on(rng)
    lasted_sec = (ended_ns - began_ns) / 1e9
    return Outcome(
        fault=' + '.join(made),
        state=state,
        told=told,
        unwanted=unwanted,
        max_speed_rad_s=max(speeds, default=0.0),
        max_step_rad=max(steps, default=0.0),
        gap_sec=_gap_sec(station.bag, began_ns, lasted_sec, any(f.loses for f in faults)),
        ended=ended,
        goes_on=goes_on,
    )


def _gap_sec(bag: Path, began_ns: int, lasted_sec: float, may_lose: bool) -> float | None:
    """Return the longest time of which a recording has no joint state, from a moment on."""
    topic = f'/{names.MEASURED_JOINT_STATES_TOPIC}'
    try:
        with BagReader(bag) as reader:
            times = [message.time_ns for message in reader.messages([topic])]
    except RewardLearningError:
        return None
    after = np.array([each for each in times if each >= began_ns - 10**9], dtype=np.int64)
    longest_sec = float(np.diff(after).max()) / 1e9 if len(after) > 1 else 0.0
    return max(longest_sec - lasted_sec, 0.0) if may_lose else longest_sec


def _verdict(outcome: Outcome, fault: SessionFault) -> str:
    """Return what is wrong with an outcome, or that nothing is."""
    wrong = []
    if outcome.unwanted:
        wrong.append(f'{outcome.unwanted} motions without consent')
    if not outcome.goes_on:
        wrong.append('does not go on')
    if outcome.ended:
        wrong.append(f'ended: {", ".join(outcome.ended)}')
    if outcome.gap_sec is None:
        wrong.append('the recording cannot be read')
    elif outcome.gap_sec > MAX_LOST_SEC and not fault.loses:
        wrong.append(f'{outcome.gap_sec:.1f} s are not recorded')
    return ', '.join(wrong) or 'as it should'


def _results(outcomes: list[Outcome], stuck: list[str]) -> dict[str, Any]:
    """Print the table, and return what was measured."""
    rows, violations = [], [f'stuck: {text}' for text in stuck]
    for outcome in outcomes:
        fault = FAULTS.get(outcome.fault, SessionFault(make=contextlib.nullcontext, loses=True))
        verdict = _verdict(outcome, fault)
        rows.append(
            {
                'fault': outcome.fault,
                'state': outcome.state,
                'fastest joint, rad/s': outcome.max_speed_rad_s,
                'largest step, mrad': 1000.0 * outcome.max_step_rad,
                'not recorded, s': outcome.gap_sec,
                'verdict': verdict,
                'told': outcome.told[:80],
            }
        )
        if verdict != 'as it should':
            violations.append(f'{outcome.fault}, {outcome.state}: {verdict}')
    print_table('faults and what became of the session', rows)
    return {
        'faults': rows,
        'measured': [asdict(outcome) for outcome in outcomes],
        'stuck': stuck,
        'violations': violations,
    }

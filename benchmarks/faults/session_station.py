"""A running session under test, and what happens to its consents."""

from __future__ import annotations

import re
import time
from bisect import insort
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import WrenchStamped

from benchmarks.faults.consent_rule import SWING_SEC, ConsentRule, UnwantedMotion, Withdrawal
from benchmarks.faults.station import (
    ARM,
    DEADLINE_SEC,
    PLAYBACK,
    Station,
    StuckError,
)
from reward_learning_ros.arm.description import RobotMode
from reward_learning_ros.interface import (
    PlaybackState,
    PlaybackStatus,
    SessionState,
    session_status_from_message,
)
from reward_learning_ros.interface.status import SessionStatus
from reward_learning_ros.nodes import arm_names, names
from reward_learning_ros.playback.configuration import (
    TrajectoryPlaybackParameters,
)
from reward_learning_ros.session.node_parameters import EVERY_PASS
from reward_learning_ros.session.session_description import (
    CONDUCTOR,
    RECORDER,
    NodeDescription,
    begin,
)
from reward_learning_ros.session.session_parameters import SessionParameters
from reward_learning_ros.session.session_state_machine import ASKING
from reward_learning_ros.tasks import load_task

CONSENTS = {
    'begin': names.SESSION_BEGIN_SERVICE,
    'continue': names.SESSION_CONTINUE_SERVICE,
    'home': names.SESSION_HOME_SERVICE,
}
STOP_PRESSED, STOP_RELEASED = 'stop pressed', 'stop released'
REFLEX, RECOVERY, RESTART = 'reflex', 'recovery', 'restart'
KILL = 'kill'
REFUSAL = 'refused by playback'
EVENTS = (STOP_PRESSED, STOP_RELEASED, *CONSENTS, REFLEX, RECOVERY, KILL, RESTART)
KILLED = (
    ARM,
    PLAYBACK,
    'correction_recorder',
    'reward_inference',
    'simulated_participant',
    CONDUCTOR,
    RECORDER,
)
MAX_LENGTH = 5
MAX_DWELL_SEC = 2.0
# How long the arm is watched at rest, with nothing that forbids a motion, before the next order.
WATCHED_SEC = 3.0
# A recording that grows for hours makes restarted nodes slow.
ORDERS_PER_SESSION = 20
MAX_EVENTS = 40
# Silence of a watched node is noticed by playback after its time-out; a look at it is due every
# tenth of a second.
_LOOK_SEC = 0.1
# Where a session that asked playback goes when it is refused, or not answered.
_ANSWERS_NO = (
    SessionState.WAITING,
    SessionState.READY,
    SessionState.HOLDING,
    SessionState.AWAY,
)
_ANSWERS = {
    SessionState.READY: ('begin',),
    SessionState.HOLDING: ('continue', 'home'),
    SessionState.AWAY: ('home',),
}


def session_configuration(folder: Path, seed: int) -> SessionParameters:
    """Return a session in which a person consents to every pass, and that goes on and on."""
    load_task('press').prepare()
    file = folder / 'faults.yaml'
    # A pass that nobody corrected does not end the session: the next order needs it.
    file.write_text(f'{CONDUCTOR}:\n  ros__parameters:\n    quiet_pass_accepts: false\n')
    return SessionParameters(
        sessions=str(folder),
        study='faults',
        realtime=True,
        consent=EVERY_PASS,
        max_passes=1000,
        max_corrections=0,
        seed=seed,
        parameters_file=str(file),
    )


class SessionStation(Station):
    """A session, and what happens to its consents.

    Args:
        config: Of the session.
        rule: See below.
        change: What is done to the description of the arm.

    Attributes:
        folder: of the session.
        session: what the session told last.
        rule: is told of every consent and of everything that takes one away.
    """

    def __init__(
        self,
        config: SessionParameters,
        rule: ConsentRule,
        change: Callable[[NodeDescription], NodeDescription] | None = None,
    ) -> None:
        self.folder, _, description = begin(config)
        nodes = tuple(
            change(node) if change is not None and node.name == ARM else node
            for node in description.nodes
        )
        super().__init__(nodes, self.folder.logs)
        self.session: SessionStatus | None = None
        self.rule = rule
        self.counts: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.holds: Counter[str] = Counter()
        # What happened when, and how fast the set-points were, to explain a motion by.
        self.events: deque[tuple[float, str]] = deque(maxlen=MAX_EVENTS)
        self.set_points: list[tuple[float, float]] = []
        self._desired = self.listen_to_joints(names.DESIRED_JOINT_STATES_TOPIC)
        playback = TrajectoryPlaybackParameters()
        # How soon it rests is judged elsewhere; here a swing at the end is no setting off.
        self._braking_sec = playback.hold_within_sec + SWING_SEC
        self._unnoticed_sec = playback.watch_timeout_sec + _LOOK_SEC
        self._asked: list[tuple[str, float, Any]] = []
        self.operator.create_subscription(
            DiagnosticStatus, names.SESSION_STATUS_TOPIC, self._on_session, names.LATCHED_QOS
        )
        self.operator.create_subscription(
            WrenchStamped, arm_names.PERSON_WRENCH_TOPIC, self._on_push, names.ROBOT_STATE_QOS
        )

    def spin(self, seconds: float) -> None:
        """Listen for some time, and look what became of calls and of nodes."""
        deadline_sec = time.monotonic() + seconds
        while True:
            super().spin(0.0)
            self.start_missing()
            self._look_at_answers()
            if time.monotonic() >= deadline_sec:
                return

    def measure(self) -> None:
        """Take the set-points that came, too."""
        super().measure()
        for record in self.take_joints(self._desired):
            speed = float(np.abs(record.velocity).max())
            self.set_points.append((record.time_ns / 1e9, speed))
            self.on_set_point(record.time_ns / 1e9, np.array(record.position))

    def on_set_point(self, time_sec: float, positions_rad: np.ndarray) -> None:
        """Take note of a set-point; for those who measure more."""

    def clear(self) -> None:
        """Forget what was measured, but no consent and what took one away."""
        self.times_ns.clear()
        self.speeds_rad_s.clear()
        self.set_points.clear()

    def judge(self) -> list[UnwantedMotion]:
        """Return the motions without consent in what was measured."""
        times_sec = [time_ns / 1e9 for time_ns in self.times_ns]
        return self.rule.judge(times_sec, self.speeds_rad_s)

    def note(self, text: str) -> None:
        """Take note of something that happened now."""
        self.events.append((time.time(), text))

    def on_mode(self, mode: RobotMode) -> None:
        """Take note of a change of the arm's mode."""
        if mode is not self.mode:
            self.note(f'arm: {mode.text}')
        super().on_mode(mode)

    def situation(self) -> str:
        """Return what was told last, in words."""
        return f'{super().situation()}, session {self.session}'

    def happen(self, event: str, node: str = '') -> str:
        """Let an event happen; return it in words."""
        self.note(event if event != KILL else f'kill {node}')
        if event in CONSENTS:
            future = self.ask(CONSENTS[event])
            if future is not None:
                self._asked.append((event, time.time(), future))
        elif event in (STOP_PRESSED, STOP_RELEASED):
            future = self.ask_for_stop(event == STOP_PRESSED)
            if future is not None and event == STOP_PRESSED:
                self._asked.append((event, time.time(), future))
        elif event == REFLEX:
            if self.trip_reflex():
                self._withdraw(REFLEX, self._braking_sec)
        elif event == RECOVERY:
            # The session's is the one that people use; without a session there is the arm's.
            if self.ask(names.SESSION_RECOVER_SERVICE) is None:
                self.ask(arm_names.ERROR_RECOVERY_SERVICE)
        elif event == KILL:
            self.kill(node)
            is_watched = node not in (ARM, PLAYBACK)
            unnoticed_sec = self._unnoticed_sec if is_watched else 0.0
            self._withdraw(f'kill {node}', self._braking_sec, unnoticed_sec=unnoticed_sec)
            return f'kill {node}'
        elif event == RESTART:
            # As a supervisor does it with a real arm, which goes on.
            self.end(*(name for name in self.processes if name != ARM))
            self._withdraw(RESTART, self._braking_sec)
        return event

    def make_fit(self) -> None:
        """Remove what forbids a motion, and wait for a session that can be consented to."""
        self._make_whole()
        self.wait_until(lambda: self._is_ready, 'a session that can be consented to')

    def _make_whole(self) -> None:
        self.wait_until(lambda: self.mode is not None, 'the arm')
        if self.mode is RobotMode.USER_STOPPED:
            self.happen(STOP_RELEASED)
        self.wait_until(lambda: self.mode is not RobotMode.USER_STOPPED, 'release of the stop')
        self.wait_until(self._is_recovered, 'recovery')
        self.wait_until(lambda: self.session is not None, 'the session')

    def make_ready(self, rng: np.random.Generator) -> str:
        """Remove what forbids a motion, watch the arm rest, and perhaps set it in motion."""
        self._make_whole()
        if rng.random() < 0.8:
            self.wait_until(lambda: self._is_ready, 'a session that can be consented to')
            self.spin(WATCHED_SEC)
            if rng.random() < 0.85:
                self.set_in_motion(rng)
                self.spin(rng.uniform(0.0, 4.0))
        return 'moving' if self.is_moving else 'at rest'

    def _is_recovered(self) -> bool:
        """Tell whether the arm is in no reflex; ask for its recovery, which may be refused."""
        if self.mode is RobotMode.REFLEX:
            self.happen(RECOVERY)
            self.spin(1.0)
        return self.mode is RobotMode.MOVE

    def set_in_motion(self, rng: np.random.Generator) -> None:
        """Consent to what the session waits for; who is refused reads why, and asks again.

        Raises:
            StuckError: No consent was taken in time, although the session said that it waits.
        """
        deadline = time.monotonic() + DEADLINE_SEC
        before, refused = len(self.rule.consents_sec), self.refusals.copy()
        while True:
            self.wait_until(lambda: self._is_ready and not self._asked, 'a session that waits')
            assert self.session is not None
            event = str(rng.choice(_ANSWERS[self.session.state]))
            self.wait_until(self.client(CONSENTS[event]).service_is_ready, CONSENTS[event])
            self.happen(event)
            self.wait_until(lambda: not self._asked, f'an answer to {event}')
            if len(self.rule.consents_sec) > before:
                return
            if time.monotonic() > deadline:
                raise StuckError(f'no consent is taken: {dict(self.refusals - refused)}')
            self.spin(WATCHED_SEC)

    @property
    def _is_ready(self) -> bool:
        return (
            self.session is not None
            and self.session.state in _ANSWERS
            and self.playback is not None
            and (not self.playback.not_ready or self.playback.is_too_far)
            and self.has_rested(0.3)
        )

    def take_away(self, kind: str, unnoticed_sec: float) -> None:
        """Take note of something that takes consents away."""
        self._withdraw(kind, self._braking_sec, unnoticed_sec=unnoticed_sec + self._unnoticed_sec)

    def _withdraw(
        self,
        kind: str,
        braking_sec: float,
        time_sec: float | None = None,
        unnoticed_sec: float = 0.0,
    ) -> None:
        now_sec = time.time() if time_sec is None else time_sec
        self.rule.withdrawals.append(
            Withdrawal(
                time_sec=now_sec,
                kind=kind,
                braking_sec=braking_sec,
                unnoticed_sec=unnoticed_sec,
            )
        )

    def _look_at_answers(self) -> None:
        waiting = []
        for event, asked_sec, future in self._asked:
            if not future.done():
                # Who asked gave up; a consent that is used after that is late.
                if time.time() - asked_sec < 10.0:
                    waiting.append((event, asked_sec, future))
            elif event == STOP_PRESSED:
                self._withdraw(STOP_PRESSED, self._braking_sec)
            elif future.result().success:
                self.counts[f'{event} taken'] += 1
                self.note(f'{event} is taken')
                insort(self.rule.consents_sec, asked_sec)
            else:
                self.refusals[without_numbers(future.result().message)] += 1
        self._asked = waiting

    def on_playback(self, status: PlaybackStatus) -> None:
        """Take note of what playback tells; a motion that ended used its consent up."""
        before = self.playback
        super().on_playback(status)
        if before is None or before.state is not status.state:
            self.note(f'playback: {status.fault or status.state.value}')
        was_moving = before is not None and before.state.is_moving
        if was_moving and not status.state.is_moving:
            kind = 'hold' if status.state is PlaybackState.FAULT else 'end of a motion'
            self.counts[kind] += 1
            if status.fault:
                self.holds[without_numbers(status.fault)] += 1
            self._withdraw(kind, self._braking_sec, status.stamp_ns / 1e9)

    def _on_session(self, message: DiagnosticStatus) -> None:
        before, self.session = self.session, session_status_from_message(message)
        if before is not None and before.state in ASKING and self.session.state in _ANSWERS_NO:
            self.counts[REFUSAL] += 1
            self._withdraw(REFUSAL, self._braking_sec)

    def _on_push(self, message: WrenchStamped) -> None:
        force = message.wrench.force
        if force.x or force.y or force.z:
            stamp = message.header.stamp
            self._note_push(stamp.sec + stamp.nanosec / 1e9)

    def push(self, force_n: tuple[float, float, float]) -> None:
        """Push the tool, and take note of it."""
        self._note_push(time.time())
        super().push(force_n)

    def _note_push(self, time_sec: float) -> None:
        insort(self.rule.pushes_sec, time_sec)


def without_numbers(text: str) -> str:
    """Return a message so that those that differ by numbers only are one."""
    return re.sub('[0-9.]+', '…', text)

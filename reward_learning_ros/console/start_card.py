"""Starts a session with the simulated arm from the page, where none runs."""

from __future__ import annotations

import time

from nicegui import ui

from reward_learning_ros.console.launcher import SessionLauncher
from reward_learning_ros.console.layout import card, plain_button, text
from reward_learning_ros.console.snapshot import Snapshot
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.session.node_parameters import EVERY_PASS
from reward_learning_ros.session.session_parameters import HUMAN, SessionParameters

# Their names are words; others can be started from the command line.
_TASKS = {
    'press_conflict': 'press a button behind an obstacle',
    'press': 'press a button',
    'reach': 'hand a cup over',
}
_STARTING_SEC = 30.0


class StartCard:
    """A card with one button; it goes away when a session is heard."""

    def __init__(self, launcher: SessionLauncher, sessions: str, namespace: str) -> None:
        self._launcher = launcher
        self._sessions = sessions
        self._namespace = namespace
        self._started_sec = -_STARTING_SEC
        with card('Try it', 'rl-order-0') as self._card:
            text(
                'A simulated arm shows its plan. Pull it with the mouse where it is wrong. After '
                'each pass it shows what it understood.'
            )
            self._task = ui.select(_TASKS, value='press_conflict', label='Task').props('outlined')
            self._button = plain_button('Start a simulated session', self._start)
            self._button.props('data-act=start')
            self._words = text('', 'rl-soft').props('role=status')

    def show(self, snapshot: Snapshot, not_mine: str) -> None:
        """Show the card while nothing is heard of a session, and why it cannot be started."""
        self._card.set_visibility(snapshot.session is None)
        if snapshot.session is not None:
            return
        is_starting = time.monotonic() - self._started_sec < _STARTING_SEC
        self._button.set_enabled(not not_mine and not self._launcher.is_running)
        if failure := self._launcher.failure():
            self._words.set_text(f'It could not begin: {failure}')
        elif self._launcher.is_running:
            self._words.set_text(
                'The session starts; that takes some seconds.'
                if is_starting
                else 'A session was started here, and nothing is heard of it yet.'
            )
        else:
            self._words.set_text(not_mine)

    def _start(self) -> None:
        try:
            self._launcher.start(
                SessionParameters(
                    task=str(self._task.value),
                    participant_model=HUMAN,
                    # Both as with --console: at the pace of a person who consents on the page.
                    realtime=True,
                    consent=EVERY_PASS,
                    sessions=self._sessions,
                    namespace=self._namespace.strip('/'),
                )
            )
            self._started_sec = time.monotonic()
        except RewardLearningError as error:
            self._words.set_text(str(error))

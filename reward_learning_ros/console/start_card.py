"""Starts a session with the simulated arm from the page, where none runs."""

from __future__ import annotations

import time

from nicegui import ui

from reward_learning_ros.console.launcher import SessionLauncher
from reward_learning_ros.console.layout import card, plain_button, text
from reward_learning_ros.console.snapshot import Snapshot
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import SessionState
from reward_learning_ros.session.node_parameters import EVERY_PASS
from reward_learning_ros.session.session_parameters import HUMAN, SessionParameters
from reward_learning_ros.tasks.registry import task_directories

# Said in words; others of the package can be started from the command line.
_TASKS = {
    'press_conflict': 'press a button behind an obstacle',
    'press': 'press a button',
    'reach': 'hand a cup over',
}
_STARTING_SEC = 30.0


class StartCard:
    """A card with one button; it is there while no session goes on."""

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
            tasks = _TASKS | {name: name for name in _own_tasks()}
            self._task = ui.select(tasks, value='press_conflict', label='Task').props('outlined')
            self._button = plain_button('Start a simulated session', self._start)
            self._button.props('data-act=start')
            self._words = text('', 'rl-soft').props('role=status')

    def show(self, snapshot: Snapshot, not_mine: str) -> None:
        """Show the card while no session goes on, and why none can be started."""
        session = snapshot.session
        is_free = session is None or session.state is SessionState.ENDED
        self._card.set_visibility(is_free)
        if not is_free:
            return
        self._button.set_enabled(not not_mine and not self._launcher.is_running)
        if failure := self._launcher.failure():
            self._words.set_text(f'It could not begin: {failure}')
        elif not self._launcher.is_running:
            self._words.set_text(not_mine)
        elif time.monotonic() - self._started_sec < _STARTING_SEC:
            self._words.set_text('The session starts; that takes some seconds.')
        elif session is not None:
            self._words.set_text('The report of the session before is being written.')
        else:
            self._words.set_text('A session was started here, and nothing is heard of it yet.')

    def _start(self) -> None:
        try:
            self._launcher.start(
                SessionParameters(
                    task=str(self._task.value),
                    participant_model=HUMAN,
                    # As with --console: the person consents on the page.
                    consent=EVERY_PASS,
                    sessions=self._sessions,
                    namespace=self._namespace.strip('/'),
                )
            )
            self._started_sec = time.monotonic()
        except RewardLearningError as error:
            self._words.set_text(str(error))


def _own_tasks() -> list[str]:
    """Return the tasks that people wrote into their own folders."""
    _, *folders = task_directories()
    return sorted(file.stem for folder in folders for file in folder.glob('*.yaml'))

"""The operator marks a moment: a key, a note, and how long ago it was."""

from __future__ import annotations

from nicegui import ui

from reward_learning_ros.console.console_node import ConsoleNode
from reward_learning_ros.console.layout import card, plain_button, text
from reward_learning_ros.core.errors import RewardLearningError


class MarkCard:
    """A card that puts marks into the recording of the session that runs."""

    def __init__(self, node: ConsoleNode) -> None:
        self._node = node
        with card('Mark a moment', 'rl-order-4'):
            with ui.element('div').classes('rl-row'):
                self._key = ui.input('Key', value='note').props('outlined dense')
                self._ago_sec = ui.number('Seconds ago', value=0, min=0, max=3600)
                self._ago_sec.props('outlined dense')
            self._note = ui.input('Note').props('outlined dense').on('keydown.enter', self._mark)
            plain_button('Mark', self._mark, 'rl-btn-quiet').props('data-act=mark')
            self._words = text('', 'rl-soft').props('role=status')

    def _mark(self) -> None:
        try:
            self._node.mark(
                str(self._key.value or ''),
                str(self._note.value or ''),
                float(self._ago_sec.value or 0.0),
            )
        except RewardLearningError as error:
            self._words.set_text(str(error))
            return
        self._words.set_text(f'Marked: {self._key.value}')
        self._note.set_value('')

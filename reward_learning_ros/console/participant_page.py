"""The participant's page: what the arm is about to do, and what it has understood."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from nicegui import context, ui

from reward_learning_ros.arm.description import franka_arm
from reward_learning_ros.console.arm_view import ArmView
from reward_learning_ros.console.console_node import ConsoleNode
from reward_learning_ros.console.layout import Banner, begin_page, card, text
from reward_learning_ros.console.meaning import sentences
from reward_learning_ros.console.questions import Questions
from reward_learning_ros.console.situation import Headline, Light, headline
from reward_learning_ros.core.errors import RewardLearningError

# How often it is looked whether a questionnaire is due.
_QUESTIONS_SEC = 3.0

# Said to somebody who knows nothing of states and nodes.
_TITLES = {
    Light.SILENT: 'Nothing to do yet',
    Light.WAITING: 'One moment, please',
    Light.READY: 'The arm is about to show its plan',
    Light.MOVING: 'Push the arm where it goes wrong',
    Light.PUSHED: 'The arm feels your push',
    Light.HELD: 'The arm holds still',
    Light.INFERRING: 'The arm is learning from what you did',
    Light.ENDED: 'That was all. Thank you!',
}
_DETAILS = {
    Light.READY: 'the blue line is the way it will take',
    Light.HELD: 'the operator looks after it',
}


class ParticipantPage:
    """One open page of a participant; nothing on it moves a real arm."""

    def __init__(self, node: ConsoleNode) -> None:
        self._node = node
        self._id = context.client.id
        self._shown = -1
        self._claimed: object = None
        self._second = -1
        begin_page('Participant', has_menu=False)
        self._banner = Banner()
        with ui.element('main').classes('rl-main'):
            with ui.element('div').classes('rl-column'), card(classes='rl-stage rl-order-1'):
                facts = node.snapshot.facts
                on_pull = self._on_pull if node.config.participant_pulls else None
                self._arm = ArmView(franka_arm(prefix=facts.prefix, hand=facts.hand), on_pull)
                self._note = text('', 'rl-stage-note rl-soft')
            with ui.element('div').classes('rl-column'):
                with card('What the arm has understood', 'rl-order-2'):
                    self._claims = ui.element('div').classes('rl-claims')
                self._questions = Questions(Path(node.config.sessions))
        self._update()
        context.client.on_disconnect(lambda: node.release(self._id))
        ui.timer(1.0 / node.config.update_rate, self._update)
        ui.timer(_QUESTIONS_SEC, self._look_for_questions)

    async def _look_for_questions(self) -> None:
        await self._questions.update(self._node.snapshot.facts)

    def _on_pull(self, what: str, details: dict[str, Any]) -> None:
        try:
            if what == 'grab':
                self._node.grab(self._id, str(details.get('link', '')), details.get('hand'))
            elif what == 'drag':
                self._node.drag(self._id, details.get('target'))
            elif what == 'release':
                self._node.release(self._id)
        except RewardLearningError as error:
            self._note.set_text(str(error))

    def _update(self) -> None:
        # Counted before it is looked at: what comes in between is shown the next time.
        changes = self._node.changes
        snapshot, now_sec = self._node.snapshot, time.monotonic()
        self._arm.show_joints(snapshot.joints_rad)
        if changes == self._shown and int(now_sec) == self._second:
            return
        self._second = int(now_sec)
        self._shown = changes
        light = headline(snapshot, now_sec).light
        self._banner.show(
            Headline(light=light, title=_TITLES[light], detail=_DETAILS.get(light, '')),
            '' if snapshot.session is None else f'pass {snapshot.session.passes}',
        )
        self._arm.show_path('plan', snapshot.plan)
        self._arm.show_drawing(snapshot.drawing)
        if self._node.config.participant_pulls:
            self._arm.allow_pull(not self._node.pull_obstacle())
        known = snapshot.prior, snapshot.theta
        if known == self._claimed:
            return
        self._claimed = known
        self._claims.clear()
        with self._claims:
            for claim in sentences(*known) or ('Nothing yet.',):
                text(claim, 'rl-text')

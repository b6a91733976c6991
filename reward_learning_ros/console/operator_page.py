"""The operator's page: what goes on, what is possible, what was learned."""

from __future__ import annotations

import asyncio
import datetime
import time
from functools import partial
from typing import Any

from nicegui import context, ui

from reward_learning_ros.arm.description import franka_arm
from reward_learning_ros.console.arm_view import ArmView, build_legend
from reward_learning_ros.console.console_node import ConsoleNode
from reward_learning_ros.console.control import ControlDesk
from reward_learning_ros.console.force_bar import ForceBar
from reward_learning_ros.console.launcher import SessionLauncher
from reward_learning_ros.console.layout import (
    Banner,
    Lights,
    begin_page,
    card,
    plain_button,
    text,
)
from reward_learning_ros.console.meaning import sentences
from reward_learning_ros.console.situation import (
    Act,
    headline,
    inference_judgements,
    node_judgements,
    passes_text,
    possibilities,
)
from reward_learning_ros.console.snapshot import LogEvent, Snapshot
from reward_learning_ros.console.start_card import StartCard
from reward_learning_ros.console.theta_view import ThetaView
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import Level

# What each button says, in the order in which they stand; the first is the one that is used most.
_BUTTONS = (
    (Act.BEGIN, 'Begin pass', '', 'rl-act-first'),
    (Act.PAUSE, 'Pause', 'rl-btn-warning', ''),
    (Act.CONTINUE, 'Continue', '', ''),
    (Act.STOP, 'Stop the motion', 'rl-btn-negative', ''),
    (Act.HOME, 'Send home', '', ''),
    (Act.UNDO, 'Undo last pass', 'rl-btn-quiet', ''),
    (Act.ACCEPT, 'Accept the plan', 'rl-btn-positive', ''),
    (Act.RECOVER, 'Recover the arm', 'rl-btn-quiet', ''),
    (Act.ZERO, 'Nobody touches it', 'rl-btn-quiet', ''),
    (Act.FINISH, 'Finish session', 'rl-btn-quiet', ''),
)
# Ending a session cannot be undone.
_ASKED_TWICE = {
    Act.FINISH: 'End this session now?',
    Act.ACCEPT: 'Accept the plan that is shown? This ends the session.',
}
_CONSENT_WORDS = {
    'every_pass': 'Each pass needs your consent.',
    'first_pass': 'The first pass needs your consent, and the next one after every stop.',
    'none': 'The session gives each consent itself; you may pause it.',
}
_SHOWN_EVENTS = 60


class OperatorPage:
    """The operator's page: state of the session, consents, arm and θ."""

    def __init__(self, node: ConsoleNode, desk: ControlDesk, launcher: SessionLauncher) -> None:
        self._node = node
        self._launcher = launcher
        self._desk = desk
        self._id = context.client.id
        self._shown = -1
        self._shown_event: LogEvent | None = None
        self._second = -1
        self._obstacles: dict[Act, str | None] = dict.fromkeys(Act)
        self._buttons: dict[Act, tuple[ui.button, ui.label]] = {}
        self._build()
        # The page is true from its first moment.
        self._update()
        context.client.on_connect(lambda: desk.join(self._id))
        context.client.on_disconnect(self._leave)
        ui.timer(1.0 / node.config.update_rate, self._update)

    def _build(self) -> None:
        with begin_page('Session', here='/'):
            self._who = text('', 'rl-who')
            self._take = plain_button('Take control', self._take_control, 'rl-btn-quiet')
            self._take.set_visibility(False)
        self._banner = Banner()
        with ui.element('main').classes('rl-main'):
            with ui.element('div').classes('rl-column'):
                self._build_stage()
                with card('Log', 'rl-order-6'):
                    self._log = ui.element('div').classes('rl-log')
            with ui.element('div').classes('rl-column'):
                self._start = StartCard(
                    self._launcher, self._node.config.sessions, self._node.get_namespace()
                )
                self._build_acts()
                with card('What was learned (θ)', 'rl-order-3'):
                    self._theta = ThetaView()
                    self._claims = ui.element('div').classes('rl-lights')
                    self._claimed: object = None
                MarkCard(self._node)
                with card('How well it goes', 'rl-order-4'):
                    self._quality = Lights()
                with card('Nodes', 'rl-order-5'):
                    self._nodes = Lights()

    def _build_stage(self) -> None:
        with card(classes='rl-stage rl-order-1'):
            facts = self._node.snapshot.facts
            self._arm = ArmView(franka_arm(prefix=facts.prefix, hand=facts.hand), self._on_pull)
            self._force = ForceBar(self._arm)
            self._pull_note = text('', 'rl-stage-note rl-soft').props('role=status')
            build_legend()

    def _build_acts(self) -> None:
        with card('What you can do', 'rl-order-2') as self._acts:
            self._consent = text('', 'rl-soft')
            with ui.element('div').classes('rl-acts'):
                for act, words, color, place in _BUTTONS:
                    with ui.element('div').classes(f'rl-act {place}'):
                        button = plain_button(words, partial(self._ask, act), color)
                        button.props(f'data-act={act.name.lower()}')
                        self._buttons[act] = button, text('', 'rl-reason')
            text(
                'Stop brings the arm to rest and gives the pass up. It is not the emergency stop: '
                'that is the button in your hand.',
                'rl-soft',
            )
            self._answer = text('', 'rl-answer').props('role=status aria-live=polite')
            self._answer.set_visibility(False)

    def _leave(self) -> None:
        self._node.release(self._id)
        self._desk.leave(self._id)

    async def _take_control(self) -> None:
        if self._desk.take(self._id):
            # What the operator before consented to, and is not yet in motion, is gone.
            await self._do(Act.HAND_OVER)

    async def _ask(self, act: Act) -> None:
        question = _ASKED_TWICE.get(act)
        if question is not None and not await _confirmed(question):
            return
        await self._do(act)

    async def _do(self, act: Act) -> None:
        if obstacle := self._desk.obstacle(self._id):
            self._tell(obstacle, is_bad=True)
            return
        self._tell('asked; waiting for an answer …')
        try:
            is_granted, words = await asyncio.wait_for(
                asyncio.wrap_future(self._node.ask(act)), self._node.answer_sec(act)
            )
        except asyncio.TimeoutError:
            self._tell(f'{act.value} did not answer', is_bad=True)
            return
        self._tell(words or 'done' if is_granted else f'refused: {words}', is_bad=not is_granted)

    def _tell(self, words: str, *, is_bad: bool = False) -> None:
        self._answer.set_visibility(True)
        self._answer.set_text(words)
        self._answer.classes(
            **({'add': 'rl-answer-bad'} if is_bad else {'remove': 'rl-answer-bad'})
        )

    def _on_pull(self, what: str, details: dict[str, Any]) -> None:
        try:
            if what == 'grab':
                self._node.grab(self._id, str(details.get('link', '')), details.get('hand'))
                self._pull_note.set_text('')
            elif what == 'drag':
                self._node.drag(self._id, details.get('target'))
            elif what == 'release':
                self._node.release(self._id)
        except RewardLearningError as error:
            self._pull_note.set_text(str(error))

    def _update(self) -> None:
        # Counted before it is looked at: what comes in between is shown the next time.
        changes = self._node.changes
        snapshot, now_sec = self._node.snapshot, time.monotonic()
        self._arm.show_joints(snapshot.joints_rad)
        self._force.show(snapshot, self._node.frames, self._node.pull_force)
        # Ages of nodes change also where nothing was heard.
        if changes == self._shown and int(now_sec) == self._second:
            return
        self._second = int(now_sec)
        self._shown = changes
        self._banner.show(headline(snapshot, now_sec), passes_text(snapshot))
        self._update_header(snapshot)
        self._update_acts(snapshot, now_sec)
        self._arm.show_path('plan', snapshot.plan)
        self._arm.show_path('previous', snapshot.previous_plan)
        self._arm.show_path('ideal', snapshot.ideal)
        self._arm.show_drawing(snapshot.drawing)
        self._theta.show(snapshot)
        self._update_claims(snapshot)
        self._quality.show(inference_judgements(snapshot))
        self._nodes.show(node_judgements(snapshot, now_sec))
        self._update_log(snapshot)

    def _update_header(self, snapshot: Snapshot) -> None:
        facts = snapshot.facts
        whose = ' / '.join(part for part in (facts.study, facts.participant, facts.trial) if part)
        parts = [part for part in (whose, facts.task) if part]
        self._who.set_text(' · '.join([*parts, self._desk.text(self._id)]))
        self._take.set_visibility(bool(self._desk.obstacle(self._id)))
        self._consent.set_text(_CONSENT_WORDS.get(facts.consent, ''))

    def _update_acts(self, snapshot: Snapshot, now_sec: float) -> None:
        not_mine = self._desk.obstacle(self._id)
        self._start.show(snapshot, not_mine)
        self._acts.set_visibility(snapshot.session is not None)
        for act, possibility in possibilities(snapshot, now_sec).items():
            if act not in self._buttons:
                continue
            obstacle = not_mine or possibility.obstacle
            if obstacle == self._obstacles[act]:
                continue
            self._obstacles[act] = obstacle
            button, reason = self._buttons[act]
            button.set_enabled(not obstacle)
            reason.set_text(obstacle)
        pull_obstacle = self._node.pull_obstacle()
        self._arm.allow_pull(not pull_obstacle)
        if pull_obstacle:
            self._pull_note.set_text(f'Not to be pulled here: {pull_obstacle}.')
        elif not self._pull_note.text or self._pull_note.text.startswith('Not to be'):
            self._pull_note.set_text(
                'Drag the hand, or any link, with the mouse to pull the arm. Drag beside it to '
                'look around.'
            )

    def _update_claims(self, snapshot: Snapshot) -> None:
        known = snapshot.prior, snapshot.theta
        if known == self._claimed:
            return
        self._claimed = known
        self._claims.clear()
        with self._claims:
            for claim in sentences(*known):
                text(claim, 'rl-soft')

    def _update_log(self, snapshot: Snapshot) -> None:
        events = snapshot.events
        if not events or events[-1] is self._shown_event:
            return
        is_new = True
        fresh: list[LogEvent] = []
        for event in reversed(events[-_SHOWN_EVENTS:]):
            if event is self._shown_event:
                is_new = False
                break
            fresh.append(event)
        self._shown_event = events[-1]
        if is_new:
            self._log.clear()
        for event in reversed(fresh):
            with self._log:
                self._line(event).move(target_index=0)
        children = list(self._log.default_slot.children)
        for child in children[_SHOWN_EVENTS:]:
            child.delete()

    def _line(self, event: LogEvent) -> ui.element:
        classes = {Level.WARN: 'rl-event-warn', Level.ERROR: 'rl-event-error'}.get(event.level, '')
        with ui.element('div').classes(f'rl-event {classes}') as line:
            moment = datetime.datetime.fromtimestamp(event.time_sec)
            text(f'{moment:%H:%M:%S}', 'rl-event-time')
            text(event.node, 'rl-event-node')
            text(event.text, 'rl-event-text')
        return line


async def _confirmed(question: str) -> bool:
    with ui.dialog() as dialog, card():
        text(question, 'rl-text')
        with ui.element('div').classes('rl-row'):
            plain_button('Yes', lambda: dialog.submit(True))
            plain_button('No', lambda: dialog.submit(False), 'rl-btn-quiet')
    answer = await dialog
    dialog.delete()
    return bool(answer)


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

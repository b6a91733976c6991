"""A finished session on the page, read-only: a slider through the recording, and the report."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from urllib.parse import quote

from nicegui import run, ui

from reward_learning_ros.arm.chain import LinkFrames
from reward_learning_ros.arm.description import franka_arm
from reward_learning_ros.console.arm_view import ArmView, build_legend
from reward_learning_ros.console.finished_session import (
    FinishedSession,
    finished_sessions,
    folder_named,
)
from reward_learning_ros.console.force_bar import ForceBar
from reward_learning_ros.console.layout import Banner, Lights, begin_page, card, plain_button, text
from reward_learning_ros.console.meaning import sentences
from reward_learning_ros.console.situation import headline, inference_judgements, passes_text
from reward_learning_ros.console.theta_view import ThetaView
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.session.folder import SessionFolder

# No node was silent in a recording that one looks at afterwards.
_NO_TIME_SEC = 0.0
_STEP_SEC = 0.05


def build_recordings_page(sessions: Path, name: str) -> None:
    """Build the page that lists recorded sessions, or shows one of them."""
    begin_page('Recordings', here='/recordings')
    if not name:
        _list(sessions)
        return
    holder = ui.element('div').classes('rl-column')
    with holder, ui.element('main').classes('rl-narrow'):
        words = text('The recording is being read.', 'rl-big')

    async def load() -> None:
        try:
            folder = folder_named(sessions, name)
            finished = await run.io_bound(FinishedSession, folder)
        except RewardLearningError as error:
            words.set_text(f'It cannot be shown: {error}')
            return
        holder.clear()
        with holder:
            _Replay(finished, folder, name)

    ui.timer(0.01, load, once=True)


def _list(sessions: Path) -> None:
    with ui.element('main').classes('rl-narrow'), card('Recordings'):
        names = finished_sessions(sessions)
        if not names:
            text(f'There is none in {sessions.absolute()} yet.')
        for name in reversed(names):
            with ui.element('div').classes('rl-row rl-trial'):
                is_complete = SessionFolder(path=sessions / name).is_complete
                text(name, 'rl-feature')
                text('' if is_complete else 'not concluded', 'rl-soft')
                ui.element('div').classes('rl-spacer')
                plain_button('Open', partial(_open, name))


def _open(name: str) -> None:
    ui.navigate.to(f'/recordings?session={quote(name)}')


class _Replay:
    """The slider and what it moves."""

    def __init__(self, finished: FinishedSession, folder: SessionFolder, name: str) -> None:
        self._finished = finished
        self._banner = Banner()
        facts = finished.facts
        with ui.element('main').classes('rl-main'):
            with ui.element('div').classes('rl-column'):
                with card(classes='rl-stage rl-order-1'):
                    description = franka_arm(prefix=facts.prefix, hand=facts.hand)
                    self._frames = LinkFrames(description)
                    self._arm = ArmView(description)
                    self._force = ForceBar(self._arm)
                    with ui.element('div').classes('rl-force'):
                        self._button = plain_button('Play', self._toggle)
                        self._slider = ui.slider(
                            min=0.0,
                            max=max(finished.duration_sec, _STEP_SEC),
                            step=_STEP_SEC,
                            value=finished.duration_sec,
                            on_change=self._show,
                        ).props('aria-label="time in the recording"')
                        self._time = text('', 'rl-number').props('data-time')
                    build_legend()
                if folder.report.is_file():
                    with card('Report', 'rl-order-4'):
                        ui.link(
                            'Open the report', f'/recordings/report?session={quote(name)}', True
                        )
            with ui.element('div').classes('rl-column'):
                with card('What was learned (θ)', 'rl-order-2'):
                    self._theta = ThetaView()
                    self._claims = text('', 'rl-soft')
                with card('How well it went', 'rl-order-3'):
                    self._quality = Lights()
        self._timer = ui.timer(0.1, self._advance, active=False)
        self._show()

    def _toggle(self) -> None:
        if not self._timer.active and self._slider.value >= self._finished.duration_sec:
            self._slider.set_value(0.0)
        self._timer.active = not self._timer.active
        self._button.set_text('Pause' if self._timer.active else 'Play')

    def _advance(self) -> None:
        time_sec = self._slider.value + self._timer.interval
        self._slider.set_value(min(time_sec, self._finished.duration_sec))
        if time_sec >= self._finished.duration_sec:
            self._toggle()

    def _show(self) -> None:
        time_sec = float(self._slider.value)
        snapshot = self._finished.at(time_sec)
        self._time.set_text(f'{time_sec:.1f} s')
        self._banner.show(headline(snapshot, _NO_TIME_SEC), passes_text(snapshot))
        self._arm.show_joints(snapshot.joints_rad)
        self._arm.show_path('plan', snapshot.plan)
        self._arm.show_path('previous', snapshot.previous_plan)
        self._arm.show_path('ideal', snapshot.ideal)
        self._arm.show_drawing(snapshot.drawing)
        self._force.show(snapshot, self._frames)
        self._theta.show(snapshot)
        self._claims.set_text('; '.join(sentences(snapshot.prior, snapshot.theta)))
        self._quality.show(inference_judgements(snapshot))

"""The study on the page: whose turn it is, start a trial, note what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from urllib.parse import quote

from nicegui import run, ui

from reward_learning_ros.console.analysis import analyse, report_of, studies
from reward_learning_ros.console.console_node import ConsoleNode
from reward_learning_ros.console.launcher import SessionLauncher
from reward_learning_ros.console.layout import begin_page, card, plain_button, text
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import SessionState
from reward_learning_ros.parameters import from_mapping
from reward_learning_ros.parameters.shared import SIMULATED
from reward_learning_ros.session.node_parameters import EVERY_PASS
from reward_learning_ros.session.session_parameters import SessionParameters
from reward_learning_ros.study.desk import mark_trial, session_values
from reward_learning_ros.study.ledger import (
    ABORTED,
    DONE,
    EXCLUDED,
    RUNNING,
    Ledger,
    TrialRecord,
)

_PERIOD_SEC = 2.0
_MARKS = ((DONE, 'Done'), (ABORTED, 'Aborted'), (EXCLUDED, 'Exclude'))


class StudyPage:
    """One open page; the ledger is read again whenever it changed."""

    def __init__(self, node: ConsoleNode, launcher: SessionLauncher) -> None:
        self._node = node
        self._launcher = launcher
        self._sessions = Path(node.config.sessions)
        self._shown: object = None
        begin_page('Study', here='/study')
        with ui.element('main').classes('rl-narrow'):
            with card('Study'):
                names = studies(self._sessions)
                if not names:
                    text(f'There is no study in {self._sessions.absolute()} yet. Begin one with')
                    text('reward_learning study new NAME --participant-model human', 'rl-soft')
                self._study = ui.select(
                    names, value=names[0] if names else None, label='Study', on_change=self._again
                ).props('outlined')
                self._study.set_visibility(bool(names))
                self._who = ui.select([], label='Participant', on_change=self._again)
                self._who.props('outlined')
                text(
                    'Names here are pseudonyms. Who is behind one is written down elsewhere, and '
                    'is not the business of this page.',
                    'rl-soft',
                )
            self._body = ui.element('div').classes('rl-column')
            with card('Analysis') as self._analysis:
                text(
                    'Tables, tests and figures of the trials that are done, as '
                    '`reward_learning study analyse` writes them.',
                    'rl-soft',
                )
                with ui.element('div').classes('rl-row'):
                    self._analyse_button = plain_button('Analyse', self._analyse)
                    self._analyse_button.props('data-act=analyse')
                    self._report = ui.link('Open the report', '', True).classes('rl-report')
                self._words = text('', 'rl-soft').props('role=status')
        self._again()
        ui.timer(_PERIOD_SEC, self._update)

    def _ledger(self) -> Ledger | None:
        return Ledger(self._sessions / self._study.value) if self._study.value else None

    def _again(self) -> None:
        self._shown = None
        self._update()

    def _update(self) -> None:
        ledger = self._ledger()
        self._analysis.set_visibility(ledger is not None)
        if ledger is None:
            return
        records = ledger.records()
        self._who.set_options(list(records), value=self._who.value or next(iter(records), None))
        found = records.get(self._who.value, ())
        is_busy = self._is_busy()
        if (found, is_busy) == self._shown:
            return
        self._shown = found, is_busy
        self._update_analysis(records)
        self._body.clear()
        with self._body, card(f'Trials of {self._who.value}'):
            for record in found:
                self._row(ledger, record, is_busy)

    def _update_analysis(self, records: Mapping[str, Sequence[TrialRecord]]) -> None:
        is_done = any(record.state == DONE for found in records.values() for record in found)
        self._analyse_button.set_enabled(is_done)
        if not is_done:
            self._words.set_text('No trial is done yet.')
        elif self._words.text == 'No trial is done yet.':
            self._words.set_text('')
        study = str(self._study.value)
        self._report.set_visibility(report_of(self._sessions, study).is_file())
        self._report.props(f'href="/study/report?study={quote(study)}"')

    async def _analyse(self) -> None:
        self._words.set_text('The study is being analysed; that takes some seconds.')
        try:
            await run.io_bound(analyse, self._sessions, str(self._study.value))
        except RewardLearningError as error:
            self._words.set_text(str(error))
            return
        self._words.set_text('')
        self._again()

    def _is_busy(self) -> bool:
        session = self._node.snapshot.session
        is_heard = session is not None and session.state is not SessionState.ENDED
        return self._launcher.is_running or (is_heard and bool(self._node.snapshot.beats))

    def _row(self, ledger: Ledger, record: TrialRecord, is_busy: bool) -> None:
        trial = record.trial
        with ui.element('div').classes('rl-row rl-trial').props(f'data-trial={trial.number}'):
            text(f'{trial.number}', 'rl-number')
            text(f'{trial.goal.task}, {trial.condition.name}', 'rl-feature')
            text(record.state + (f': {record.reason}' if record.reason else ''), 'rl-soft')
            ui.element('div').classes('rl-spacer')
            is_next = self._is_next(ledger, record)
            if is_next:
                button = plain_button('Start', partial(self._start, ledger, record))
                button.props('data-act=start-trial').set_enabled(not is_busy)
            if record.state == RUNNING:
                for state, words in _MARKS:
                    quiet = '' if state == DONE else 'rl-btn-quiet'
                    button = plain_button(words, partial(self._mark, ledger, record, state), quiet)
                    button.props(f'data-act=mark-{state}').set_enabled(not is_busy)

    def _is_next(self, ledger: Ledger, record: TrialRecord) -> bool:
        try:
            return ledger.next(record.trial.participant).trial == record.trial
        except RewardLearningError:
            return False

    def _start(self, ledger: Ledger, record: TrialRecord) -> None:
        try:
            started = ledger.start(record.trial.participant)
            self._launcher.start(session_of(ledger, started, self._sessions))
        except RewardLearningError as error:
            ui.notify(str(error), type='negative')
            return
        ui.navigate.to('/')

    async def _mark(self, ledger: Ledger, record: TrialRecord, state: str) -> None:
        reason = '' if state == DONE else await _reason(state)
        if reason is None:
            return
        trial = record.trial
        try:
            mark_trial(ledger, trial.participant, trial.number, state, reason)
        except RewardLearningError as error:
            ui.notify(str(error), type='negative')
        self._again()


async def _reason(state: str) -> str | None:
    with ui.dialog() as dialog, card():
        text(f'Why is it {state}?')
        field = ui.input('Reason').props('outlined autofocus')
        with ui.element('div').classes('rl-row'):
            plain_button('Note it', lambda: dialog.submit(field.value))
            plain_button('Cancel', lambda: dialog.submit(None), 'rl-btn-quiet')
    answer = await dialog
    dialog.delete()
    return None if answer is None else str(answer)


def session_of(
    ledger: Ledger, record: TrialRecord, sessions: Path, namespace: str = ''
) -> SessionParameters:
    """Return the session of a trial; a person who pulls a simulated arm consents on the page.

    Raises:
        InvalidInputError: The protocol says something that no session can do.
    """
    values = session_values(ledger, record, sessions)
    config = from_mapping(SessionParameters, values | {'namespace': namespace})
    if config.arm != SIMULATED or config.has_simulated_participant:
        return config
    person = {'consent': config.consent or EVERY_PASS, 'namespace': namespace}
    return from_mapping(SessionParameters, values | person)

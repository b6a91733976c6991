"""The questionnaires that are due, on the participant's page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nicegui import run, ui

from reward_learning_ros.console.layout import card, plain_button, text
from reward_learning_ros.console.snapshot import SessionFacts
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.study.answering import DueQuestionnaire, answer, due_questionnaires
from reward_learning_ros.study.ledger import PROTOCOL_FILE, Ledger
from reward_learning_ros.study.questionnaires import Item, pair_key


class Questions:
    """A place on a page where the next questionnaire appears when it is due."""

    def __init__(self, sessions: Path) -> None:
        self._sessions = sessions
        self._box = ui.element('div').classes('rl-column rl-order-3')
        self._shown: tuple[object, ...] = ()
        self._fields: dict[str, Any] = {}

    async def update(self, facts: SessionFacts) -> None:
        """Show what is due for the participant of a session; nothing outside a study."""
        folder = self._sessions / facts.study
        due: tuple[DueQuestionnaire, ...] = ()
        if facts.study and (folder / PROTOCOL_FILE).is_file():
            try:
                due = await run.io_bound(due_questionnaires, Ledger(folder), facts.participant)
            except RewardLearningError:
                # The operator's pages tell what is wrong with a study.
                due = ()
        key = (facts.study, *((each.questionnaire.name, each.record) for each in due[:1]))
        if key == self._shown:
            return
        self._shown = key
        self._box.clear()
        self._fields = {}
        if due:
            with self._box:
                self._build(Ledger(folder), due[0])

    def _build(self, ledger: Ledger, due: DueQuestionnaire) -> None:
        questionnaire = due.questionnaire
        with card(questionnaire.title):
            if questionnaire.instructions:
                text(questionnaire.instructions)
            for item in questionnaire.items:
                self._ask(item)
            if questionnaire.pairs:
                text(questionnaire.comparisons)
            for pair in questionnaire.pairs:
                options = {each.key: each.label for each in pair}
                self._fields[pair_key(pair)] = ui.radio(options).props('inline')
            words = text('', 'rl-answer rl-answer-bad').props('role=alert')
            words.set_visibility(False)

            async def send() -> None:
                answers = {
                    key: field.value
                    for key, field in self._fields.items()
                    if field.value not in (None, '')
                }
                try:
                    await run.io_bound(answer, ledger, due.record, questionnaire.name, answers)
                except RewardLearningError as error:
                    words.set_visibility(True)
                    words.set_text(str(error))
                    return
                self._box.clear()
                with self._box, card():
                    text('Thank you.', 'rl-big')

            plain_button('Send', send).props('data-act=answer')

    def _ask(self, item: Item) -> None:
        with ui.element('div').classes('rl-question').props(f'data-item={item.key}'):
            text(item.text)
            if item.scale is None:
                field: Any = ui.input().props('outlined autogrow maxlength=2000')
            else:
                # Nothing is chosen beforehand: a slider would suggest its middle.
                field = ui.radio({value: f'{value:g}' for value in item.scale.values})
                field.props('inline')
                ends = (item.scale.low_label, item.scale.high_label)
                if any(ends):
                    text(' … '.join(ends), 'rl-soft')
            field.props(f'aria-label={item.key}')
        self._fields[item.key] = field

"""What `study` does beyond its list of trials: answers to questionnaires, and analysis."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reward_learning_ros.core.errors import InvalidInputError

if TYPE_CHECKING:
    from reward_learning_ros.interface import QuestionnaireAnswers
    from reward_learning_ros.study.answering import DueQuestionnaire
    from reward_learning_ros.study.ledger import Ledger
    from reward_learning_ros.study.questionnaires import Questionnaire

ANSWERING = ('consent', 'due', 'answer')


def add_answering(action: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the actions that record questionnaire answers and marks to `study`."""
    consent = action('consent', 'note that a participant consented to a document')
    consent.add_argument('participant', metavar='PARTICIPANT')
    consent.add_argument('version', metavar='VERSION', help='of the document')
    consent.add_argument(
        'document', type=Path, metavar='DOCUMENT', help='the file; only its hash is kept'
    )
    due = action('due', 'tell which questionnaires a participant should answer now')
    due.add_argument('participant', metavar='PARTICIPANT')
    answer = action('answer', 'put the answers to a questionnaire into the recording of a trial')
    answer.add_argument('participant', metavar='PARTICIPANT')
    answer.add_argument('trial', type=int, metavar='TRIAL', help='its number')
    answer.add_argument('questionnaire', metavar='QUESTIONNAIRE')
    answer.add_argument(
        'answers',
        nargs='*',
        metavar='ITEM=ANSWER',
        help='of a pair, FIRST:SECOND=CHOSEN; without any, a terminal is asked one by one',
    )
    answer.add_argument(
        '--namespace', default='', help='ROS namespace of a session that is still recorded'
    )


def run_answering(options: argparse.Namespace, ledger: Ledger) -> tuple[Any, str]:
    """Do what was asked for; return what to print as JSON, and as text.

    Raises:
        RewardLearningError: It cannot be done; says why.
    """
    if options.action == 'consent':
        return _consent(options, ledger)
    if options.action == 'due':
        return _due(options, ledger)
    return _answer(options, ledger)


def _consent(options: argparse.Namespace, ledger: Ledger) -> tuple[Any, str]:
    try:
        document = options.document.read_bytes()
    except OSError as error:
        raise InvalidInputError(f'{options.document} cannot be read: {error.strerror}') from error
    given = ledger.consent(options.participant, options.version, document)
    content = {
        'participant': given.participant,
        'version': given.version,
        'sha256': given.sha256,
        'time': given.time,
    }
    return content, f'{given.participant}: version {given.version}, {given.time}, {given.sha256}'


def _due(options: argparse.Namespace, ledger: Ledger) -> tuple[Any, str]:
    from reward_learning_ros.study.answering import due_questionnaires

    found = due_questionnaires(ledger, options.participant)
    content = [
        {
            'participant': options.participant,
            'trial': each.record.trial.number,
            'questionnaire': each.questionnaire.name,
            'due': each.due,
            'answers': list(each.questionnaire.answer_keys),
        }
        for each in found
    ]
    return content, '\n'.join(map(_due_text, found)) or 'nothing is due'


def _due_text(due: DueQuestionnaire) -> str:
    trial = due.record.trial
    when = due.due.replace('_', ' ')
    return (
        f'{trial.participant}, trial {trial.number}: {due.questionnaire.name} '
        f'({due.questionnaire.title}), {when}'
    )


def _answer(options: argparse.Namespace, ledger: Ledger) -> tuple[Any, str]:
    from reward_learning_ros.study.answering import answer
    from reward_learning_ros.study.questionnaire_files import load_questionnaire

    record = ledger.record(options.participant, options.trial)
    questionnaire = load_questionnaire(options.questionnaire, ledger.folder)
    answers: dict[str, str] = {}
    for text in options.answers:
        key, equals, value = text.partition('=')
        if not equals:
            raise InvalidInputError(f'{text!r} must be ITEM=ANSWER')
        answers[key] = value
    if not answers and sys.stdin.isatty():
        answers = _asked(questionnaire)

    def publish(said: QuestionnaireAnswers) -> None:
        from reward_learning_ros.cli._temporary_node import publish_record

        publish_record(said, options.namespace)

    said = answer(ledger, record, questionnaire.name, answers, publish=publish)
    scores = questionnaire.scored(said.answers)
    content = {
        'participant': said.participant,
        'trial': said.trial,
        'questionnaire': said.questionnaire,
        'answers': dict(said.answers),
        'scores': scores,
    }
    labels = {score.key: score.label for score in questionnaire.scores}
    told = ', '.join(f'{labels[key]} {value:.4g}' for key, value in scores.items())
    return content, f'{said.participant}, trial {said.trial}: {told or "recorded"}'


def _asked(questionnaire: Questionnaire) -> dict[str, str]:
    """Ask a terminal for each answer."""
    from reward_learning_ros.study.questionnaires import pair_key

    if questionnaire.instructions:
        print(questionnaire.instructions)
    answers = {}
    for item in questionnaire.items:
        hint = ''
        if item.scale is not None:
            low, high = (f'{value:g}' for value in (item.scale.low, item.scale.high))
            hint = f' [{low} {item.scale.low_label} … {high} {item.scale.high_label}]'
        answers[item.key] = input(f'{item.text}{hint} ')
    if questionnaire.pairs:
        print(questionnaire.comparisons)
    for pair in questionnaire.pairs:
        first, second = pair
        chosen = input(f'1 {first.label}, 2 {second.label}: ')
        answers[pair_key(pair)] = {'1': first.key, '2': second.key}.get(chosen, chosen)
    return answers


def analyse(options: argparse.Namespace, ledger: Ledger) -> None:
    """Write tables, results and the report of a study, and print the results.

    Raises:
        RewardLearningError: Nothing is done yet, or something cannot be read or written.
    """
    from reward_learning_ros.core.text import counted
    from reward_learning_ros.figures.run_report import write_run, write_text
    from reward_learning_ros.study.analysis_report import analysis_report
    from reward_learning_ros.study.statistics_tables import FORMATS, write_rows
    from reward_learning_ros.study.tidy import theta_rows, trial_rows
    from reward_learning_ros.study.trial_analysis import analyse_trials
    from reward_learning_ros.study.trial_answers import (
        read_trial_answers,
        score_measures,
        score_rows,
        study_answer_rows,
        study_mark_rows,
        with_scores,
    )

    folder = ledger.folder / 'analysis' if options.output is None else options.output
    records = read_trial_answers(ledger)
    scores = score_rows(ledger, records)
    rows = with_scores(trial_rows(ledger), scores)
    analyses = analyse_trials(ledger.protocol, rows, score_measures(ledger))
    tables = {'trials': rows, 'theta': theta_rows(ledger)}
    said = {
        'scores': scores,
        'answers': study_answer_rows(records),
        'marks': study_mark_rows(records),
    }
    for name, table in {**tables, **{name: each for name, each in said.items() if each}}.items():
        for suffix in FORMATS:
            write_rows(table, folder / f'{name}{suffix}')
    results = {analysis.column: analysis.to_mapping() for analysis in analyses}
    write_text(folder / 'results.json', json.dumps(results, indent=2) + '\n')
    page = write_run(analysis_report(ledger.protocol, rows, analyses), folder)
    if options.json:
        print(json.dumps({'report': str(page), 'measures': results}, indent=2))
        return
    for analysis in analyses:
        people = counted(len(analysis.participants), 'participant')
        print(f'{analysis.label} ({people} with all trials)')
        for cell in analysis.cells:
            if not cell.goal:
                where = cell.condition or 'all conditions'
                print(f'  {where}: {cell.mean:.3f} ± {cell.half:.3f}')
        model = analysis.model.coefficients[1:] if analysis.model else ()
        for result in (*analysis.effects, *analysis.comparisons, *model):
            print(f'  {result}')
        for remark in analysis.remarks:
            print(f'  {remark}')
    print(page)

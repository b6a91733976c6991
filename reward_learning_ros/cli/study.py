"""Run a study: who does what next, what became of it, and what came out."""

from __future__ import annotations

import argparse
import json
import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reward_learning_ros.cli._study_commands import ANSWERING, add_answering, run_answering
from reward_learning_ros.core.errors import InvalidInputError

if TYPE_CHECKING:
    from reward_learning_ros.study.ledger import Ledger, TrialRecord

NAME = 'study'
HELP = 'plan, run and analyse a user study'

_CONDITIONS = ('dependent=double_mh/dependent', 'independent=double_mh/independent')
_TASKS = ('press', 'reach', 'push_study')
_MAX_PARTICIPANTS = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    _add_sessions(parser, default=Path('sessions'))
    actions = parser.add_subparsers(dest='action', metavar='ACTION', required=True)

    def action(name: str, text: str) -> argparse.ArgumentParser:
        added = actions.add_parser(name, help=text, description=f'{text[0].upper()}{text[1:]}.')
        added.add_argument('study', metavar='STUDY', help='name of the study')
        added.add_argument('--json', action='store_true', help='print JSON')
        # After the action too, as `session` takes it; only what is given there counts.
        _add_sessions(added, default=argparse.SUPPRESS)
        return added

    new = action('new', 'begin a study: write its protocol, which may then be edited')
    new.add_argument(
        '--tasks',
        nargs='+',
        default=_TASKS,
        metavar='TASK[/PRESET]',
        help=f'tasks, each with the θ to be taught (default: {" ".join(_TASKS)}, first presets)',
    )
    new.add_argument(
        '--conditions',
        nargs='+',
        default=_CONDITIONS,
        metavar='NAME=METHOD/DEPENDENCE[/MODE]',
        help=f'what is compared (default: {" ".join(_CONDITIONS)})',
    )
    new.add_argument(
        '--participants',
        nargs='+',
        default=['12'],
        metavar='NAME',
        help='names, not the real ones; or a number, for p01, p02 … (default: 12)',
    )
    new.add_argument(
        '--blocks', default='task', help='what stays together: task or condition (default: task)'
    )
    new.add_argument('--arm', default='simulated', help='simulated or franka')
    new.add_argument(
        '--participant-model', default='simulated', help='human, or simulated for a rehearsal'
    )
    new.add_argument(
        '--consent',
        default='',
        help='before which passes a person lets the arm move: every_pass or first_pass',
    )
    new.add_argument(
        '--questionnaires',
        nargs='+',
        default=(),
        metavar='NAME[=WHEN]',
        help='what participants are asked, after_trial, after_condition or at_end (default: none; '
        'each at the time that its file names)',
    )
    new.add_argument(
        '--informed-consent',
        default='',
        metavar='VERSION',
        help='version of the document that participants must have consented to first',
    )
    new.add_argument('--seed', type=int, default=0, help='of all random numbers')
    enrol = action('enrol', 'add a participant to a study under way')
    enrol.add_argument('participant', metavar='PARTICIPANT')
    following = action('next', 'tell which trial comes next, and the command that runs it')
    following.add_argument('participant', nargs='?', help='whose (default: who is free first)')
    following.add_argument('--start', action='store_true', help='also mark it as running')
    mark = action('mark', 'note what became of a trial')
    mark.add_argument('participant', metavar='PARTICIPANT')
    mark.add_argument('trial', type=int, metavar='TRIAL', help='its number')
    mark.add_argument('state', help='planned, running, done, aborted or excluded')
    mark.add_argument('--reason', default='', help='why; needed for aborted and excluded')
    add_answering(action)
    action('status', 'show all participants and their trials')
    analyse = action('analyse', 'write tables, tests, figures and a report of what is done')
    analyse.add_argument(
        '--output', type=Path, metavar='FOLDER', help='(default: analysis, in the study)'
    )


def _add_sessions(parser: argparse.ArgumentParser, default: Any) -> None:
    parser.add_argument(
        '--sessions',
        type=Path,
        default=default,
        metavar='FOLDER',
        help='where sessions are kept; a study is a folder in it (default: sessions)',
    )


def run(options: argparse.Namespace) -> int:
    """Run the action of a study that was asked for, and return 0.

    Raises:
        RewardLearningError: It cannot be done; says why.
    """
    from reward_learning_ros.study.ledger import Ledger
    from reward_learning_ros.study.protocol import check_name

    folder = options.sessions / check_name('study', options.study)
    if options.action == 'new':
        return _new(options, folder)
    ledger = Ledger(folder)
    if ledger.protocol.name != options.study:
        raise InvalidInputError(
            f'{folder} holds a study of the name {ledger.protocol.name!r}, not {options.study!r}'
        )
    if options.action == 'enrol':
        records = ledger.enrol(options.participant)
        _print(options, _participant(records), _trials_text(records))
    elif options.action == 'next':
        record = (ledger.start if options.start else ledger.next)(options.participant)
        _print_next(options, ledger, record)
    elif options.action == 'mark':
        from reward_learning_ros.study.desk import mark_trial

        record = mark_trial(
            ledger, options.participant, options.trial, options.state, options.reason
        )
        _print(options, _trial(record), _trial_text(record))
    elif options.action in ANSWERING:
        content, text = run_answering(options, ledger)
        _print(options, content, text)
    elif options.action == 'status':
        _status(options, ledger)
    else:
        from reward_learning_ros.cli._study_commands import analyse

        analyse(options, ledger)
    return 0


def _new(options: argparse.Namespace, folder: Path) -> int:
    from reward_learning_ros.core.text import counted
    from reward_learning_ros.study.ledger import PROTOCOL_FILE, Ledger
    from reward_learning_ros.study.protocol import Condition, Goal, Protocol
    from reward_learning_ros.study.tidy import wanted_theta

    participants = options.participants
    if len(participants) == 1 and participants[0].isdecimal():
        count = _count(participants[0])
        participants = [f'p{number:0{max(2, len(str(count)))}d}' for number in range(1, count + 1)]
    goals = tuple(
        Goal(task=task, preset=preset)
        for task, _, preset in (text.partition('/') for text in options.tasks)
    )
    for goal in goals:
        # A wrong name is found here, and not when the first participant waits.
        wanted_theta(goal)
    conditions = []
    for text in options.conditions:
        name, _, rest = text.partition('=')
        words = dict(zip(('method', 'dependence', 'mode'), rest.split('/'), strict=False))
        if not rest or rest.count('/') > 2:
            raise InvalidInputError(
                f'--conditions {text!r} must be NAME=METHOD/DEPENDENCE, and /MODE if it matters'
            )
        conditions.append(Condition(name=name, **words))
    ledger = Ledger.create(
        Protocol(
            name=options.study,
            goals=goals,
            conditions=tuple(conditions),
            participants=tuple(participants),
            blocks=options.blocks,
            arm=options.arm,
            participant_model=options.participant_model,
            consent=options.consent,
            questionnaires=tuple(_questionnaire(text, folder) for text in options.questionnaires),
            informed_consent=options.informed_consent,
            seed=options.seed,
        ),
        folder,
    )
    protocol = ledger.protocol
    path = folder / PROTOCOL_FILE
    text = (
        f'{path}\n{counted(len(participants), "participant")}, '
        f'{counted(protocol.trials_each, "trial")} each. With '
        f'{counted(protocol.balanced_participants, "participant")}, or a multiple, all orders are '
        'equally frequent.'
    )
    _print(
        options,
        {
            'file': str(path),
            'participants': list(participants),
            'trials_each': protocol.trials_each,
            'balanced_participants': protocol.balanced_participants,
        },
        text,
    )
    return 0


def _questionnaire(text: str, folder: Path) -> tuple[str, str]:
    """Return the name of a questionnaire, and when it is asked."""
    from reward_learning_ros.study.questionnaire_files import load_questionnaire

    name, _, due = text.partition('=')
    # A wrong name is found here, and not when the first participant waits.
    return name, due or load_questionnaire(name, folder).due


def _count(text: str) -> int:
    """Return how many participants there are to be."""
    if len(text) > len(str(_MAX_PARTICIPANTS)) or not 1 <= int(text) <= _MAX_PARTICIPANTS:
        raise InvalidInputError(
            f'--participants {text[:20]} must be names, or a number from 1 to {_MAX_PARTICIPANTS}'
        )
    return int(text)


def _print_next(options: argparse.Namespace, ledger: Ledger, record: TrialRecord) -> None:
    from reward_learning_ros.study.desk import (
        launch_command,
        session_command,
        session_values,
    )

    values = session_values(ledger, record, options.sessions)
    commands = {'command': session_command(values), 'launch': launch_command(values)}
    lines = [
        _trial_text(record),
        '',
        commands['command'],
        commands['launch'],
        '',
        'Then: '
        + shlex.join(
            [
                *('reward_learning', 'study'),
                *(
                    ()
                    if options.sessions == Path('sessions')
                    else ('--sessions', str(options.sessions))
                ),
                *('mark', options.study, record.trial.participant, str(record.trial.number)),
                'done',
            ]
        ),
    ]
    if not options.start:
        lines.insert(1, 'Not started yet: `next --start` marks it as running.')
    _print(options, {**_trial(record), **commands}, '\n'.join(lines))


def _status(options: argparse.Namespace, ledger: Ledger) -> None:
    from reward_learning_ros.study.ledger import RUNNING, STATES
    from reward_learning_ros.study.tidy import SUMMARY_FILE, session_path

    records = ledger.records()
    counts = Counter(record.state for trials in records.values() for record in trials)
    notes = []
    for trials in records.values():
        for record in trials:
            if record.state == RUNNING and (session_path(ledger, record) / SUMMARY_FILE).is_file():
                trial = record.trial
                notes.append(
                    f'trial {trial.number} of {trial.participant} has ended; mark it done'
                )
    if options.json:
        content = {
            'study': ledger.protocol.name,
            'states': {state: counts[state] for state in STATES},
            'participants': {name: _participant(trials) for name, trials in records.items()},
            'notes': notes,
        }
        print(json.dumps(content, indent=2))
        return
    _print_table(records)
    print(', '.join(f'{counts[state]} {state}' for state in STATES if counts[state]))
    for note in notes:
        print(f'note: {note}')


def _print_table(records: dict[str, tuple[TrialRecord, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    styles = {'done': 'green', 'running': 'bold blue', 'aborted': 'yellow', 'excluded': 'red'}
    table = Table(box=None, pad_edge=False)
    table.add_column('participant')
    longest = max((len(trials) for trials in records.values()), default=0)
    for number in range(1, longest + 1):
        table.add_column(str(number), overflow='fold')
    for name, trials in records.items():
        cells = [
            Text(
                f'{record.trial.goal.name}\n{record.trial.condition.name}\n{record.state}',
                style=styles.get(record.state, 'dim'),
            )
            for record in trials
        ]
        table.add_row(name, *cells)
    Console().print(table)
    for trials in records.values():
        for record in trials:
            if record.reason:
                print(_trial_text(record))


def _print(options: argparse.Namespace, content: Any, text: str) -> None:
    print(json.dumps(content, indent=2) if options.json else text)


def _participant(records: tuple[TrialRecord, ...]) -> list[dict[str, Any]]:
    return [_trial(record) for record in records]


def _trial(record: TrialRecord) -> dict[str, Any]:
    trial = record.trial
    return {
        'participant': trial.participant,
        'trial': trial.number,
        'task': trial.goal.task,
        'preset': trial.goal.preset,
        'condition': trial.condition.name,
        'state': record.state,
        'reason': record.reason,
        'attempts': record.attempts,
    }


def _trials_text(records: tuple[TrialRecord, ...]) -> str:
    return '\n'.join(_trial_text(record) for record in records)


def _trial_text(record: TrialRecord) -> str:
    trial = record.trial
    reason = f': {record.reason}' if record.reason else ''
    return (
        f'{trial.participant}, trial {trial.number}: {trial.goal.name}, {trial.condition.name}; '
        f'{record.state}{reason}'
    )

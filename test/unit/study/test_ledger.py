"""Studies under way: states, two operators at once, and processes that die while they write."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from helpers.study_fixtures import small_protocol
from hypothesis import given, settings
from hypothesis import strategies as st

from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.study.journal import Journal
from reward_learning_ros.study.ledger import (
    ABORTED,
    DONE,
    EXCLUDED,
    PLANNED,
    RUNNING,
    STATES,
    TRANSITIONS,
    Ledger,
    NothingLeftError,
)

OPERATOR = Path(__file__).with_name('study_operator.py')


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(small_protocol(), tmp_path / 'pilot')


def operator(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(OPERATOR), *arguments], stdout=subprocess.PIPE, text=True
    )


def states(ledger: Ledger, participant: str) -> list[str]:
    return [record.state for record in ledger.records()[participant]]


def test_trials_come_in_the_planned_order(ledger: Ledger) -> None:
    for number in (1, 2, 3, 4):
        assert ledger.next('p02').trial.number == number
        assert ledger.start('p02').state == RUNNING
        ledger.mark('p02', number, DONE)
    assert states(ledger, 'p02') == [DONE] * 4
    with pytest.raises(NothingLeftError, match='p02'):
        ledger.next('p02')
    assert ledger.next().trial.participant == 'p01'


def test_who_is_busy_is_not_asked_for_another(ledger: Ledger) -> None:
    assert ledger.start().trial.participant == 'p01'
    assert ledger.start().trial.participant == 'p02'
    with pytest.raises(InvalidInputError, match='trial 1 of p01 is running'):
        ledger.next('p01')
    with pytest.raises(InvalidInputError, match='trial 1 of p01 is running'):
        ledger.mark('p01', 2, RUNNING)


def test_an_aborted_trial_is_done_again_in_a_session_of_its_own(ledger: Ledger) -> None:
    first = ledger.start('p01')
    assert first.session_number == 1
    ledger.mark('p01', 1, ABORTED, 'the arm stopped')
    assert ledger.next('p01').session_number == 101
    again = ledger.start('p01')
    assert (again.trial.number, again.attempts, again.session_number) == (1, 2, 101)


def test_an_excluded_trial_is_left_out_with_its_reason(ledger: Ledger) -> None:
    ledger.mark('p01', 1, EXCLUDED, ' not well ')
    assert ledger.record('p01', 1).reason == 'not well'
    assert ledger.next('p01').trial.number == 2
    with pytest.raises(InvalidInputError, match='never started'):
        ledger.mark('p01', 1, DONE)
    ledger.mark('p01', 1, PLANNED)
    assert ledger.next('p01').trial.number == 1


def test_a_trial_that_is_taken_back_does_not_use_its_old_session(ledger: Ledger) -> None:
    ledger.start('p01')
    ledger.mark('p01', 1, EXCLUDED, 'a mistake')
    assert ledger.record('p01', 1).session_number == 1
    ledger.mark('p01', 1, PLANNED)
    assert ledger.next('p01').session_number == ledger.start('p01').session_number == 101


@pytest.mark.parametrize('state', STATES)
def test_from_each_state_only_what_makes_sense(ledger: Ledger, state: str) -> None:
    ways = {
        PLANNED: [],
        RUNNING: [RUNNING],
        DONE: [RUNNING, DONE],
        ABORTED: [RUNNING, ABORTED],
        EXCLUDED: [EXCLUDED],
    }
    for step in ways[state]:
        ledger.mark('p01', 1, step, 'because')
    for other in STATES:
        if other not in TRANSITIONS[state]:
            with pytest.raises(InvalidInputError, match=f'is {state}; it can become'):
                ledger.mark('p01', 1, other, 'because')
    assert ledger.record('p01', 1).state == state


MARKS = st.tuples(st.sampled_from(['p01', 'p02']), st.integers(1, 2), st.sampled_from(STATES))


@settings(max_examples=25)
@given(st.lists(MARKS, min_size=1, max_size=10))
def test_whatever_is_marked_becomes_so_or_nothing_changes(marks: list[tuple[str, int, str]]):
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.create(small_protocol(), Path(folder) / 'pilot')
        for participant, number, state in marks:
            before = ledger.records()
            try:
                marked = ledger.mark(participant, number, state, 'because')
            except InvalidInputError:
                assert ledger.records() == before
                continue
            assert state in TRANSITIONS[before[participant][number - 1].state]
            assert marked.state == state
            # Another operator reads the same, and of all trials only this one is another.
            after = Ledger(ledger.folder).records()
            assert after[participant][number - 1] == marked
            changed = [
                trial
                for name in before
                for trial, old in zip(after[name], before[name], strict=True)
                if trial != old
            ]
            assert changed in ([], [marked])
        for records in ledger.records().values():
            assert [record.state for record in records].count(RUNNING) <= 1


EVENTS = st.lists(
    st.dictionaries(st.text(max_size=5), st.integers() | st.text() | st.none(), max_size=3),
    min_size=1,
    max_size=5,
)


@settings(max_examples=50)
@given(EVENTS, st.floats(0.0, 1.0))
def test_a_journal_torn_anywhere_keeps_all_whole_events_and_goes_on(events, share):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'journal.jsonl'
        journal = Journal(path)
        for event in events:
            journal.append(lambda _, event=event: event)
        assert journal.read() == events
        content = path.read_bytes()
        torn = content[: round(share * len(content))]
        path.write_bytes(torn)
        kept = events[: torn.count(b'\n')]
        assert journal.read() == kept
        journal.append(lambda found: {'number': len(found)})
        assert journal.read() == [*kept, {'number': len(kept)}]


def test_what_does_not_exist_is_refused(ledger: Ledger) -> None:
    with pytest.raises(UnknownNameError, match='p01, p02, p03, p04'):
        ledger.mark('p09', 1, RUNNING)
    with pytest.raises(InvalidInputError, match='1 to 4'):
        ledger.mark('p01', 5, RUNNING)
    with pytest.raises(UnknownNameError, match='planned, running'):
        ledger.mark('p01', 1, 'lost')
    for state in (ABORTED, EXCLUDED):
        ledger.start('p01') if state == ABORTED else None
        with pytest.raises(InvalidInputError, match='without a reason'):
            ledger.mark('p01', 1, state, '  ')


def test_participants_who_come_later_go_on_with_the_orders(ledger: Ledger) -> None:
    trials = [record.trial for record in ledger.enrol('late')]
    assert trials == list(ledger.protocol.trials('late', 4))
    with pytest.raises(InvalidInputError, match='enrolled already'):
        ledger.enrol('late')
    with pytest.raises(InvalidInputError, match='participant'):
        ledger.enrol('../late')
    assert list(Ledger(ledger.folder).records())[-1] == 'late'


def test_a_study_is_never_written_over(ledger: Ledger) -> None:
    with pytest.raises(InvalidInputError, match='already'):
        Ledger.create(small_protocol(seed=5), ledger.folder)
    assert Ledger(ledger.folder).protocol.seed == 0


def test_a_protocol_may_change_only_before_the_study_begins(ledger: Ledger) -> None:
    path = ledger.folder / 'study.yaml'
    text = path.read_text(encoding='utf-8')
    path.write_text(text.replace('seed: 0', 'seed: 3'), encoding='utf-8')
    changed = Ledger(ledger.folder)
    changed.start('p01')
    path.write_text(text, encoding='utf-8')
    with pytest.raises(InvalidInputError, match='changed after the study had begun'):
        Ledger(ledger.folder).records()
    with pytest.raises(InvalidInputError, match='changed after the study had begun'):
        Ledger(ledger.folder).start('p01')


def test_several_operators_at_once_start_every_trial_once(tmp_path: Path) -> None:
    protocol = small_protocol(40)
    ledger = Ledger.create(protocol, tmp_path / 'pilot')
    operators = [operator('start_all', str(ledger.folder)) for _ in range(4)]
    started = []
    for each in operators:
        output, _ = each.communicate(timeout=120)
        assert each.returncode == 0
        started += output.splitlines()
    assert sorted(started) == sorted(f'{name} 1' for name in protocol.participants)
    assert all(states(ledger, name)[0] == RUNNING for name in protocol.participants)


def test_what_was_said_to_be_done_survives_kill_9(ledger: Ledger) -> None:
    journal = ledger.folder / 'journal.jsonl'
    for round_number in range(4):
        process = operator('repeat', str(ledger.folder), 'p01')
        assert process.stdout is not None
        # Killed at another moment of its work each time.
        heard = [process.stdout.readline() for _ in range(3 + 2 * round_number)]
        process.send_signal(signal.SIGKILL)
        heard += process.stdout.readlines()
        process.wait()
        process.stdout.close()
        assert process.returncode == -signal.SIGKILL
        last = int(heard[-1])
        record = Ledger(ledger.folder).record('p01', 1)
        done = [
            int(event['reason'].split()[0])
            for event in Journal(journal).read()
            if event['state'] == EXCLUDED
        ]
        assert done[-1] in (last, last + 1)
        assert record.state in (EXCLUDED, PLANNED)
        if record.state == EXCLUDED:
            ledger.mark('p01', 1, PLANNED)
        assert ledger.next('p01').trial.number == 1


def test_a_half_written_line_is_cut_off_by_the_next(ledger: Ledger) -> None:
    ledger.start('p01')
    journal = ledger.folder / 'journal.jsonl'
    with journal.open('ab') as file:
        file.write(b'{"time": "2026-01-01", "event": "tri')
    assert states(ledger, 'p01')[0] == RUNNING
    ledger.mark('p01', 1, DONE)
    assert states(ledger, 'p01')[0] == DONE
    lines = journal.read_text(encoding='utf-8').splitlines()
    assert [json.loads(line)['state'] for line in lines] == [RUNNING, DONE]


@pytest.mark.parametrize('line', ['not JSON', '[1]', '{}', '{"event": "trial"}'])
def test_a_journal_that_somebody_wrote_into_is_refused(ledger: Ledger, line: str) -> None:
    ledger.start('p01')
    with (ledger.folder / 'journal.jsonl').open('a', encoding='utf-8') as file:
        file.write(line + '\n')
    with pytest.raises(InvalidInputError):
        ledger.records()
    with pytest.raises(InvalidInputError):
        ledger.mark('p01', 1, DONE)

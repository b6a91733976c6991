"""Protocols: balanced orders, and files that say what is wrong in them."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from helpers.study_fixtures import small_protocol

from reward_learning_ros.core import inference
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.parameters import shared
from reward_learning_ros.study.desk import session_command, session_values
from reward_learning_ros.study.ledger import Ledger
from reward_learning_ros.study.protocol import (
    Condition,
    Goal,
    balanced_latin_square,
    protocol_text,
    read_protocol,
)


@pytest.mark.parametrize('size', range(1, 9))
def test_each_condition_is_equally_often_at_each_place_and_after_each_other(size: int) -> None:
    rows = balanced_latin_square(size)
    assert len(rows) == (size if size % 2 == 0 or size == 1 else 2 * size)
    for place in range(size):
        assert set(Counter(row[place] for row in rows).values()) == {len(rows) // size}
    neighbours = Counter(pair for row in rows for pair in pairwise(row))
    assert len(neighbours) == size * (size - 1)
    assert len(set(neighbours.values())) <= 1
    for row in rows:
        assert sorted(row) == list(range(size))


def test_every_method_can_be_a_condition() -> None:
    assert set(shared.METHODS) == set(inference.METHODS)
    for method in inference.METHODS:
        assert Condition(name='a', method=method).method == method
    with pytest.raises(UnknownNameError, match='tabulated'):
        Condition(name='a', method='tabulate')


@pytest.mark.parametrize('blocks', ['task', 'condition'])
@pytest.mark.parametrize(('goals', 'conditions'), [(2, 2), (3, 2), (2, 3), (1, 4), (3, 3)])
def test_over_all_participants_every_trial_is_equally_often_at_every_place(
    goals: int, conditions: int, blocks: str
) -> None:
    protocol = small_protocol(
        0,
        blocks=blocks,
        goals=tuple(Goal(task=f'task{index}') for index in range(goals)),
        conditions=tuple(Condition(name=f'condition{index}') for index in range(conditions)),
    )
    people = protocol.balanced_participants
    counts = Counter(
        (trial.number, trial.goal.task, trial.condition.name)
        for place in range(people)
        for trial in protocol.trials('p', place)
    )
    assert len(counts) == (goals * conditions) ** 2
    assert set(counts.values()) == {people // (goals * conditions)}


def test_a_participant_does_everything_once_and_blocks_stay_together() -> None:
    protocol = small_protocol()
    for place in range(4):
        trials = protocol.trials('p01', place)
        assert [trial.number for trial in trials] == [1, 2, 3, 4]
        assert len({(trial.goal, trial.condition) for trial in trials}) == 4
        assert trials[0].goal == trials[1].goal != trials[2].goal == trials[3].goal


def test_seeds_differ_and_repeat() -> None:
    protocol = small_protocol()
    seeds = [trial.seed for place in range(4) for trial in protocol.trials('p', place)]
    assert len(set(seeds)) == len(seeds)
    again = [trial.seed for place in range(4) for trial in small_protocol().trials('q', place)]
    assert seeds == again


def test_a_file_reads_back_as_what_was_written(tmp_path) -> None:
    protocol = small_protocol(blocks='condition', seed=9)
    path = tmp_path / 'study.yaml'
    path.write_text(protocol_text(protocol), encoding='utf-8')
    read, fingerprint = read_protocol(path)
    assert read == protocol
    path.write_text('# a remark\n' + protocol_text(protocol), encoding='utf-8')
    assert read_protocol(path) == (protocol, fingerprint)
    path.write_text(protocol_text(small_protocol(seed=10)), encoding='utf-8')
    assert read_protocol(path)[1] != fingerprint


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('[]', 'mapping'),
        ('{format: 2}', 'format is 2; allowed: 1'),
        ('{format: 1, name: a, tasks: [press]}', 'conditions is missing'),
        ('{format: 1, name: a, tasks: [press], conditions: {x: {}}, taks: 1}', 'unknown key'),
        ('{format: 1, name: a, tasks: press, conditions: {x: {}}}', 'tasks must be a list'),
        ('{format: 1, name: a, tasks: [press], conditions: {x: {method: best}}}', 'double_mh'),
        ('{format: 1, name: a, tasks: [press], conditions: {x: {beta: 1}}}', 'key of condition x'),
        ('{format: 1, name: a/b, tasks: [press], conditions: {x: {}}}', 'study'),
        ('{format: 1, name: a, tasks: [press, press], conditions: {x: {}}}', 'more than once'),
        ('{format: 1, name: a, tasks: [], conditions: {x: {}}}', 'no task'),
        (
            '{format: 1, name: a, tasks: [press], conditions: {x: {}}, participants: [../x]}',
            'part',
        ),
        ('{format: 1, name: a, tasks: [press], conditions: {x: {}}, participants: [1]}', 'part'),
        ('{', 'cannot be read'),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(text: str, message: str, tmp_path) -> None:
    path = tmp_path / 'study.yaml'
    path.write_text(text, encoding='utf-8')
    with pytest.raises(InvalidInputError, match=message) as caught:
        read_protocol(path)
    assert str(path) in str(caught.value)


def test_what_cannot_be_run_is_refused() -> None:
    with pytest.raises(InvalidInputError, match='human with arm franka'):
        small_protocol(arm='franka')
    with pytest.raises(UnknownNameError, match='condition, task'):
        small_protocol(blocks='week')
    many = tuple(Condition(name=f'c{index}') for index in range(50))
    with pytest.raises(InvalidInputError, match='at most 99'):
        small_protocol(conditions=many)


@pytest.mark.parametrize('consent', ['', 'every_pass', 'first_pass'])
def test_a_study_says_before_which_passes_a_person_consents(tmp_path, consent) -> None:
    protocol = small_protocol(
        consent=consent, arm='franka', participant_model='human', goals=(Goal(task='press'),)
    )
    path = tmp_path / 'study.yaml'
    path.write_text(protocol_text(protocol))
    assert read_protocol(path)[0] == protocol
    ledger = Ledger.create(protocol, tmp_path / 'study')
    record = ledger.next('p01')
    command = session_command(session_values(ledger, record, tmp_path))
    assert (f'--consent {consent}' in command) if consent else '--consent' not in command


def test_no_study_lets_the_arm_move_without_consent() -> None:
    with pytest.raises(UnknownNameError, match='every_pass'):
        small_protocol(consent='none')

"""Questionnaires are scored as published, and a file or an answer that is wrong says where."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from reward_learning_ros.core.errors import UnknownNameError
from reward_learning_ros.study.questionnaire_files import (
    DIRECTORIES_VARIABLE,
    QuestionnaireFileError,
    load_questionnaire,
    questionnaire_files,
    read_questionnaire,
)
from reward_learning_ros.study.questionnaires import AnswerError

SHIPPED = ('being_understood', 'nasa_tlx', 'nasa_tlx_raw', 'sus', 'umux_lite')
# Ratings, and how often each is chosen in the 15 pairs.
TLX_RATINGS = {
    'mental_demand': 30,
    'physical_demand': 15,
    'temporal_demand': 60,
    'performance': 40,
    'effort': 30,
    'frustration': 40,
}
TLX_WEIGHTS = {
    'mental_demand': 3,
    'physical_demand': 0,
    'temporal_demand': 5,
    'performance': 1,
    'effort': 3,
    'frustration': 3,
}


def comparisons(weights):
    """Return choices in which each item is chosen as often as it should be."""
    left = dict(weights)
    choices = {}

    def choose(pairs):
        if not pairs:
            return True
        first, second = pairs[0]
        for chosen in (first, second):
            if left[chosen]:
                left[chosen] -= 1
                choices[f'{first}:{second}'] = chosen
                if choose(pairs[1:]):
                    return True
                left[chosen] += 1
        return False

    assert choose(list(combinations(weights, 2)))
    return choices


def test_what_is_shipped_is_whole_and_cited():
    found = questionnaire_files()
    assert set(SHIPPED) <= set(found)
    for name in SHIPPED:
        questionnaire = load_questionnaire(name)
        assert questionnaire.source
        assert questionnaire.terms
        assert questionnaire.scores


def test_nasa_tlx_has_six_scales_of_21_steps_and_15_pairs():
    questionnaire = load_questionnaire('nasa_tlx')
    assert [item.scale.steps for item in questionnaire.items] == [21] * 6
    assert questionnaire.items[0].scale.values[:3] == (0.0, 5.0, 10.0)
    assert len(questionnaire.pairs) == 15
    assert load_questionnaire('nasa_tlx_raw').pairs == ()
    performance = questionnaire.items[3]
    assert (performance.scale.low_label, performance.scale.high_label) == ('Perfect', 'Failure')


def test_nasa_tlx_is_the_mean_weighted_by_what_was_chosen():
    answers = {**TLX_RATINGS, **comparisons(TLX_WEIGHTS)}
    # By hand: (3·30 + 0·15 + 5·60 + 1·40 + 3·30 + 3·40) / 15 = 640 / 15.
    scores = load_questionnaire('nasa_tlx').scored(answers)
    assert scores['workload'] == pytest.approx(42.6667, abs=1e-4)
    # By hand: (30 + 15 + 60 + 40 + 30 + 40) / 6 = 215 / 6.
    assert scores['raw_workload'] == pytest.approx(35.8333, abs=1e-4)
    raw = load_questionnaire('nasa_tlx_raw').scored(TLX_RATINGS)
    assert raw == {'workload': pytest.approx(35.8333, abs=1e-4)}


def test_sus_is_scored_as_in_the_example_of_its_author():
    # Brooke (1996): these marks contribute 4, 1, 1, 4, 1, 2, 1, 1, 4, 3; 22 · 2.5 = 55.
    marks = (5, 4, 2, 1, 2, 3, 2, 4, 5, 2)
    questionnaire = load_questionnaire('sus')
    answers = {f's{number}': mark for number, mark in enumerate(marks, 1)}
    assert questionnaire.scored(answers) == {'usability': pytest.approx(55.0)}


@given(st.lists(st.integers(1, 5), min_size=10, max_size=10))
def test_sus_is_two_and_a_half_times_the_sum_of_what_items_contribute(marks):
    total = sum(mark - 1 if number % 2 else 5 - mark for number, mark in enumerate(marks, start=1))
    answers = {f's{number}': mark for number, mark in enumerate(marks, 1)}
    assert load_questionnaire('sus').scored(answers)['usability'] == pytest.approx(2.5 * total)


@pytest.mark.parametrize(
    ('requirements', 'ease', 'percent', 'predicted'),
    # Lewis et al. (2013): 0.65 · percent + 22.9, which is 22.9 to 87.9.
    [(1, 1, 0.0, 22.9), (7, 7, 100.0, 87.9), (6, 5, 75.0, 71.65), (4, 4, 50.0, 55.4)],
)
def test_umux_lite_is_scored_as_published(requirements, ease, percent, predicted):
    scores = load_questionnaire('umux_lite').scored({'requirements': requirements, 'ease': ease})
    assert scores['usability'] == pytest.approx(percent)
    assert scores['predicted_sus'] == pytest.approx(predicted)


def test_own_scales_may_have_reversed_items_and_words():
    questionnaire = load_questionnaire('being_understood')
    answers = {'understood': 6, 'repeated': 3, 'predictable': '4', 'comment': 'née <b>'}
    # By hand: (6 + (8 - 3) + 4) / 3.
    assert questionnaire.scored(answers) == {'understanding': pytest.approx(5.0)}
    assert questionnaire.checked(answers)['comment'] == 'née <b>'
    del answers['comment']
    assert 'comment' not in questionnaire.checked(answers)


@pytest.mark.parametrize(
    ('change', 'item', 'allowed'),
    [
        ({'effort': 101}, 'effort', '0 to 100 in steps of 5'),
        ({'effort': 12}, 'effort', 'steps of 5'),
        ({'effort': 'nan'}, 'effort', '0 to 100'),
        ({'effort': True}, 'effort', '0 to 100'),
        ({'effort': None}, 'effort', '0 to 100'),
        ({'haste': 5}, 'haste', 'mental_demand'),
        ({'mental_demand:effort': 'performance'}, 'mental_demand:effort', 'mental_demand or'),
        ({'mental_demand:effort': None}, 'mental_demand:effort', 'mental_demand or effort'),
        ({'effort:mental_demand': 'effort'}, 'effort:mental_demand', 'mental_demand:effort'),
    ],
)
def test_an_answer_that_is_refused_says_item_and_what_is_allowed(change, item, allowed):
    questionnaire = load_questionnaire('nasa_tlx')
    answers = {**TLX_RATINGS, **comparisons(TLX_WEIGHTS), **change}
    with pytest.raises(AnswerError) as caught:
        questionnaire.scored(answers)
    assert (caught.value.questionnaire, caught.value.item) == ('nasa_tlx', item)
    assert allowed in caught.value.allowed
    assert item in str(caught.value)


def changed(path, **changes):
    content = yaml.safe_load(load_source('being_understood'))
    content.update(changes)
    path.write_text(yaml.safe_dump({k: v for k, v in content.items() if v is not None}))
    return path


def load_source(name):
    return questionnaire_files()[name].read_text(encoding='utf-8')


ITEM = {'key': 'a', 'text': 'A?'}


@pytest.mark.parametrize(
    ('changes', 'key', 'reason'),
    [
        ({'source': None}, 'source', 'missing'),
        ({'terms': ' '}, 'terms', 'must be text'),
        ({'due': 'sometimes'}, 'due', 'after_trial, after_condition, at_end'),
        ({'colour': 'red'}, 'colour', 'is no field'),
        ({'items': [ITEM, ITEM]}, 'items', 'more than once'),
        ({'items': []}, 'items', 'at least one'),
        ({'items': [{'key': 'a b', 'text': 'A?'}]}, 'items[0].key', 'letters'),
        ({'scale': None, 'items': [ITEM]}, 'items[0].scale', 'missing'),
        ({'scale': {'low': 1, 'high': 1}}, 'scale.high', 'above 1'),
        ({'scale': {'low': 0, 'high': 1, 'step': 0.3}}, 'scale.step', 'divide'),
        ({'scale': {'low': 0, 'high': 1, 'step': 1e-9}}, 'scale.step', 'parts'),
        ({'items': [{**ITEM, 'optional': True}]}, 'items[0].optional', 'text only'),
        ({'scores': [{'key': 's', 'rule': 'sum', 'better': 'lower'}]}, 'scores[0].rule', 'mean'),
        (
            {'scores': [{'key': 's', 'rule': 'weighted_mean', 'better': 'lower'}]},
            'scores[0].rule',
            'needs comparisons',
        ),
        (
            {'scores': [{'key': 's', 'rule': 'mean', 'better': 'lower', 'items': ['b']}]},
            'scores[0].items',
            'understood',
        ),
    ],
)
def test_a_file_that_is_refused_says_file_key_and_what_is_allowed(tmp_path, changes, key, reason):
    path = changed(tmp_path / 'own.yaml', **changes)
    with pytest.raises(QuestionnaireFileError) as caught:
        read_questionnaire(path)
    assert (caught.value.path, caught.value.key) == (path, key)
    assert reason in caught.value.reason
    assert str(path) in str(caught.value)


@pytest.mark.parametrize('text', ['', '- 1', 'a: [', 'a: &a [*a]'])
def test_a_file_that_is_none_is_refused(tmp_path, text):
    path = tmp_path / 'own.yaml'
    path.write_text(text)
    with pytest.raises(QuestionnaireFileError, match=r'own\.yaml'):
        read_questionnaire(path)


def test_a_study_has_questionnaires_of_its_own_before_others(tmp_path: Path, monkeypatch):
    listed, study = tmp_path / 'listed', tmp_path / 'study'
    (study / 'questionnaires').mkdir(parents=True)
    listed.mkdir()
    changed(listed / 'sus.yaml', title='Listed')
    monkeypatch.setenv(DIRECTORIES_VARIABLE, str(listed))
    assert load_questionnaire('sus').title == 'Listed'
    changed(study / 'questionnaires' / 'sus.yaml', title='Own')
    assert load_questionnaire('sus', study).title == 'Own'
    with pytest.raises(UnknownNameError, match='umux_lite'):
        load_questionnaire('nothing', study)


def test_other_words_are_another_questionnaire(tmp_path):
    first = read_questionnaire(changed(tmp_path / 'own.yaml'))
    second = read_questionnaire(changed(tmp_path / 'own.yaml', instructions='Otherwise'))
    assert first.digest != second.digest
    # How it is written does not count.
    path = changed(tmp_path / 'own.yaml')
    path.write_text('# A comment.\n' + path.read_text())
    assert read_questionnaire(path).digest == first.digest

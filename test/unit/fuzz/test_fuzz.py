"""A short `make fuzz`: what once failed does so no more, and new cases find nothing."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from benchmarks.fuzz import corpus
from benchmarks.fuzz.campaign import Outcome, Target, try_case, try_cases
from benchmarks.fuzz.registry import targets
from reward_learning_ros.core.errors import InvalidInputError

TARGETS = {target.name: target for target in targets()}
CASES = 25


@pytest.mark.parametrize('name', TARGETS)
def test_hostile_cases_are_read_or_refused_with_an_error_of_ours(name):
    outcome = Outcome()
    for case in corpus.cases(name):
        try_case(TARGETS[name], case, outcome)
    try_cases(TARGETS[name], outcome, count=CASES, seed=1)
    assert outcome.failures == {}
    assert outcome.cases >= CASES


def test_every_case_that_is_kept_is_of_a_target():
    assert {path.name for path in corpus.FOLDER.iterdir()} <= set(TARGETS)


def breaks(case):
    if len(case) > 3:
        raise KeyError(case)
    raise InvalidInputError('too short')


def test_what_fails_is_found_made_small_and_kept(tmp_path):
    target = Target(name='made_up', reads='nothing', cases=st.binary(max_size=50), check=breaks)
    outcome = Outcome()
    try_cases(target, outcome, count=50, seed=0)
    ((failure, case),) = outcome.failures.items()
    assert failure == 'KeyError'
    assert len(case) == 4
    assert 0 < outcome.refused < outcome.cases
    corpus.keep('made_up', case, tmp_path)
    assert list(corpus.cases('made_up', tmp_path)) == [case]


def test_a_case_that_hangs_is_a_failure(monkeypatch):
    monkeypatch.setattr('benchmarks.fuzz.campaign.MAX_CASE_SEC', 0.1)

    def hang(case):
        while True:
            pass

    target = Target(name='made_up', reads='nothing', cases=st.binary(), check=hang)
    assert try_case(target, b'', Outcome()) == 'TooSlowError'

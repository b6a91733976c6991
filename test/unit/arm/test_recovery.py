"""The recovery does its steps in their order, each with a deadline, and none after a failure."""

from __future__ import annotations

import pytest

from reward_learning_ros.arm.franka import (
    STEPS,
    RecoveryRefusedError,
    RecoverySequence,
)

ERRORS, HARDWARE, CONTROLLERS = STEPS


def test_errors_come_before_hardware_and_hardware_before_controllers():
    assert [step.name for step in STEPS] == ['ERRORS', 'HARDWARE', 'CONTROLLERS']
    sequence = RecoverySequence()
    done, step = [], sequence.begin(0.0)
    while step is not None:
        done.append(step)
        step = sequence.finish_step(step, is_done=True, text='well', now_sec=1.0)
    assert done == list(STEPS)
    assert sequence.is_complete
    assert not sequence.is_running
    assert sequence.report.splitlines() == [f'{step.value}: well' for step in STEPS]


@pytest.mark.parametrize('failing', STEPS)
def test_a_step_that_fails_is_the_last(failing):
    sequence = RecoverySequence()
    step = sequence.begin(0.0)
    while step is not None:
        step = sequence.finish_step(step, is_done=step is not failing, text='no', now_sec=1.0)
    assert not sequence.is_complete
    assert sequence.outcomes[-1].step is failing
    assert len(sequence.outcomes) == STEPS.index(failing) + 1
    assert 'FAILED' in sequence.report.splitlines()[-1]


def test_every_step_has_a_deadline_of_its_own():
    sequence = RecoverySequence(timeout_sec=10.0)
    sequence.begin(0.0)
    sequence.look(9.9)
    assert sequence.finish_step(ERRORS, is_done=True, text='', now_sec=9.9) is HARDWARE
    sequence.look(19.8)
    assert sequence.step is HARDWARE
    sequence.look(19.9)
    assert not sequence.is_running
    assert 'not done within 10 s' in sequence.report


def test_an_answer_after_the_deadline_begins_no_further_step():
    sequence = RecoverySequence(timeout_sec=1.0)
    sequence.begin(0.0)
    sequence.look(1.0)
    assert sequence.finish_step(ERRORS, is_done=True, text='', now_sec=1.1) is None
    assert not sequence.is_running
    assert [outcome.is_done for outcome in sequence.outcomes] == [False]


def test_it_begins_once():
    sequence = RecoverySequence()
    sequence.begin(0.0)
    with pytest.raises(RecoveryRefusedError, match='under way'):
        sequence.begin(0.0)

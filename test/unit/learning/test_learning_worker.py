"""Learning in a process of its own: replaced when it dies, never behind."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest

from reward_learning_ros import core
from reward_learning_ros.learning import LearningParameters
from reward_learning_ros.learning.inference_worker import MAX_DEATHS, LearningWorker

PARAMETERS = LearningParameters(task='press', seed=3, target_ess=100.0, max_draws=500)
DEADLINE_SEC = 120.0


@pytest.fixture(scope='module')
def shared_worker():
    worker = LearningWorker(PARAMETERS)
    worker.start()
    yield worker
    worker.stop()


@pytest.fixture
def worker(shared_worker):
    await_(shared_worker, lambda: shared_worker.is_ready)
    yield shared_worker
    shared_worker.cancel()


def await_(worker, condition):
    """Poll until a condition is true; return the outcomes."""
    outcomes = []
    deadline = time.monotonic() + DEADLINE_SEC
    while not condition():
        assert time.monotonic() < deadline, worker.fault
        outcome = worker.poll()
        if outcome is not None:
            outcomes.append(outcome)
        time.sleep(0.005)
    return outcomes


def corrections(count):
    task = core.load_task('press')
    deltas = np.random.default_rng(count).uniform(-0.05, 0.05, (count, 3))
    return (core.CorrectionSequence.from_deltas(task.plan, deltas),)


def test_a_new_job_replaces_the_one_at_work(worker):
    jobs = [worker.submit(corrections(count)) for count in (1, 2, 3, 4)]
    outcomes = await_(worker, lambda: not worker.is_busy)
    assert [outcome.job for outcome in outcomes] == jobs[-1:]
    assert outcomes[0].result.corrections == 4


def test_a_cancelled_job_has_no_outcome(worker):
    worker.submit(corrections(4))
    worker.cancel()
    assert not worker.is_busy
    job = worker.submit(corrections(1))
    outcomes = await_(worker, lambda: not worker.is_busy)
    assert [outcome.job for outcome in outcomes] == [job]


def test_what_cannot_be_learned_is_said(worker):
    task = core.load_task('shelf')
    worker.submit((core.CorrectionSequence(plan=task.plan, corrected=task.plan[None]),))
    (outcome,) = await_(worker, lambda: not worker.is_busy)
    assert outcome.result is None
    assert 'have (8, 3)' in outcome.error


def test_a_job_that_kills_every_process_is_given_up(worker):
    # The first one is warm and could be done before it is killed; the others have to start first.
    os.kill(worker.process_id, signal.SIGSTOP)
    worker.submit(corrections(3))
    outcomes = []
    killed = set()
    deadline = time.monotonic() + DEADLINE_SEC
    while worker.is_busy:
        assert time.monotonic() < deadline
        if worker.process_id not in killed and len(killed) < MAX_DEATHS:
            killed.add(worker.process_id)
            os.kill(worker.process_id, signal.SIGKILL)
        outcomes += filter(None, [worker.poll()])
        time.sleep(0.005)
    assert outcomes[0].result is None
    assert 'died (exit code -9)' in outcomes[0].error


def test_a_task_that_is_not_there_is_a_fault():
    worker = LearningWorker(LearningParameters(task='nothing'))
    worker.start()
    worker.submit(corrections(1))
    (outcome,) = await_(worker, lambda: worker.fault)
    assert "unknown task 'nothing'" in outcome.error
    assert worker.process_id is None

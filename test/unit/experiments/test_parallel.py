"""Many jobs: the same rows on one process, on several and on a Dask cluster, whoever dies."""

import os
import signal
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from distributed import Client
from helpers import parallel_jobs
from helpers.cluster import DEADLINE_SEC, Cluster, environment, has_ended, wait_for

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.experiments import parallel
from reward_learning_ros.experiments.parallel import SchedulerError, WorkerDiedError, run_all


def rows(function, jobs, **options):
    return list(run_all(function, jobs, **options))


def drawn(count):
    return [(seed, parallel_jobs.draw(seed)) for seed in range(count)]


def assert_same(found, expected):
    assert [index for index, _ in found] == [index for index, _ in expected]
    np.testing.assert_array_equal([row for _, row in found], [row for _, row in expected])


@pytest.mark.parametrize('workers', [1, 2, None])
def test_rows_come_in_the_order_of_the_jobs(workers):
    done = []
    found = rows(
        parallel_jobs.draw, range(7), workers=workers, on_done=lambda *row: done.append(row)
    )
    assert_same(found, drawn(7))
    assert_same(sorted(done, key=lambda row: row[0]), drawn(7))


def test_workers_are_processes_of_one_thread():
    processes = dict(rows(parallel_jobs.process_number, range(8), workers=2))
    assert os.getpid() not in processes.values()
    assert len(set(processes.values())) <= 2
    assert rows(parallel_jobs.numba_threads, range(2), workers=2) == [(0, 1), (1, 1)]


def test_the_job_of_a_killed_process_is_run_again(tmp_path):
    function = partial(parallel_jobs.die_once, tmp_path)
    assert_same(rows(function, range(5), workers=2), drawn(5))
    assert (tmp_path / 'died').exists()


def test_a_job_that_kills_every_worker_is_named():
    with pytest.raises(WorkerDiedError, match='job'):
        rows(parallel_jobs.die, range(2), workers=2)


@pytest.mark.parametrize('workers', [1, 2])
def test_an_error_of_a_job_is_raised_here(workers):
    # The class is one that pickle cannot undo; what it means for an exit code stays.
    with pytest.raises(InvalidInputError, match='unknown colour'):
        rows(parallel_jobs.refuse, ['blue', 'green'], workers=workers)


def test_no_jobs_are_no_rows():
    assert rows(parallel_jobs.draw, []) == []
    with pytest.raises(InvalidInputError, match='workers'):
        rows(parallel_jobs.draw, [1], workers=0)


SCRIPT = """
import sys
from functools import partial
from pathlib import Path
from helpers import parallel_jobs
from reward_learning_ros.experiments.parallel import run_all
if __name__ == '__main__':
    function = partial(parallel_jobs.draw_or_wait, Path(sys.argv[1]))
    print(len(list(run_all(function, range(4), workers=2))))
"""


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_the_command(tmp_path, number):
    script = tmp_path / 'script.py'
    script.write_text(SCRIPT)
    folder = tmp_path / 'jobs'
    folder.mkdir()
    command = subprocess.Popen(
        [sys.executable, str(script), str(folder)],
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    held = wait_for(lambda: list(folder.glob('1-*')))[0]
    if number == signal.SIGINT:
        # As Ctrl-C in a terminal does, to the whole group.
        os.killpg(command.pid, number)
    else:
        command.kill()
    _, complaint = command.communicate(timeout=DEADLINE_SEC)
    worker = int(held.name.removeprefix('1-'))
    wait_for(lambda: has_ended(worker))
    assert command.returncode == -number
    assert 'Process SpawnProcess' not in complaint


def test_a_dask_cluster_gives_the_same_rows_and_a_dead_worker_loses_none(tmp_path):
    folder = tmp_path / 'jobs'
    folder.mkdir()
    with Cluster(tmp_path, workers=2) as cluster:
        with Client(cluster.address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=DEADLINE_SEC)
        assert_same(rows(parallel_jobs.draw, range(7), scheduler=cluster.address), drawn(7))
        with pytest.raises(InvalidInputError, match='unknown colour'):
            rows(parallel_jobs.refuse, ['blue'], scheduler=cluster.address)

        def kill_who_holds(index, row):
            if not (folder / 'go').exists():
                held = wait_for(lambda: list(folder.glob('1-*')))[0]
                os.kill(int(held.name.removeprefix('1-')), signal.SIGKILL)
                (folder / 'go').touch()

        function = partial(parallel_jobs.draw_or_wait, folder)
        found = rows(function, range(7), scheduler=cluster.address, on_done=kill_who_holds)
        assert_same(found, drawn(7))
        wait_for(lambda: any(worker.poll() == -signal.SIGKILL for worker in cluster.workers))


def test_an_address_without_a_scheduler_is_named(monkeypatch):
    # It is asked again and again for so long.
    monkeypatch.setattr(parallel, 'ANSWER_SEC', 0.5)
    with pytest.raises(SchedulerError, match=r'127\.0\.0\.1:9'):
        rows(parallel_jobs.draw, range(2), scheduler='tcp://127.0.0.1:9')

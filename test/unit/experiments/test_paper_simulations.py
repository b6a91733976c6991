"""Simulated people and what the methods make of them: reproducible, resumable, of equal budget."""

import json
import resource
from functools import partial

import numpy as np
import pytest
from helpers.study_fixtures import keep_libraries_in

from reward_learning_ros import core
from reward_learning_ros.core.domain import ThetaDomain
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.experiments.budget import ALL_METHODS, BUDGETS, METHODS, find_budget
from reward_learning_ros.experiments.rows import (
    ROWS_FILE,
    SETUP_FILE,
    Job,
    Row,
    Timing,
    read_rows,
    run_jobs,
)
from reward_learning_ros.experiments.simulation_analysis import analyse_simulations
from reward_learning_ros.experiments.simulation_report import write_analysis
from reward_learning_ros.experiments.simulations import (
    EXACT,
    ExactPosterior,
    Setup,
    library_regret,
    simulate,
    simulate_human,
)

MEMBERS = 80
SETUP = Setup(budget='printed', library_size=MEMBERS, seed=3)


@pytest.fixture(scope='module', autouse=True)
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        keep_libraries_in(tmp_path_factory.mktemp('cache'), patch)
        yield


@pytest.fixture(scope='module')
def push():
    return core.load_task('push', library_size=MEMBERS)


def make(folder, **options):
    rows, timings = simulate(
        ['push'], betas=[5.0, 25.0], humans=4, setup=SETUP, folder=folder, **options
    )
    write_analysis(analyse_simulations(rows, timings), folder)
    return rows


def files(folder):
    return {
        name: (folder / name).read_bytes()
        for name in ('rows.csv', 'summary.csv', 'tests.csv', 'statistics.txt', 'setup.json')
    }


@pytest.fixture(scope='module')
def first(tmp_path_factory):
    folder = tmp_path_factory.mktemp('first') / 'run'
    return folder, make(folder, workers=1)


def test_the_same_seed_gives_every_table_to_the_last_digit(first, tmp_path):
    folder, rows = first
    again = make(tmp_path / 'again', workers=2)
    assert rows == again
    assert files(folder) == files(tmp_path / 'again')


def test_another_seed_gives_other_people(first):
    _, rows = first
    other, _ = simulate_human(
        Setup(budget='printed', library_size=MEMBERS, seed=4), Job(task='push', beta=5.0, human=0)
    )
    assert other[0].theta != rows[0].theta


def test_what_is_read_is_what_was_written(first):
    folder, rows = first
    assert read_rows(folder / ROWS_FILE, Row) == rows


def test_every_method_sees_the_same_person(first):
    _, rows = first
    assert [row.method for row in rows[:6]] == [*ALL_METHODS, EXACT]
    assert len({row.theta for row in rows[:6]}) == 1
    assert len({row.theta for row in rows}) == 8
    for row in rows:
        expected = np.linalg.norm(np.subtract(row.theta, row.estimate))
        assert row.error == pytest.approx(expected, abs=1e-12)


def counted(calls, job):
    calls.append(job)
    row = Row(
        **vars(job),
        method='ignore',
        dependence='independent',
        error=1.0 / (3 + job.human),
        regret=0.1,
        theta=(0.6, 0.8),
        estimate=(1.0, 1 / 3),
    )
    timing = Timing(**vars(job), method='ignore', dependence='independent', seconds=0.1)
    return [row, row], [timing]


def run(jobs, folder, calls=None, **options):
    """Run jobs that give two rows each, and note which were really done."""
    function = partial(counted, [] if calls is None else calls)
    chosen = {'rows_each': 2, 'setup': {'seed': 0}, 'workers': 1, **options}
    return run_jobs(function, jobs, folder=folder, **chosen)


# Cut off in the last row of the third person, between two of theirs, and in the first row of all.
@pytest.mark.parametrize(('kept', 'tail', 'done'), [(6, 20, 2), (6, 0, 2), (1, 20, 0)])
def test_an_interrupted_run_goes_on_where_it_was(tmp_path, kept, tail, done):
    jobs = [Job(task='push', beta=5.0, human=human) for human in range(5)]
    calls = []
    whole = run(jobs, tmp_path, calls)
    assert calls == jobs
    path = tmp_path / ROWS_FILE
    expected = path.read_bytes()
    lines = expected.splitlines(keepends=True)
    path.write_bytes(b''.join(lines[:kept]) + lines[kept][:tail])
    calls.clear()
    told = []
    resumed = run(jobs, tmp_path, calls, on_done=lambda: told.append(1))
    assert calls == jobs[done:]
    assert len(told) == 5
    assert resumed == whole
    assert path.read_bytes() == expected


def test_a_run_that_fails_keeps_whoever_is_done(tmp_path):
    jobs = [Job(task='push', beta=5.0, human=human) for human in range(3)]

    def fail(job):
        if job.human == 2:
            raise InvalidInputError('out of coffee')
        return counted([], job)

    options = {'rows_each': 2, 'setup': {'seed': 0}, 'folder': tmp_path, 'workers': 1}
    with pytest.raises(InvalidInputError, match='coffee'):
        run_jobs(fail, jobs, **options)
    calls = []
    run(jobs, tmp_path, calls)
    assert calls == jobs[2:]


def test_a_full_disk_is_said_and_whoever_is_done_is_kept(tmp_path):
    jobs = [Job(task='push', beta=5.0, human=human) for human in range(30)]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Beyond it a file can grow no more; Python makes an error of it.
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
    try:
        with pytest.raises(InvalidInputError, match=r'cannot be written: .* is kept'):
            run(jobs, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    calls = []
    run(jobs, tmp_path, calls)
    assert 0 < len(calls) < len(jobs)


def test_rows_that_are_no_text_are_refused(tmp_path):
    (tmp_path / ROWS_FILE).write_bytes(b'\xff\xfe\n')
    with pytest.raises(InvalidInputError, match='cannot be read'):
        read_rows(tmp_path / ROWS_FILE, Row)


def test_a_second_task_leaves_the_rows_of_the_first(tmp_path):
    first = [Job(task='push', beta=5.0, human=human) for human in range(2)]
    second = [Job(task='close', beta=5.0, human=0)]
    rows, _ = run(first, tmp_path)
    others, _ = run(second, tmp_path)
    assert read_rows(tmp_path / ROWS_FILE, Row) == [*others, *rows]
    calls = []
    assert run(first, tmp_path, calls)[0] == rows
    assert calls == []


def test_rows_of_another_setup_are_not_mixed_in(tmp_path):
    jobs = [Job(task='push', beta=5.0, human=0)]
    run(jobs, tmp_path)
    assert json.loads((tmp_path / SETUP_FILE).read_text()) == {'seed': 0}
    with pytest.raises(InvalidInputError, match='another setup'):
        run(jobs, tmp_path, setup={'seed': 1})


def test_a_task_that_nobody_demonstrates_is_refused():
    with pytest.raises(InvalidInputError, match='no library'):
        simulate(['cup'], humans=1, workers=1)


@pytest.mark.parametrize('name', BUDGETS)
def test_all_methods_of_a_budget_do_the_same_work(name):
    budget = find_budget(name)
    for method in ALL_METHODS:
        settings = budget.settings(method, 3)
        steps = settings.chains * (settings.warmup + settings.max_draws * settings.thin)
        assert steps == budget.outer_steps
        # Nothing stops before.
        assert settings.batch == settings.max_draws
        assert settings.samples == budget.looked_at
        auxiliaries = 1 if settings.one_auxiliary else 3
        each = settings.inner_steps + (0 if budget.printed else settings.candidates)
        assert budget.looked_at - auxiliaries < auxiliaries * each <= budget.looked_at


def test_the_corners_of_the_hull_hold_the_true_maximum(push):
    demonstrations = core.simulate_corrections(
        push, [0.6, 0.8], beta=5.0, count=3, dependence='independent', seed=0
    )
    inference = core.Inference(
        push,
        demonstrations,
        dependence='independent',
        beta=5.0,
        **find_budget('thorough').options('maximum', 3),
    )
    next(steps := inference.iterate())
    next(steps)
    corners = inference.sampler.tables[0].statistics
    assert len(corners) < MEMBERS
    for theta in ThetaDomain(kind='unit_nonnegative', size=2).quasi_random(50):
        best = (push.library.features @ theta).max()
        assert (corners[:, :2] @ theta).max() == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize('kind', ['unit_nonnegative', 'box'])
def test_the_exact_posterior_is_what_summation_samples(push, kind):
    demonstrations = core.simulate_corrections(
        push, [0.6, 0.8], beta=25.0, count=3, dependence='independent', seed=1
    )
    domain = ThetaDomain(kind=kind, size=2)
    exact = ExactPosterior(push.library, domain, 25.0)
    posterior = core.infer(
        push,
        demonstrations,
        method='summation',
        dependence='independent',
        beta=25.0,
        theta=domain,
        seed=0,
        settings=core.Settings(max_draws=4000, target_ess=4000.0),
    )
    mean = exact.mean(push.evaluate(demonstrations.corrected))
    np.testing.assert_allclose(posterior.mean, mean, atol=0.02)


def test_the_exact_posterior_knows_where_it_is_exact(push):
    with pytest.raises(InvalidInputError, match='quarter circle'):
        ExactPosterior(push.library, ThetaDomain(kind='unit', size=2), 5.0)


def test_regret_among_members_is_the_planners(push):
    rng = np.random.default_rng(0)
    for _ in range(5):
        theta, estimate = np.abs(rng.normal(size=(2, 2)))
        expected = core.regret(push, theta, estimate)
        assert library_regret(push, theta, estimate) == pytest.approx(expected, abs=1e-9)
    assert library_regret(push, theta, theta) == 0.0


def test_all_of_the_papers_methods_are_compared():
    assert set(METHODS) == {'ignore', 'sampling', 'maximum', 'double_mh'}

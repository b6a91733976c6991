"""Repeated runs end with a table of what failed, whatever happens in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools import fresh, repeat
from tools.pins import ROOT

DEADLINE_SEC = 60.0
# The second of three tests fails in every other run, by what the one before it left.
SOMETIMES = """
from pathlib import Path

def test_good():
    pass

def test_flickers():
    left = Path(__file__).with_name('left')
    assert not left.exists(), left.unlink()
    left.touch()

def test_skipped():
    import pytest
    pytest.skip('not today')
"""
BREAKS = 'import os\n\ndef test_that_ends_pytest():\n    os._exit(9)\n'
WAITS = """
import os, signal, threading
from pathlib import Path

def test_that_is_interrupted():
    os.kill(os.getppid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait()
"""


@pytest.fixture
def run(tmp_path, capsys):
    """Return a function that repeats a file of tests, and gives the code and the last lines."""

    def run_text(text: str, times: int):
        path = tmp_path / 'test_repeated.py'
        path.write_text(text)
        code = repeat.main(['--times', str(times), '-p', 'no:cacheprovider', str(path)])
        return code, capsys.readouterr().out.splitlines()

    return run_text


def test_a_test_that_fails_sometimes_is_counted(run):
    code, lines = run(SOMETIMES, 2)
    assert code == 1
    count, name = lines[-2].split('  ')[-2:]
    assert (count.strip(), name.split('.')[-1]) == ('1 of 2', 'test_repeated::test_flickers')
    assert lines[-1] == '1 failures: 2 tests, 2 times, nothing beside'


def test_tests_that_pass_are_no_failures(run):
    code, lines = run('def test_good():\n    pass\n', 1)
    assert (code, lines[-1]) == (0, '0 failures: 1 tests, 1 times, nothing beside')


def test_a_run_that_breaks_is_a_row_and_the_next_one_is_run(run):
    code, lines = run(BREAKS, 2)
    assert code == 1
    assert [line.split(':')[0] for line in lines[-3:-1]] == [
        '   broken  run 1',
        '   broken  run 2',
    ]
    assert lines[-1].startswith('0 failures, 2 broken runs')


def test_what_pytest_cannot_do_is_not_tried_again(run, capsys):
    code = repeat.main(['--times', '5', 'no/such/folder'])
    assert code == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith('0 failures, 1 broken runs: 0 tests')


def test_interrupted_it_prints_what_it_knows(tmp_path):
    (tmp_path / 'test_repeated.py').write_text(WAITS)
    done = subprocess.run(
        [sys.executable, '-m', 'tools.repeat', '--times', '3', str(tmp_path / 'test_repeated.py')],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        timeout=DEADLINE_SEC,
        # What runs in the background of a shell ignores Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        check=False,
    )
    assert done.returncode == 130
    *_, row, total = done.stdout.splitlines()
    assert row == '   broken  interrupted'
    assert total.startswith('0 failures, 1 broken runs')


def test_the_repeated_tests_are_there():
    for path in repeat.TESTS:
        assert (ROOT / path).exists(), path


def is_alive(pid: int) -> bool:
    try:
        state = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0]
    except OSError:
        return False
    return state != 'Z'


def await_end(pids) -> None:
    deadline_sec = time.monotonic() + DEADLINE_SEC
    while any(is_alive(pid) for pid in pids):
        assert time.monotonic() < deadline_sec
        os.sched_yield()


def test_busy_processes_end_with_their_block():
    with repeat.busy(2) as pids:
        assert all(is_alive(pid) for pid in pids)
    assert not any(is_alive(pid) for pid in pids)


def test_busy_processes_end_with_a_parent_that_is_killed():
    program = (
        'from tools.repeat import busy\nwith busy(1) as pids: print(*pids, flush=True); input()'
    )
    parent = subprocess.Popen(
        [sys.executable, '-c', program],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert all(is_alive(pid) for pid in pids)
    parent.kill()
    parent.communicate()
    await_end(pids)


def write_repository(folder: Path, makefile: str) -> None:
    folder.mkdir()
    (folder / 'Makefile').write_text(makefile)
    for words in (['init', '-q'], ['add', '.'], ['commit', '-q', '-m', 'all']):
        subprocess.run(
            ['git', '-c', 'user.name=a', '-c', 'user.email=a@b.invalid', *words],
            cwd=folder,
            check=True,
        )


@pytest.mark.parametrize(
    ('makefile', 'problem'),
    [
        ('session:\n\t@test -z "$$(ls -A $$HOME)"\ntest:\n\t@test -d .git\n', ''),
        ('session:\n\t@true\ntest:\n\t@false\n', 'make test'),
        ('session:\n\t@touch left\ntest:\n\t@true\n', 'git status'),
    ],
)
def test_a_new_clone_passes_only_if_both_commands_do_and_leave_nothing(
    tmp_path, monkeypatch, capsys, makefile, problem
):
    write_repository(tmp_path / 'repository', makefile)
    temporary = tmp_path / 'temporary'
    temporary.mkdir()
    monkeypatch.setattr(fresh, 'ROOT', tmp_path / 'repository')
    monkeypatch.setattr('tempfile.tempdir', str(temporary))
    code = fresh.main(['--times', '2', '--logs', str(tmp_path / 'logs')])
    *_, first, second, total = capsys.readouterr().out.splitlines()
    assert code == (1 if problem else 0)
    assert total == ('0 of 2 passed' if problem else '2 of 2 passed')
    for row in (first, second):
        assert f'FAILED: {problem}' in row if problem else row.endswith('passed')
    assert list(temporary.iterdir()) == []


def test_a_new_user_has_no_venv_and_no_ros(tmp_path, monkeypatch):
    monkeypatch.setenv('VIRTUAL_ENV', '/venv')
    monkeypatch.setenv('PATH', f'/venv/bin{os.pathsep}/bin')
    monkeypatch.setenv('ROS_DISTRO', 'jazzy')
    monkeypatch.setenv('PIP_INDEX_URL', 'https://index.invalid')
    variables = fresh.new_user(tmp_path)
    assert variables['PATH'] == '/bin'
    assert variables['HOME'] == str(tmp_path)
    assert variables['PIP_INDEX_URL'] == 'https://index.invalid'
    assert 'ROS_DISTRO' not in variables

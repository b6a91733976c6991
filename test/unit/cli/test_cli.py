"""The shell of the command line: help, exit codes, one line instead of a traceback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest

import reward_learning_ros
from reward_learning_ros.cli import doctor
from reward_learning_ros.cli._recorded import kept_on_interrupt
from reward_learning_ros.cli.main import command_modules, main, make_parser
from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError


def run(*arguments):
    code = 'from reward_learning_ros.cli.main import main; exit(main())'
    return subprocess.run([sys.executable, '-c', code, *arguments], capture_output=True, text=True)


def failing(error):
    def run_command(options):
        raise error

    return run_command


@pytest.mark.parametrize('name', command_modules())
def test_every_command_tells_its_help(name, capsys):
    with pytest.raises(SystemExit) as caught:
        main([name, '--help'])
    assert caught.value.code == 0
    assert f'reward_learning {name}' in capsys.readouterr().out


def test_the_help_lists_every_command(capsys):
    with pytest.raises(SystemExit) as caught:
        main(['--help'])
    assert caught.value.code == 0
    output = capsys.readouterr().out
    assert {'doctor', 'session'} <= set(command_modules())
    for name in command_modules():
        assert re.search(rf'\n    {name}\s', output)


def test_help_needs_neither_ros_nor_anything_heavy():
    code = (
        'import sys\n'
        'from reward_learning_ros.cli.main import main\n'
        'try: main(["--help"])\n'
        'except SystemExit: pass\n'
        'print("LOADED", *sys.modules)'
    )
    output = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=True
    ).stdout
    loaded = set(output.split('LOADED ')[1].split())
    heavy = {'rclpy', 'mujoco', 'arviz', 'matplotlib', 'pandas', 'dask', 'yaml'}
    assert not loaded & heavy


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as caught:
        main(['--version'])
    assert caught.value.code == 0
    assert capsys.readouterr().out.strip() == f'reward_learning {reward_learning_ros.__version__}'


def test_without_a_command_the_help_is_shown_and_the_code_is_2(capsys):
    assert main([]) == 2
    assert 'doctor' in capsys.readouterr().out


@pytest.mark.parametrize('arguments', [['dance'], ['doctor', '--dance'], ['doctor', '--seconds']])
def test_a_wrong_command_line_is_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert 'usage:' in capsys.readouterr().err


def test_a_bad_parameter_is_one_line_and_code_2(capsys):
    assert main(['doctor', '--seconds', '-1']) == 2
    assert capsys.readouterr().err == (
        'reward_learning doctor: error: seconds = -1.0: must be a number, 0.1 to 600.0 (unit: s)\n'
    )


def test_tasks_are_prepared_if_all_of_them_exist(capsys):
    assert main(['prepare', 'press', 'reach']) == 0
    assert capsys.readouterr().out == 'press is ready\nreach is ready\n'
    assert main(['prepare', 'press', 'pres']) == 2
    captured = capsys.readouterr()
    assert captured.out == ''
    assert 'pres' in captured.err


@pytest.mark.parametrize(
    ('error', 'code', 'line'),
    [
        (RewardLearningError('it broke'), 1, 'reward_learning doctor: error: it broke\n'),
        (InvalidInputError('bad input'), 2, 'reward_learning doctor: error: bad input\n'),
        (KeyboardInterrupt(), 130, ''),
    ],
)
def test_an_error_is_one_line_and_a_code(monkeypatch, capsys, error, code, line):
    monkeypatch.setattr(doctor, 'run', failing(error))
    assert main(['doctor']) == code
    assert capsys.readouterr().err == line


@pytest.mark.parametrize('error', [RewardLearningError('it broke'), KeyboardInterrupt()])
def test_debug_shows_the_traceback(monkeypatch, error):
    monkeypatch.setattr(doctor, 'run', failing(error))
    with pytest.raises(type(error)):
        main(['--debug', 'doctor'])


def test_a_bug_is_not_hidden(monkeypatch):
    monkeypatch.setattr(doctor, 'run', failing(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        main(['doctor'])


def test_only_the_command_that_is_asked_for_is_loaded():
    text = make_parser(['doctor']).format_help()
    assert 'doctor' in text
    assert 'session' not in text


def test_in_a_process_the_codes_are_the_same():
    assert run('--version').returncode == 0
    bad = run('doctor', '--seconds', '0')
    assert bad.returncode == 2
    assert len(bad.stderr.splitlines()) == 1


@pytest.fixture(autouse=True)
def restore_sigterm():
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def test_sigterm_lets_a_command_clean_up(monkeypatch):
    cleaned = []

    def run_command(options):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.sigtimedwait([], 5)
        finally:
            cleaned.append(True)

    monkeypatch.setattr(doctor, 'run', run_command)
    with pytest.raises(SystemExit) as caught:
        main(['doctor'])
    assert caught.value.code == 143
    assert cleaned


def test_who_interrupts_a_long_command_is_told_that_it_goes_on(capsys):
    with pytest.raises(KeyboardInterrupt), kept_on_interrupt('finished trials in out are'):
        raise KeyboardInterrupt
    said = capsys.readouterr().err
    assert said == (
        'interrupted: finished trials in out are kept; the same command goes on from there\n'
    )

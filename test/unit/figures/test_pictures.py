"""Pictures of tasks: files that can be opened, and clear words where there can be none."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from reward_learning_ros import core
from reward_learning_ros.cli.main import main
from reward_learning_ros.cli.show import choose_theta
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError, install_command
from reward_learning_ros.figures.pictures import (
    TaskPicture,
    animate,
    compute_picture,
    draw_picture,
)

Image = pytest.importorskip('PIL.Image', reason='pictures need the extra study')


def portrait_of(task: core.Task) -> TaskPicture:
    """Return a portrait without the seconds that the sampling of people takes."""
    moved = task.plan + 0.02
    return TaskPicture(
        task=task,
        theta=choose_theta(task, None, None),
        ideal=moved,
        sampled=np.stack([task.plan, moved]),
        beta=5.0,
    )


@pytest.fixture(scope='module')
def close(tmp_path_factory: pytest.TempPathFactory) -> core.Task:
    directory = tmp_path_factory.mktemp('library')
    return core.load_task('close', library_size=12, cache_directory=directory)


@pytest.mark.parametrize('name', ['cup', 'press', 'serve'])
def test_a_picture_shows_something(name: str, tmp_path: Path) -> None:
    path = tmp_path / 'new' / f'{name}.png'
    draw_picture(portrait_of(core.load_task(name)), path)
    with Image.open(path) as image:
        assert min(image.size) > 400
        assert len(image.convert('RGB').getcolors(1 << 24)) > 50


def test_an_svg_names_axes_units_and_things(tmp_path: Path) -> None:
    path = tmp_path / 'press.svg'
    draw_picture(portrait_of(core.load_task('press')), path)
    ElementTree.parse(path)
    text = path.read_text(encoding='utf-8')
    for words in ('x (m)', 'z (m)', 'obstacle', 'ideal plan', 'initial plan', 'β = 5'):
        assert words in text


def test_a_rollout_is_animated_and_something_moves(close: core.Task, tmp_path: Path) -> None:
    path = tmp_path / 'close.gif'
    animate(close, close.library.trajectories[1], path)
    with Image.open(path) as image:
        assert image.n_frames > 20
        first = np.asarray(image.convert('RGB'), dtype=int)
        image.seek(image.n_frames - 1)
        assert np.abs(np.asarray(image.convert('RGB'), dtype=int) - first).max() > 50


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    task = core.load_task('press')
    with pytest.raises(InvalidInputError, match='nothing moves'):
        animate(task, task.plan, tmp_path / 'press.gif')
    with pytest.raises(InvalidInputError, match=r'\.png or \.svg'):
        draw_picture(portrait_of(task), tmp_path / 'press.bmp')
    blocked = tmp_path / 'file'
    blocked.write_text('')
    with pytest.raises(InvalidInputError, match='cannot be written'):
        draw_picture(portrait_of(task), blocked / 'press.png')


def test_theta_is_the_one_that_was_asked_for() -> None:
    task = core.load_task('press')
    np.testing.assert_array_equal(choose_theta(task, [1, 2, 3, 4], None), [1, 2, 3, 4])
    np.testing.assert_array_equal(choose_theta(task, None, 'goal'), task.presets['goal'])
    with pytest.raises(InvalidInputError, match='4 features: goal, button'):
        choose_theta(task, [1.0], None)
    with pytest.raises(UnknownNameError, match='goal_obstacle'):
        choose_theta(task, None, 'gaol')
    with pytest.raises(InvalidInputError, match='exclude'):
        choose_theta(task, [1, 2, 3, 4], 'goal')


def test_the_command_draws_a_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / 'cup.png'
    assert (
        main(['show', 'cup', '--preset', 'vertical', '--people', '1', '--output', str(path)]) == 0
    )
    assert capsys.readouterr().out.strip() == str(path)
    assert path.stat().st_size > 10_000


@pytest.mark.parametrize(
    'arguments',
    [
        ['show', 'cupp'],
        ['show', 'cup', '--theta', '1'],
        ['show', 'cup', '--preset', 'none'],
        ['show', 'cup', '--output', 'cup.doc'],
        ['show', 'cup', '--theta', '1e308', '0'],
        ['show', 'cup', '--theta', 'nan', '0'],
        ['show', 'cup', '--people', '-1'],
        ['show', 'cup', '--people', '0'],
        ['show', 'cup', '--beta', '-1'],
        ['show', 'cup', '--beta', 'inf'],
        ['show', 'cup', '--seed', '-1'],
        ['show', 'push', '--library-size', '0'],
    ],
)
def test_the_command_refuses_what_it_cannot_draw(arguments, capsys) -> None:
    assert main(arguments) == 2
    assert 'error' in capsys.readouterr().err


def test_without_matplotlib_the_message_names_the_extra(tmp_path: Path) -> None:
    code = (
        'import sys; sys.modules["matplotlib"] = None\n'
        'from reward_learning_ros.cli.main import main\n'
        f'sys.exit(main(["show", "cup", "--output", {str(tmp_path / "cup.png")!r}]))\n'
    )
    result = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    assert result.returncode == 1
    assert install_command('study') in result.stderr
    assert 'Traceback' not in result.stderr


def test_a_name_that_is_no_formula_is_drawn_as_it_is(tmp_path: Path) -> None:
    task = dataclasses.replace(core.load_task('cup'), feature_names=('$x^{bad$', 'a $ and a $'))
    path = tmp_path / 'cup.svg'
    portrait = compute_picture(task, np.array([1.0, 0.0]), beta=20.0, people=1, seed=0)
    draw_picture(portrait, path)
    assert '$x^{bad$' in path.read_text(encoding='utf-8')

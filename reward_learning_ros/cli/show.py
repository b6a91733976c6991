"""Draw a task: its scene, the initial and the ideal plan, sampled corrections, and a rollout.

Without a task, list the tasks that there are.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reward_learning_ros.core.errors import (
    InvalidInputError,
    RewardLearningError,
    UnknownNameError,
)

if TYPE_CHECKING:
    import numpy as np

    from reward_learning_ros.core.task import Task

NAME = 'show'
HELP = 'draw a task: scene, initial and ideal plan, sampled corrections'

_BETA = 20.0
# Weights are compared with each other, and the picture shows each person.
_MAX_WEIGHT = 1000.0
_MAX_PEOPLE = 1000
_MAX_LIBRARY = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the pictures."""
    parser.add_argument('task', nargs='?', metavar='TASK', help='name of a task')
    parser.add_argument(
        '--theta', nargs='+', type=float, metavar='WEIGHT', help='reward weights, one a feature'
    )
    parser.add_argument('--preset', help="one of the task's named θ (default: the first)")
    parser.add_argument(
        '--beta',
        type=float,
        default=_BETA,
        help='rationality of the people who correct (default: %(default)s)',
    )
    parser.add_argument(
        '--output',
        type=Path,
        metavar='FILE',
        help='a .png or .svg picture, or a .gif of the rollout (default: TASK.png, and TASK.gif '
        'for tasks with physics)',
    )
    parser.add_argument(
        '--library-size', type=int, help='trajectories to simulate, for tasks with physics'
    )
    parser.add_argument(
        '--people', type=int, default=4, help='how many people correct (default: %(default)s)'
    )
    parser.add_argument('--seed', type=int, default=0, help='of all random numbers')


def run(options: argparse.Namespace) -> int:
    """Draw, say which files were written, and return 0.

    Raises:
        RewardLearningError: The task, θ or the file cannot be used, or something is missing.
    """
    if options.task is None:
        _print_tasks()
        return 0
    from reward_learning_ros.figures import pictures
    from reward_learning_ros.figures.figure_style import require_matplotlib
    from reward_learning_ros.tasks import load_task

    # Said before the work, not after it.
    require_matplotlib()
    _check(options)
    settings: dict[str, Any] = {}
    if options.library_size is not None:
        settings['library_size'] = options.library_size
    task = load_task(options.task, **settings)
    theta = choose_theta(task, options.theta, options.preset)
    outputs = [options.output]
    if options.output is None:
        suffixes = ['.png'] if task.predict is None else ['.png', '.gif']
        outputs = [Path(f'{task.name}{suffix}') for suffix in suffixes]
    for output in outputs:
        if output.suffix.lower() == pictures.ANIMATION_FORMAT:
            from reward_learning_ros.core.planner import plan

            pictures.animate(task, plan(task, theta, seed=options.seed), output)
        else:
            if output.suffix.lower() not in pictures.PICTURE_FORMATS:
                raise InvalidInputError(
                    f'--output is {output}; allowed: a file that ends in .png, .svg or .gif'
                )
            portrait = pictures.compute_picture(
                task, theta, beta=options.beta, people=options.people, seed=options.seed
            )
            pictures.draw_picture(portrait, output)
        print(output)
    return 0


def _check(options: argparse.Namespace) -> None:
    """Refuse numbers that nothing can be drawn of."""
    from reward_learning_ros.core.checks import number_between, whole_number

    for weight in options.theta or ():
        number_between(weight, '--theta', -_MAX_WEIGHT, _MAX_WEIGHT)
    number_between(options.beta, '--beta', 1e-6, 1e6)
    number_between(options.people, '--people', 1, _MAX_PEOPLE)
    whole_number(options.seed, '--seed', 0)
    if options.library_size is not None:
        number_between(options.library_size, '--library-size', 1, _MAX_LIBRARY)


def choose_theta(task: Task, theta: list[float] | None, preset: str | None) -> np.ndarray:
    """Return the θ that was asked for, else the task's first preset, else the middle."""
    import numpy as np

    if theta is not None and preset is not None:
        raise InvalidInputError('--theta and --preset exclude each other')
    if theta is not None:
        if len(theta) != task.size:
            raise InvalidInputError(
                f'--theta has {len(theta)} weights, but task {task.name!r} has {task.size} '
                f'features: {", ".join(task.feature_names)}'
            )
        return np.array(theta)
    if preset is not None:
        if preset not in task.presets:
            raise UnknownNameError('preset', preset, task.presets)
        return np.array(task.presets[preset])
    if task.presets:
        return np.array(next(iter(task.presets.values())))
    return np.full(task.size, task.size**-0.5)


def _print_tasks() -> None:
    from reward_learning_ros.tasks import broken_tasks, load_task, task_names

    names = task_names()
    width = max(len(name) for name in names)
    for name in names:
        try:
            text = load_task(name).description
        except RewardLearningError as error:
            # One that cannot be loaded must not hide the others.
            text = f'cannot be loaded: {error}'
        print(f'{name:{width}}  {text}')
    for reason in broken_tasks().values():
        print(f'refused: {reason}')

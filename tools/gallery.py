"""Draw the pictures of docs/gallery; run within the environment."""

from __future__ import annotations

import argparse
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools import console_stills, film, informative_picture, model_pictures
from tools.domains import claimed_domain
from tools.pins import ROOT

GALLERY = ROOT / 'docs' / 'gallery'
INDEX = 'README.md'
# What all pictures together may weigh in the repository.
MAX_BYTES = 3_000_000
SEED = 3
# The session of which a film is made.
FILMED = ('--seed', '3')
# The session that is shown: a person of this rationality corrects so often.
SESSION_TASK, SESSION_BETA, SESSION_CORRECTIONS = 'press', 20.0, 5
# Those with physics simulate a library the first time, which takes minutes.
TASKS = ('press', 'reach', 'push_study', 'close', 'pour', 'cup')

_HEAD = """\
# Gallery

Made by `make gallery`; the same seeds give the same pictures. Colours are those of Okabe and Ito,
which colour-blind people can tell apart.
"""


@dataclass(frozen=True)
class Picture:
    """One picture: its file, what it shows, and how it is drawn."""

    name: str
    title: str
    caption: str
    draw: Callable[[Path], None]
    suffix: str = '.svg'

    @property
    def file(self) -> str:
        """Its name in the gallery."""
        return f'{self.name}{self.suffix}'


def pictures() -> Iterator[Picture]:
    """Yield all pictures, the film of a session first."""
    yield Picture(
        'session',
        'A session',
        'A simulated person teaches the simulated arm: its plan, their pushes, the next plan, and '
        'θ beside it, four times as fast as the arm moves.',
        _draw_film,
        '.gif',
    )
    yield from _console_pictures()
    yield from _session_pictures()
    yield from _example_pictures()
    yield from _model_pictures()
    for name in TASKS:
        yield Picture(
            f'task_{name}',
            f'Task `{name}`',
            f'`reward_learning show {name}`: the scene, what people with the first preset of θ '
            'make of the initial plan, and the best plan for it.',
            lambda path, name=name: _draw_task(name, path),  # type: ignore[misc]
        )


def _console_pictures() -> Iterator[Picture]:
    for name, title, caption in (
        (
            console_stills.PULL,
            'Pulling the arm on the page of the console',
            'The mouse holds the hand of the simulated arm while it plays its plan; the orange '
            'arrow is the force.',
        ),
        (
            console_stills.OPERATOR,
            "The operator's page",
            'After the pass: the corrections in red, the plan before in grey and the plan now in '
            'blue, θ over the prior, and what can be done now.',
        ),
        (
            console_stills.PARTICIPANT,
            "The participant's page",
            'The same moment as a participant sees it.',
        ),
    ):
        yield Picture(
            name,
            title,
            caption,
            _copy_still,
            console_stills.SUFFIX,
        )


def _copy_still(path: Path) -> None:
    shutil.copy(_stills() / path.name, path)


@functools.cache
def _stills() -> Path:
    """Return a folder with the stills of the console: one session makes them all."""
    folder = Path(tempfile.mkdtemp(prefix='stills-'))
    console_stills.take(folder)
    return folder


def _session_pictures() -> Iterator[Picture]:
    from reward_learning_ros.figures.figure_style import publication_style, save_figure
    from reward_learning_ros.session import session_figures

    data = simulated_session()

    def save(draw: Callable[..., Any], *arguments: Any) -> Callable[[Path], None]:
        def write(path: Path) -> None:
            with publication_style():
                save_figure(draw(*arguments), path)

        return write

    yield Picture(
        'session_plans',
        'What a session came to',
        f'{SESSION_CORRECTIONS} corrections of the plan by a simulated person, and the plan '
        'before and after them.',
        save(session_figures.plans_figure, data),
    )
    yield Picture(
        'session_intervals',
        'What was learned',
        'Intervals of θ and of the rationality β; diamonds are what the person wants.',
        save(session_figures.intervals_figure, data, data.posterior),
    )
    yield Picture(
        'session_pairs',
        'The posterior',
        'Draws of θ and β by conditionally dependent Double Metropolis–Hastings.',
        save(session_figures.pairs_figure, data, data.posterior),
    )
    yield Picture(
        'session_timeline',
        'How it was learned',
        'θ, Error and Regret after each correction.',
        save(session_figures.timeline_figure, data),
    )


def simulated_session() -> Any:
    """Return a session without an arm: a simulated person corrects, θ is inferred each time."""
    import numpy as np

    from reward_learning_ros import core
    from reward_learning_ros.interface import ThetaSummary
    from reward_learning_ros.session.session_data import PassOutcome, SessionData

    task = core.load_task(SESSION_TASK)
    theta = np.array(next(iter(task.presets.values())))
    whole = core.simulate_corrections(
        task, theta, beta=SESSION_BETA, count=SESSION_CORRECTIONS, seed=SEED
    )
    passes = []
    for count in range(1, SESSION_CORRECTIONS + 1):
        part = core.CorrectionSequence(
            plan=whole.plan,
            corrected=whole.corrected[:count],
            profiles=whole.resolved_profiles()[:count],
        )
        posterior = core.infer(task, part, seed=SEED)
        table = posterior.table()[:, :-1]
        summary = ThetaSummary(
            features=task.feature_names, mean=table[0], sd=table[1], quantiles=table[2:]
        )
        trajectory = core.plan(task, posterior.mean, seed=SEED)
        passes.append(PassOutcome(pushes=count, theta=summary, trajectory=trajectory))
    return SessionData(
        task=task,
        seed=SEED,
        sequences=(whole,),
        posterior=posterior,
        passes=tuple(passes),
        final_plan=passes[-1].trajectory,
        theta_star=theta,
        beta_star=SESSION_BETA,
    )


def _example_pictures() -> Iterator[Picture]:
    from reward_learning_ros.experiments import simulation_figures as figures
    from reward_learning_ros.experiments.working_example import working_example

    result = working_example(seed=SEED)
    yield Picture(
        'example_approximations',
        'Three ways around the normalizer',
        'Belief error in the working example (the paper’s figure 2).',
        lambda path: figures.draw_approximations(result, path),
    )
    yield Picture(
        'example_sampling_or_maximum',
        'Sampling or the maximum',
        'Which is better depends on β (the paper’s figure 3).',
        lambda path: figures.draw_comparison(result, path),
    )


def _model_pictures() -> Iterator[Picture]:
    from reward_learning_ros.figures.figure_style import publication_style, save_figure

    for name, title, figure in model_pictures.pictures():

        def write(path: Path, figure: Any = figure) -> None:
            with publication_style():
                save_figure(figure, path)

        caption = (
            'The cup of the working example; [the model in pictures](../model.md) explains it.'
        )
        yield Picture(name, title, caption, write)
    name, title, informative = informative_picture.picture()

    def write_informative(path: Path) -> None:
        with publication_style():
            save_figure(informative, path)

    yield Picture(
        name,
        title,
        'The tray of [your own task](../start/own_task.md): what one push tells in bits, and how '
        'much of each weight one correction settles.',
        write_informative,
    )


def _draw_film(path: Path) -> None:
    """Run a session of the simulated arm, and make a film of its recording."""
    with tempfile.TemporaryDirectory() as folder, claimed_domain() as domain:
        subprocess.run(
            [sys.executable, '-m', 'reward_learning_ros.cli', 'session', *FILMED],
            cwd=folder,
            env={**os.environ, 'ROS_DOMAIN_ID': str(domain), 'PYTHONPATH': str(ROOT)},
            check=True,
        )
        film.make(Path(folder) / 'sessions' / 'demo' / 'p01' / '001', path)


def _draw_task(name: str, path: Path) -> None:
    import numpy as np

    from reward_learning_ros import core
    from reward_learning_ros.figures.pictures import compute_picture, draw_picture

    task = core.load_task(name)
    theta = np.array(next(iter(task.presets.values())))
    draw_picture(compute_picture(task, theta, beta=SESSION_BETA, seed=SEED), path)


def main(arguments: list[str] | None = None) -> int:
    """Draw all pictures and write the page that shows them."""
    from reward_learning_ros.figures.html_page import shortened

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--output', type=Path, default=GALLERY, metavar='FOLDER')
    folder = parser.parse_args(arguments).output
    page = [_HEAD]
    for picture in pictures():
        path = folder / picture.file
        picture.draw(path)
        if picture.suffix == '.svg':
            path.write_text(shortened(path.read_text(encoding='utf-8')), encoding='utf-8')
        print(path)
        page.append(
            f'## {picture.title}\n\n![{picture.title}]({picture.file})\n\n{picture.caption}\n'
        )
    (folder / INDEX).write_text('\n'.join(page), encoding='utf-8')
    weight = sum(path.stat().st_size for path in folder.iterdir())
    print(f'{weight / 1000:.0f} kB in all')
    if weight > MAX_BYTES:
        print(f'error: at most {MAX_BYTES / 1000:.0f} kB are allowed', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())

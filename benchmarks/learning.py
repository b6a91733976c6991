"""What passes teach, without an arm: Error and Regret after each, by kind of person and way."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros import core
from reward_learning_ros.core.recommended import MOTOR_NOISE_M, PASS_MODEL
from reward_learning_ros.experiments.armless_sessions import (
    AfterPass,
    GradientStep,
    Inferred,
    Learner,
    run_session,
)
from reward_learning_ros.participant.people import KINDS, MODEL, PURPOSEFUL, Person

# The hand of the people that push, in metres; purposeful ones with a good one and a bad one.
HANDS_M = {PURPOSEFUL: (0.003, 0.02), 'lazy': (0.01,), 'content': (0.01,), MODEL: (0.0,)}
BETA = 10.0
STEPS = (0.1, 0.3, 1.0, 3.0, 10.0)
# By less than this share of the unasked plan's mean Regret nobody would notice.
NOTICED = 0.05
# θ* of the people come from seeds of their own. Those of 1000 and 2000 were looked at while the
# model and the choice of plans were made; these were not.
PEOPLE_SEED = 3000


@dataclass(frozen=True)
class Way:
    """A way of learning: the learner, and whether it and the planner see soft features."""

    learner: Learner
    soft: bool = True


def ways() -> dict[str, Way]:
    """Return the ways of learning by name."""
    model = dict(PASS_MODEL)
    return {
        'chosen': Way(Inferred(options=model)),
        'bold': Way(Inferred(options=model, bold=True)),
        'shy': Way(Inferred(options={**model, 'bother': core.BotherPrior()})),
        'exact': Way(Inferred(options={'beta': BETA})),
        'paper': Way(Inferred(), soft=False),
        'zero': Way(Inferred(options={'silence': 'zero', 'beta': model['beta']})),
        'left_out': Way(Inferred(options={'silence': 'left_out', 'beta': model['beta']})),
        'own_effort': Way(Inferred(options={**model, 'alpha': 'infer'})),
        'eager': Way(Inferred(options={**model, 'bother': core.BotherPrior(high=0.0)})),
        'wide_beta': Way(Inferred(options={**model, 'beta': 'infer'})),
        'end_only': Way(Inferred(options={**model, 'gamma': 0.0})),
        'ignore': Way(Inferred(options={**model, 'method': 'ignore'})),
        'sampling': Way(Inferred(options={**model, 'method': 'sampling'})),
        'maximum': Way(Inferred(options={**model, 'method': 'maximum'})),
        **{f'gradient {step:g}': Way(GradientStep(step=step)) for step in STEPS},
    }


def run(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Simulate the sessions and print a line for each kind of person and way of learning."""
    options = _options(arguments)
    known = ways()
    kept = _Kept(options.keep)
    lines: dict[str, Any] = {}
    for name in options.tasks:
        task = core.load_task(name)
        soft = task.softened(options.motor_noise_m)
        for kind, hand_m in _people(options.kinds):
            for way in options.ways:
                if way == 'exact' and kind != MODEL:
                    continue
                stories = []
                for index in range(options.people):
                    rng = np.random.default_rng([PEOPLE_SEED, index])
                    person = Person(
                        kind=kind,
                        task=soft,
                        theta=soft.theta.sample(1, rng)[0],
                        beta=BETA,
                        motor_noise_m=hand_m,
                        seed=index,
                    )
                    key = f'{name} {kind} {hand_m} {way} {options.motor_noise_m} {index}'
                    key += f' of {PEOPLE_SEED}'
                    if key not in kept:
                        story = run_session(
                            person,
                            known[way].learner,
                            task=soft if known[way].soft else task,
                            passes=options.passes,
                            seed=index,
                        )
                        kept.add(key, story)
                    stories.append(kept[key])
                    _progress(f'{name}, {kind}, {way}: {index + 1} of {options.people}')
                label = f'{name} {kind}' + (f' {1000 * hand_m:g} mm' if hand_m else '')
                lines[f'{label}, {way}'] = _line(label, way, stories)
    return lines


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='python -m benchmarks learning', description=__doc__)

    def names(text: str) -> list[str]:
        return text.split(',')

    default = ['chosen', 'exact', 'zero', 'ignore', 'sampling', 'maximum']
    default += [f'gradient {step:g}' for step in STEPS]
    parser.add_argument('--people', type=int, default=20, help='of each kind')
    parser.add_argument('--passes', type=int, default=3)
    parser.add_argument(
        '--tasks', type=names, default=['press', 'press_conflict', 'reach', 'push_study']
    )
    parser.add_argument('--kinds', type=names, default=list(KINDS))
    parser.add_argument('--ways', type=names, default=default, help=f'of {", ".join(ways())}')
    parser.add_argument('--motor-noise-m', type=float, default=MOTOR_NOISE_M)
    parser.add_argument('--keep', type=Path, help='file of finished sessions, to go on with')
    options = parser.parse_args(arguments)
    for given, known in ((options.kinds, KINDS), (options.ways, ways())):
        for name in given:
            if name not in known:
                parser.error(f'{name!r} is unknown; known: {", ".join(known)}')
    return options


def _people(kinds: Sequence[str]) -> Iterator[tuple[str, float]]:
    for kind in kinds:
        for hand_m in HANDS_M[kind]:
            yield kind, hand_m


def _line(label: str, way: str, stories: Sequence[Sequence[AfterPass]]) -> dict[str, Any]:
    """Print a line of the table and return its numbers."""
    errors = np.array([[after.error for after in story] for story in stories])
    regrets = np.array([[after.regret for after in story] for story in stories])
    covered = np.array([[after.covered for after in story[1:]] for story in stories])
    unasked = regrets[:, 0].mean()
    worse = regrets[:, -1] - regrets[:, 0]
    result = {
        'error': errors.mean(axis=0).tolist(),
        'error_standard_error': _standard_error(errors),
        'regret': regrets.mean(axis=0).tolist(),
        'regret_standard_error': _standard_error(regrets),
        'regret_share': float(regrets[:, -1].mean() / unasked),
        'ended_worse': float((worse > NOTICED * unasked).mean()),
        'ended_worse_by_any': float((worse > 0.0).mean()),
        'coverage': covered.mean(axis=0).tolist(),
        'people': len(stories),
    }
    _progress('')
    print(
        f'{label:24}{way:14}Error {_numbers(errors, 3)}  Regret {_numbers(regrets, 4)}'
        f'  share {result["regret_share"]:5.2f}  worse {result["ended_worse"]:.2f}'
        f'  covered {covered[:, -1].mean():.2f}',
        flush=True,
    )
    return result


def _numbers(values: np.ndarray, digits: int) -> str:
    means, errors = values.mean(axis=0), _standard_error(values)
    return ' '.join(f'{m:.{digits}f}±{e:.{digits}f}' for m, e in zip(means, errors, strict=True))


def _standard_error(values: np.ndarray) -> list[float]:
    if len(values) < 2:
        return [float('nan')] * values.shape[1]
    spread: list[float] = (values.std(axis=0, ddof=1) / np.sqrt(len(values))).tolist()
    return spread


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f'\r\033[K{text}', end='', file=sys.stderr, flush=True)


class _Kept:
    """Finished sessions, also of runs before, by what they were."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._stories: dict[str, list[AfterPass]] = {}
        if path is not None and path.exists():
            for text in path.read_text(encoding='utf-8').splitlines():
                entry = json.loads(text)
                self._stories[entry['key']] = [AfterPass(**after) for after in entry['story']]

    def __contains__(self, key: str) -> bool:
        return key in self._stories

    def __getitem__(self, key: str) -> list[AfterPass]:
        return self._stories[key]

    def add(self, key: str, story: list[AfterPass]) -> None:
        """Keep a session."""
        self._stories[key] = story
        if self._path is not None:
            entry = {'key': key, 'time': time.time(), 'story': [asdict(after) for after in story]}
            with self._path.open('a', encoding='utf-8') as file:
                file.write(json.dumps(entry) + '\n')

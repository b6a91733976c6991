"""How well pushes of the simulated arm are found, and how seldom others are: on MuJoCo, no ROS.

Each seed is another arm with another bias, on a core of its own. A part takes minutes and can be
run alone: `python -m benchmarks.pushes --parts yielding`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.pushed_arm import PushedArm
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.arm.simulation_parameters import SimulationParameters
from reward_learning_ros.experiments.parallel import run_all
from reward_learning_ros.sensing.deltas import CorrectionRecorder
from reward_learning_ros.sensing.samples import NANOSECONDS

SEEDS = tuple(range(8))
PUSHES_PER_SEED = 25
UNPUSHED_SEC_PER_SEED = 75.0
# Once through every plan while nobody pushes.
LEARNING_SEC = 50.0
YIELDING, STIFF, UNPUSHED = 'yielding', 'stiff', 'unpushed'
PARTS = (YIELDING, STIFF, UNPUSHED)


def run(parts: tuple[str, ...] = PARTS, seeds: tuple[int, ...] = SEEDS) -> dict[str, Any]:
    """Measure, print a table, and return the numbers."""
    results: dict[str, Any] = {}
    if YIELDING in parts:
        outcomes = _of_all(partial(push_one, yields=True), seeds)
        results |= summary('the plan gives way', outcomes)
    if STIFF in parts:
        outcomes = _of_all(partial(push_one, yields=False), seeds)
        results |= summary('the plan stays', outcomes)
    if UNPUSHED in parts:
        results |= _unpushed(seeds)
    for name, value in results.items():
        print(f'{name:<72} {value:.4g}')
    return results


def _of_all(function: Callable[[int], Any], seeds: tuple[int, ...]) -> list[Any]:
    return [outcome for _, outcome in run_all(function, seeds)]


def _arm(seed: int, *, yields: bool, learning_sec: float = LEARNING_SEC) -> PushedArm:
    """Return an arm with a bias of 2 N·m and loud noise that was played unpushed."""
    simulation = SimulationParameters(torque_bias_nm=2.0, torque_noise_nm=0.2, seed=seed)
    recorder = CorrectionRecorder(jacobian=Kinematics().jacobian)
    arm = PushedArm(simulation=simulation, recorder=recorder, yields=yields)
    recorder.detector.learning = True
    arm.run(seconds=learning_sec)
    recorder.detector.learning = False
    return arm


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of the pushes of one arm.

    Attributes:
        pushes, missed, split, merged, without_push, stops: how many there were.
        onsets_sec: errors of the onset, of pushes that became one correction each.
        errors_m: of the displacement.
        angles_deg: of its direction.
    """

    pushes: int
    missed: int
    split: int
    merged: int
    without_push: int
    stops: int
    onsets_sec: list[float]
    errors_m: list[float]
    angles_deg: list[float]


def push_one(seed: int, *, yields: bool) -> Outcome:
    """Push one arm, and compare its corrections with the pushes."""
    arm = _arm(seed, yields=yields)
    arm.run(pushes=PUSHES_PER_SEED, rng=np.random.default_rng(100 + seed))
    owners = [
        [
            index
            for index, push in enumerate(arm.pushes)
            if contact.onset_ns / NANOSECONDS < push.end_sec
            and contact.end_ns / NANOSECONDS > push.start_sec
        ]
        for contact in arm.contacts
    ]
    claims = np.bincount([i for owner in owners for i in owner], minlength=len(arm.pushes))
    onsets_sec, errors_m, angles_deg = [], [], []
    for owner, contact in zip(owners, arm.contacts, strict=True):
        if len(owner) != 1 or claims[owner[0]] != 1:
            continue
        push, truth = arm.pushes[owner[0]], arm.truths_m[owner[0]]
        onsets_sec.append(abs(contact.onset_ns / NANOSECONDS - push.start_sec))
        errors_m.append(float(np.linalg.norm(contact.displacement_m - truth)))
        size = np.linalg.norm(truth) * np.linalg.norm(contact.displacement_m)
        cosine = np.clip(truth @ contact.displacement_m / size, -1.0, 1.0)
        angles_deg.append(float(np.degrees(np.arccos(cosine))))
    return Outcome(
        pushes=len(arm.pushes),
        missed=int(np.count_nonzero(claims == 0)),
        split=int(np.count_nonzero(claims > 1)),
        merged=sum(len(owner) > 1 for owner in owners),
        without_push=sum(not owner for owner in owners),
        stops=arm.faults,
        onsets_sec=onsets_sec,
        errors_m=errors_m,
        angles_deg=angles_deg,
    )


def summary(name: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the numbers of all arms together."""

    def total(field: str) -> int:
        return sum(getattr(outcome, field) for outcome in outcomes)

    def percentile(field: str, percent: float) -> float:
        values = [value for outcome in outcomes for value in getattr(outcome, field)]
        return float(np.percentile(values, percent))

    pushes = total('pushes')
    return {
        f'{name}: pushes': pushes,
        f'{name}: found, % (99 wanted)': 100.0 * (pushes - total('missed')) / pushes,
        f'{name}: split (0 wanted)': total('split'),
        f'{name}: merged (0 wanted)': total('merged'),
        f'{name}: corrections without a push (0 wanted)': total('without_push'),
        f'{name}: times the arm stopped because a push was too strong': total('stops'),
        f'{name}: onset error, median, ms (60 wanted)': 1e3 * percentile('onsets_sec', 50),
        f'{name}: onset error, 95 %, ms': 1e3 * percentile('onsets_sec', 95),
        f'{name}: displacement error, median, mm (5 wanted)': 1e3 * percentile('errors_m', 50),
        f'{name}: displacement error, 95 %, mm': 1e3 * percentile('errors_m', 95),
        f'{name}: direction error, median, degrees (10 wanted)': percentile('angles_deg', 50),
        f'{name}: direction error, 95 %, degrees': percentile('angles_deg', 95),
    }


def leave_alone(seed: int) -> tuple[int, int]:
    """Return how many corrections one arm saw with nobody near: with its bias learned, without."""
    counts = []
    for learning_sec in (LEARNING_SEC, 0.0):
        arm = _arm(seed, yields=True, learning_sec=learning_sec)
        arm.run(seconds=UNPUSHED_SEC_PER_SEED)
        counts.append(len(arm.contacts))
    return counts[0], counts[1]


def _unpushed(seeds: tuple[int, ...]) -> dict[str, Any]:
    false, fresh = np.sum(_of_all(leave_alone, seeds), axis=0)
    minutes = UNPUSHED_SEC_PER_SEED * len(seeds) / 60.0
    return {
        f'unpushed, {minutes:g} min: false corrections (0 wanted)': int(false),
        f'unpushed, {minutes:g} min, nothing learned before: false corrections': int(fresh),
    }


def main() -> int:
    """Measure some parts of it."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.pushes', description=__doc__)
    parser.add_argument('--parts', nargs='+', choices=PARTS, default=PARTS)
    parser.add_argument('--seeds', nargs='+', type=int, default=SEEDS)
    options = parser.parse_args()
    run(tuple(options.parts), tuple(options.seeds))
    return 0


if __name__ == '__main__':
    sys.exit(main())

"""What sessions must achieve, measured over seeds: whole sessions with simulated participants.

    make acceptance                              # ten seeds of Press, Reach and Push
    make acceptance ARGS='--seeds 2 --tasks press'
    make acceptance ARGS='--preset 1'            # the second preset of each task is taught

For each task the median Regret of the plan shown last, as a share of the initial plan's; whether
the arm ever had to hold; whether corrections were found while nobody pushed; whether θ of the
session and θ of its recording agree to the last bit; and the time from the end of a correction to
the new plan. Beside it stand two other Regrets: that of the plan for the mean of the prior, which
is what one gets without having asked anybody, and that of sessions without an arm, in which every
push is felt exactly as it was meant.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ideal_sessions import ideal_regret_share
from reward_learning_ros import core

RESULTS = Path(__file__).parent / 'results' / 'acceptance.json'
TASKS = ('press', 'reach', 'push_study')
LARGEST_REGRET_SHARE = 0.2
LARGEST_LATENCY_SEC = 1.5
BETA = 10.0
MAX_CORRECTIONS = 6
LONGEST_SESSION_SEC = 900.0
PRIOR_SAMPLES = 100_000


def main() -> int:
    """Run the sessions, print what came out, and return 0 only if all is as it must be."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.acceptance', description=__doc__)
    parser.add_argument('--seeds', type=int, default=10, help='sessions of each task')
    parser.add_argument('--first-seed', type=int, default=0, help='the first of their seeds')
    parser.add_argument('--tasks', nargs='+', default=TASKS, help='tasks')
    parser.add_argument('--preset', type=int, default=0, help='number of the preset to be taught')
    parser.add_argument('--domain', type=int, default=87, help='ROS domain of the sessions')
    parser.add_argument('--keep', type=Path, help='folder in which the sessions stay')
    parser.add_argument('options', nargs='*', help='passed on to `reward_learning session`')
    options = parser.parse_args()
    further = options.options
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        results = {
            task: [
                run_session(
                    task, seed, folder, options.domain, [*taught(task, options.preset), *further]
                )
                for seed in range(options.first_seed, options.first_seed + options.seeds)
            ]
            for task in options.tasks
        }
    verdicts = [judge(task, sessions) for task, sessions in results.items()]
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2) + '\n', encoding='utf-8')
    print(f'kept in {RESULTS}')
    return 0 if all(verdicts) else 1


def run_session(
    task: str, seed: int, folder: Path, domain: int, further: list[str]
) -> dict[str, Any] | None:
    """Run one session and return its summary, None if it failed."""
    command = [sys.executable, '-m', 'reward_learning_ros.cli', 'session', '--json']
    command += ['--task', task, '--seed', str(seed), '--sessions', str(folder)]
    command += ['--study', f'acceptance_{task}', '--participant', f's{seed}']
    command += ['--participant-beta', str(BETA), '--max-corrections', str(MAX_CORRECTIONS)]
    before = machine_time()
    done = subprocess.run(
        [*command, *further],
        env={**os.environ, 'ROS_DOMAIN_ID': str(domain)},
        capture_output=True,
        text=True,
        timeout=LONGEST_SESSION_SEC,
        check=False,
    )
    if done.returncode:
        print(f'{task} {seed}: failed with code {done.returncode}\n{done.stderr}', flush=True)
        return None
    summary: dict[str, Any] = json.loads(done.stdout)
    summary['stolen_share'] = stolen_share(before, machine_time())
    summary['regret_without_corrections'] = regret_of_prior_mean(task, summary['theta_star'])
    summary['ideal_regret_share'] = ideal_regret_share(
        task, summary['theta_star'], beta=BETA, seed=seed, max_corrections=MAX_CORRECTIONS
    )
    latency = statistics.median(summary['latency_sec']) if summary['latency_sec'] else float('nan')
    print(
        f'{task} {seed}: {summary["end"]}, {summary["corrections"]} corrections of '
        f'{summary["pushes"]} pushes ({summary["corrections_without_push"]} without one), '
        f'{summary["passes"]} passes, regret {share(summary):.1%} of the initial plan '
        f'({share(summary, "regret_without_corrections"):.1%} without corrections, '
        f'{summary["ideal_regret_share"]:.1%} without an arm), '
        f'latency {latency:.2f} s, agrees {summary["agrees_with_live"]}, '
        f'{summary["stolen_share"]:.0%} of the machine taken by others, '
        f'faults {summary["faults"] or "none"}, warnings {summary["warnings"] or "none"}',
        flush=True,
    )
    return summary


def machine_time() -> list[int]:
    """Return what the cores did since the machine started, as Linux counts it."""
    with Path('/proc/stat').open(encoding='ascii') as file:
        return [int(number) for number in file.readline().split()[1:9]]


def stolen_share(before: list[int], after: list[int]) -> float:
    """Return the share of the cores' time that the host of a virtual machine gave to others.

    A process that was late may have been so because of that.
    """
    passed = [late - early for early, late in zip(before, after, strict=True)]
    return passed[-1] / max(1, sum(passed))


def taught(task: str, preset: int) -> list[str]:
    """Return the options of a session whose participant wants one of the task's presets."""
    theta = list(core.load_task(task).presets.values())[preset]
    return ['--participant-theta', *map(str, theta)]


def regret_of_prior_mean(name: str, theta: list[float]) -> float:
    """Return the Regret of the plan of somebody who knows the prior and nothing else."""
    task = core.load_task(name)
    mean = task.theta.sample(PRIOR_SAMPLES, np.random.default_rng(0)).mean(axis=0)
    return core.regret(task, theta, mean)


def share(summary: dict[str, Any], regret: str = 'regret') -> float:
    """Return a Regret, of the plan shown last by default, as a share of the initial plan's."""
    return float(summary[regret] / summary['initial_regret'])


def judge(task: str, sessions: list[dict[str, Any] | None]) -> bool:
    """Print what a task's sessions came to, and return whether it is enough."""
    done = [session for session in sessions if session is not None]
    if len(done) < len(sessions):
        print(f'{task}: {len(sessions) - len(done)} sessions failed')
        return False
    regret = statistics.median(share(session) for session in done)
    unasked = statistics.median(share(session, 'regret_without_corrections') for session in done)
    latencies = [latency for session in done for latency in session['latency_sec']]
    latency = statistics.median(latencies) if latencies else float('inf')
    faults = sum(len(session['faults']) for session in done)
    invented = sum(session['corrections_without_push'] for session in done)
    disagreeing = sum(session['agrees_with_live'] is not True for session in done)
    verdicts = {
        f'median regret {regret:.1%}': regret <= LARGEST_REGRET_SHARE,
        f'median latency {latency:.2f} s': latency <= LARGEST_LATENCY_SEC,
        f'{faults} faults': faults == 0,
        f'{invented} corrections that nobody made': invented == 0,
        f'{disagreeing} of {len(done)} differ from their recording': disagreeing == 0,
    }
    ideals = [session['ideal_regret_share'] for session in done]
    print(f'{task}: median regret without corrections {unasked:.1%}')
    print(f'{task}: median regret without an arm {statistics.median(ideals):.1%}')
    print(
        f'{task}: at most {LARGEST_REGRET_SHARE:.0%} in {_within([*map(share, done)])} of '
        f'{len(done)} sessions, without an arm in {_within(ideals)}'
    )
    for text, is_good in verdicts.items():
        print(f'{task}: {text}: {"as it must be" if is_good else "NOT ENOUGH"}')
    return all(verdicts.values())


def _within(shares: list[float]) -> int:
    return sum(share <= LARGEST_REGRET_SHARE for share in shares)


if __name__ == '__main__':
    sys.exit(main())

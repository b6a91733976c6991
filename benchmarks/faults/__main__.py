"""Make faults on purpose, and judge what the simulated arm does then.

    make faults ARGS=motion                                # everything; takes two hours
    make faults ARGS='motion --only consent --orders 20'
    make faults ARGS='motion --only holds --minutes 2'
    make faults ARGS=session                               # what becomes of sessions; an hour
    make faults ARGS='session --kinds "full disk" --states playing'

All run in real time with the shipped timings, and judge measured joint velocities.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.faults import consent, holds, plans, session, session_faults, timing
from benchmarks.faults.report import keep_results
from benchmarks.faults.station import use_domain
from reward_learning_ros.core.cores import available_cores
from tools.domains import claimed_domain

RESULTS = Path(__file__).parents[1] / 'results'


def main(arguments: list[str] | None = None) -> int:
    """Run the parts that are chosen; return 0 only if nothing was violated."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.faults',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('campaign', choices=tuple(CAMPAIGNS), help='which faults')
    parser.add_argument('--only', nargs='+', choices=tuple(PARTS), help='parts of motion')
    parser.add_argument('--seed', type=int, default=0, help='of all random numbers')
    parser.add_argument('--orders', type=int, default=200, help='of events, against a session')
    parser.add_argument('--plans', type=int, default=200, help='replacements of the plan')
    parser.add_argument('--calls', type=int, default=10_000, help='of timing')
    parser.add_argument('--minutes', type=float, default=10.0, help='of faults in mid-motion')
    parser.add_argument(
        '--faults',
        nargs='+',
        choices=holds.KINDS,
        default=holds.KINDS,
        metavar='FAULT',
        help=f'of {", ".join(holds.KINDS)}',
    )
    parser.add_argument(
        '--load', type=int, default=available_cores(), help='busy processes beside faults'
    )
    parser.add_argument(
        '--kinds',
        nargs='+',
        choices=tuple(session_faults.FAULTS),
        default=tuple(session_faults.FAULTS),
        metavar='FAULT',
        help=f'of a session: {", ".join(session_faults.FAULTS)}',
    )
    parser.add_argument('--states', nargs='+', choices=session.STATES, default=session.STATES)
    parser.add_argument('--pairs', type=int, default=30, help='of faults of a session at once')
    parser.add_argument('--output', type=Path, default=RESULTS, help='folder of the JSON file')
    options = parser.parse_args(arguments)
    # Also in the background of a shell, where Ctrl-C is ignored: no process is left behind.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    chosen = options.only or CAMPAIGNS[options.campaign]
    results: dict[str, Any] = {}
    with claimed_domain() as domain_id:
        use_domain(domain_id)
        for name in chosen:
            results[name] = {'seed': options.seed, **_run(name, PARTS[name], options)}
    path = options.output / f'faults_{options.campaign}.json'
    keep_results(path, results)
    violations = [f'{name}: {text}' for name in chosen for text in results[name]['violations']]
    print(f'\nkept in {path}')
    for violation in violations:
        print(f'VIOLATED: {violation}')
    return 1 if violations else 0


def _run(
    name: str, part: Callable[[argparse.Namespace], dict[str, Any]], options: argparse.Namespace
) -> dict[str, Any]:
    print(f'== {name}', flush=True)
    started_sec = time.monotonic()
    results = part(options)
    print(f'   {time.monotonic() - started_sec:.0f} s', flush=True)
    return results


PARTS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    'consent': lambda options: consent.run(orders=options.orders, seed=options.seed),
    'plans': lambda options: plans.run(replacements=options.plans, seed=options.seed),
    'timing': lambda options: timing.run(calls=options.calls, seed=options.seed),
    'holds': lambda options: holds.run(
        minutes=options.minutes, seed=options.seed, kinds=options.faults, load=options.load
    ),
    'session': lambda options: session.run(
        seed=options.seed, states=options.states, faults=options.kinds, pairs=options.pairs
    ),
}
CAMPAIGNS = {'motion': ('consent', 'plans', 'timing', 'holds'), 'session': ('session',)}


if __name__ == '__main__':
    sys.exit(main())

"""Try hostile input on all that reads what others wrote.

    make fuzz MINUTES=20
    make fuzz MINUTES=1 ARGS='--only mcap sqlite --seed 3'

Each target gets the same share of the time. A case may be read or refused with an error of ours;
anything else, or more than five seconds of the processor for one case, is a failure. The smallest
case of each failure is kept in the corpus, which `make test` tries again.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import sys
import time
from pathlib import Path

from benchmarks.faults.report import keep_results, print_table
from benchmarks.fuzz import corpus
from benchmarks.fuzz.campaign import Outcome, Target, try_case, try_cases
from benchmarks.fuzz.registry import targets

RESULTS = Path(__file__).parents[1] / 'results'
# Cases of a target in one go; then the next target's turn comes.
_BATCH = 100
# Of this process, at any time.
MAX_MEMORY_MIB = 500.0


def main(arguments: list[str] | None = None) -> int:
    """Try cases until the time is over; return 0 only if none failed."""
    found = {target.name: target for target in targets()}
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.fuzz',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--minutes', type=float, default=20.0, help='in all')
    parser.add_argument('--only', nargs='+', choices=tuple(found), default=tuple(found))
    parser.add_argument('--seed', type=int, default=0, help='of all cases')
    parser.add_argument('--output', type=Path, default=RESULTS, help='folder of the JSON file')
    parser.add_argument(
        '--corpus', type=Path, default=corpus.FOLDER, help='where cases that failed are kept'
    )
    options = parser.parse_args(arguments)
    chosen = [found[name] for name in options.only]
    outcomes = {target.name: Outcome() for target in chosen}
    for target in chosen:
        for case in corpus.cases(target.name, options.corpus):
            try_case(target, case, outcomes[target.name])
    _try_for(chosen, outcomes, options.minutes * 60.0, options.seed)
    memory_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    violations = _judge(outcomes, options.corpus, memory_mib)
    rows = [
        {
            'target': name,
            'cases': outcome.cases,
            'refused': outcome.refused,
            'failures': len(outcome.failures),
            'slowest, s': outcome.slowest_sec,
        }
        for name, outcome in outcomes.items()
    ]
    print_table(f'{options.minutes:g} minutes of cases, seed {options.seed}', rows)
    print(f'\nmemory: {memory_mib:.0f} MiB at most')
    path = options.output / 'fuzz.json'
    results = {'seed': options.seed, 'rows': rows, 'violations': violations}
    keep_results(path, {'fuzz': {**results, 'memory_mib': memory_mib}})
    print(f'kept in {path}')
    for violation in violations:
        print(f'VIOLATED: {violation}')
    return 1 if violations else 0


def _try_for(
    chosen: list[Target], outcomes: dict[str, Outcome], seconds: float, seed: int
) -> None:
    """Try cases of each target in turn; who took least of the time is next."""
    spent_sec = dict.fromkeys(outcomes, 0.0)
    rounds = dict.fromkeys(outcomes, 0)
    deadline_sec = time.monotonic() + seconds
    while time.monotonic() < deadline_sec:
        target = min(chosen, key=lambda each: spent_sec[each.name])
        began_sec = time.monotonic()
        # Other cases for each target and round, the same ones for the same seed.
        text = f'{seed} {target.name} {rounds[target.name]}'
        number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], 'little')
        try_cases(target, outcomes[target.name], count=_BATCH, seed=number)
        rounds[target.name] += 1
        spent_sec[target.name] += time.monotonic() - began_sec


def _judge(outcomes: dict[str, Outcome], folder: Path, memory_mib: float) -> list[str]:
    """Keep the cases that failed, and return what was violated."""
    violations = []
    for name, outcome in outcomes.items():
        for failure, case in outcome.failures.items():
            path = corpus.keep(name, case, folder)
            violations.append(f'{name}: {failure}; {path}')
    if memory_mib > MAX_MEMORY_MIB:
        violations.append(f'{memory_mib:.0f} MiB of memory; allowed: {MAX_MEMORY_MIB:.0f}')
    return violations


if __name__ == '__main__':
    sys.exit(main())

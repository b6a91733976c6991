"""Run benchmarks, print their tables and keep them as JSON: `python -m benchmarks [NAME …]`."""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
import time
from pathlib import Path

import benchmarks

RESULTS = Path(__file__).parent / 'results'
# Helpers of benchmarks, not benchmarks themselves; acceptance and faults take an hour and more.
NOT_RUN = (
    '__main__',
    'acceptance',
    'arm_sessions',
    'arm_stream',
    'faults',
    'fuzz',
    'live_belief',
    'pushed_arm',
    'scalar_press',
    'soak',
)

# Only if they are named: these take many minutes, or need what others do not.
LONG = ('console', 'guided_arm', 'learning')


def main() -> int:
    """Run the benchmarks that are named, or all."""
    names = [m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name not in NOT_RUN]
    parser = argparse.ArgumentParser(prog='python -m benchmarks', description=__doc__)
    parser.add_argument('names', nargs='*', metavar='NAME', help=f'of {", ".join(names)}')
    parser.add_argument('--output', type=Path, default=RESULTS, help='folder of the JSON files')
    options, rest = parser.parse_known_args()
    unknown = sorted(set(options.names) - set(names))
    if unknown:
        parser.error(f'unknown benchmark {unknown[0]!r}; known: {", ".join(names)}')
    if rest and options.names != ['learning']:
        parser.error(f'unknown option {rest[0]!r}; only the benchmark learning has some')
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.names or [name for name in names if name not in LONG]:
        print(f'== {name}', flush=True)
        started = time.perf_counter()
        results = importlib.import_module(f'benchmarks.{name}').run(*([rest] if rest else []))
        path = options.output / f'{name}.json'
        path.write_text(json.dumps(results, indent=2, default=float) + '\n', encoding='utf-8')
        print(f'   {time.perf_counter() - started:.0f} s, kept in {path}', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())

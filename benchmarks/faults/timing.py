"""Random calls of timing: how long each takes, and whether its result is inside the limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.arm import measure_timing
from benchmarks.faults.report import print_table
from reward_learning_ros.arm.kinematics import Kinematics

ALMOST_ALL_MS = 50.0
ALL_MS = 200.0


def run(*, calls: int, seed: int) -> dict[str, Any]:
    """Time random motions; return what was counted."""
    numbers = measure_timing(Kinematics(), np.random.default_rng(seed), calls)
    print_table(
        f'{calls} calls of timing',
        [{'': name, 'value': value} for name, value in numbers.items()],
    )
    almost_all = numbers['timing: 99.9 % of the calls, ms (50 wanted)']
    longest = numbers['timing: longest call, ms (200 wanted)']
    outside = numbers['timing: accepted, but outside the limits on a fine grid']
    violations = []
    if almost_all > ALMOST_ALL_MS:
        violations.append(f'99.9 % of the calls take up to {almost_all:.0f} ms')
    if longest > ALL_MS:
        violations.append(f'the longest call takes {longest:.0f} ms')
    if outside:
        violations.append(f'{outside} trajectories leave the limits')
    return {**numbers, 'violations': violations}

"""Compile what a session needs, once, before its nodes would each do it at the same time.

    python -m tools.kernels [PART …]

Two processes compile the two parts in about the same time. The machine code is kept in the user's
cache (`reward_learning_ros/core/kernel_cache.py`); what is there already is loaded.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import event

from reward_learning_ros import core
from tools.virtual_environment import ANNOUNCED, COMPILED

TASKS = ('press', 'reach')
# How many kernels each part compiles where none is kept, to show how far it is; two that both use
# count once. Nothing depends on it: more than announced are shown as that many.
KERNELS = {'learn': 47, 'sense': 9}


class _Listener(event.Listener):
    """Prints the kernels that were compiled, but not what Numba compiled for them."""

    def __init__(self) -> None:
        self._depth = 0

    def on_start(self, event: Any) -> None:
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if not self._depth:
            print(f'{COMPILED}{event.data["dispatcher"].__qualname__}', flush=True)


def learn() -> None:
    """Use the inference, the planner and a simulated participant, as little as possible."""
    from reward_learning_ros.learning import LearningParameters, warm_up
    from reward_learning_ros.participant.decisions import Participant, ParticipantParameters

    for name in TASKS:
        warm_up(LearningParameters(task=name), core.load_task(name))
        participant = Participant(ParticipantParameters(task=name, kind='model'))
        participant.intend(participant.paths.initial_plan(1))


def sense() -> None:
    """Use the simulated arm, the detection of contacts and the reading of bags."""
    from reward_learning_ros.arm.simulation import SimulatedArm
    from reward_learning_ros.arm.simulation_parameters import SimulationParameters
    from reward_learning_ros.recording.blocks import mcap_block
    from reward_learning_ros.sensing.contact import ContactDetector
    from reward_learning_ros.sensing.ordering import StreamOrderer
    from reward_learning_ros.sensing.synthetic import Push, record

    arm = SimulatedArm(SimulationParameters())
    arm.step()
    arm.observe()
    made = record(
        waypoints_m=np.array([[0.35, 0.0, 0.5], [0.6, 0.1, 0.25]]),
        leg_sec=2.0,
        duration_sec=2.0,
        pushes=[Push(start_sec=0.5, duration_sec=0.5, force_n=(0.0, 20.0, 0.0))],
        rng=np.random.default_rng(0),
    )
    orderer, detector = StreamOrderer(), ContactDetector()
    detector.process(orderer.release_arrivals(made.arrivals()))
    detector.process(orderer.flush())
    mcap_block(b'', np.zeros(1, dtype=np.int64))


PARTS: dict[str, Callable[[], None]] = {'learn': learn, 'sense': sense}


def main() -> None:
    """Use everything once, and as little of it as possible."""
    parser = argparse.ArgumentParser(prog='python -m tools.kernels', description=__doc__)
    parser.add_argument('parts', nargs='*', metavar='PART', help=f'of {", ".join(PARTS)}')
    options = parser.parse_args()
    event.register('numba:compile', _Listener())
    parts = options.parts or list(PARTS)
    print(f'{ANNOUNCED}{sum(KERNELS[part] for part in parts)}', flush=True)
    for part in parts:
        PARTS[part]()


if __name__ == '__main__':
    main()

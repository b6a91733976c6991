"""Compile what a session needs, once, before its nodes would each do it at the same time.

    python -m tools.kernels

Numba keeps what it compiled beside the sources. A changed source is compiled anew when it is used,
but not what calls it from another file: after a change of a kernel, delete its callers' `*.nbi`.
"""

from __future__ import annotations

import numpy as np

from reward_learning_ros import core
from reward_learning_ros.arm.simulation import SimulatedArm
from reward_learning_ros.arm.simulation_parameters import SimulationParameters
from reward_learning_ros.learning import LearningParameters, warm_up
from reward_learning_ros.sensing.contact import ContactDetector
from reward_learning_ros.sensing.ordering import StreamOrderer
from reward_learning_ros.sensing.synthetic import Push, record
from reward_learning_ros.study.participant import Participant, ParticipantParameters

TASKS = ('press', 'reach')


def main() -> None:
    """Use everything once, and as little of it as possible."""
    for name in TASKS:
        warm_up(LearningParameters(task=name), core.load_task(name))
        participant = Participant(ParticipantParameters(task=name))
        participant.decide(participant.paths.initial_plan(1))
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


if __name__ == '__main__':
    main()

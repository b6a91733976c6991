"""Sessions with the simulated arm in lockstep, without ROS: the same people, the same learning.

Arm, playback, contact detection, recorder and a hand that really guides the arm; inference and
planner of the live node. A session depends on nothing but its seed, and takes seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.guided_arm import GuidedArm, ThinkingAtOnce
from reward_learning_ros.arm.simulation_parameters import SimulationParameters
from reward_learning_ros.interface import PassCorrections, Plan, PlaybackState
from reward_learning_ros.learning import Learner, LearningParameters, learn
from reward_learning_ros.learning.inference_result import tool_paths_of
from reward_learning_ros.participant.decisions import Participant, ParticipantParameters
from reward_learning_ros.participant.hand import HandParameters
from reward_learning_ros.participant.participation import MeantPass, ParticipantSimulation


@dataclass(frozen=True, kw_only=True)
class PassOutcome:
    """How a session stands after a pass.

    Attributes:
        error: ‖θ* − θ̂‖.
        regret: what the next plan lacks for the person.
        pushes: at how many waypoints a push was recorded.
        meant: at how many waypoints one was meant.
        interval: (2, d) central 90 % of each component of θ.
        missed_m: |meant − recorded| displacement at each waypoint of which both are known.
        sizes_m: how far the person meant to push there; zero where they did not.
        lost: pushes that were meant and not recorded.
        invented: pushes that were recorded and not meant.
    """

    error: float
    regret: float
    pushes: int = 0
    meant: int = 0
    interval: list[list[float]] = field(default_factory=list)
    missed_m: list[float] = field(default_factory=list)
    sizes_m: list[float] = field(default_factory=list)
    lost: int = 0
    invented: int = 0


def run_session(
    person: ParticipantParameters, learning: LearningParameters, passes: int = 3
) -> list[PassOutcome]:
    """Return how a session stood after each pass; one that nobody touched is the last."""
    participant = Participant(person)
    participation = ParticipantSimulation(
        participant, HandParameters(), person.seed, ThinkingAtOnce()
    )
    arm = GuidedArm(
        participation=participation,
        simulation=SimulationParameters(seed=person.seed, push_timeout_sec=1.0),
        detected=True,
    )
    paths = tool_paths_of(learning)
    learner = Learner(paths)
    plan = paths.initial_plan(arm.station.arm.time_ns)
    outcomes: list[PassOutcome] = []
    for _ in range(passes):
        go_near(arm, plan)
        learner.add_plan(plan)
        arm.track.clear()
        arm.play(plan)
        arm.recorder.passes.end()
        told = arm.recorder.passes.corrections()
        assert told is not None, 'the pass was followed'
        assert told.plan_stamp_ns == plan.stamp_ns, 'it is the last one'
        learner.add_corrections(told)
        result = learn(learning, learner.sequences(), task=paths.task, threads=1)
        stamp_ns = arm.station.arm.time_ns
        if result.is_trusted:
            plan = result.stamped_plan(stamp_ns)
        else:
            plan = paths.plan_of(paths.trajectory_of(plan), stamp_ns)
        meant = participation.meant
        assert meant is not None, 'a pass was played'
        outcomes.append(
            PassOutcome(
                error=float(np.linalg.norm(participant.theta - result.posterior.mean)),
                regret=participant.regret_of(paths.trajectory_of(plan)),
                pushes=told.pushes,
                meant=int(meant.deltas_m.any(axis=1).sum()),
                interval=result.posterior.interval(0.9).tolist(),
                **compare(meant, told),
            )
        )
        if not told.pushes:
            break
    return outcomes


def go_near(arm: GuidedArm, plan: Plan) -> None:
    """Send the arm home if it stands too far from the start of a plan."""
    playback = arm.station.playback
    playback.set_plan(plan)
    arm.plan = plan
    arm.feed.add_plan(plan)
    arm.advance()
    while playback.status().is_too_far:
        playback.home()
        arm.advance()
        while playback.state is PlaybackState.HOMING:
            arm.advance()
        arm.advance()


def compare(meant: MeantPass, told: PassCorrections) -> dict[str, Any]:
    """Return how what was recorded of a pass differs from what was meant."""
    reached = dict(
        zip(told.times_sec.tolist(), np.cumsum(told.delta_positions, axis=0), strict=True)
    )
    pushed = dict(zip(told.times_sec.tolist(), told.is_push.tolist(), strict=True))
    missed, sizes, lost, invented = [], [], 0, 0
    for time_sec, delta, wanted in zip(
        meant.times_sec.tolist(), meant.deltas_m, meant.displacements_m, strict=True
    ):
        at = min(reached, key=lambda known: abs(known - time_sec), default=np.inf)
        if abs(at - time_sec) > 1e-3:
            continue
        missed.append(float(np.linalg.norm(reached[at] - wanted)))
        sizes.append(float(np.linalg.norm(delta)))
        lost += bool(delta.any()) and not pushed[at]
        invented += pushed[at] and not delta.any()
    return {'missed_m': missed, 'sizes_m': sizes, 'lost': lost, 'invented': invented}

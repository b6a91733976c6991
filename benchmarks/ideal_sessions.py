"""Sessions without an arm: what would be learned if every push were felt exactly as it was meant.

The same participants and the same learning as in a session, online: one correction, then another
plan. What a session lacks against this was lost on the way through the arm; what this lacks, the
participants did not tell.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reward_learning_ros import core
from reward_learning_ros.learning import LearningParameters, learn
from reward_learning_ros.learning.tool_paths import ToolPaths
from reward_learning_ros.study.participant import Participant, ParticipantParameters


def ideal_regret_share(
    task_name: str, theta: Sequence[float], *, beta: float, seed: int, max_corrections: int
) -> float:
    """Return the Regret of the plan shown last, as a share of the initial plan's."""
    task = core.load_task(task_name)
    paths = ToolPaths(task=task)
    participant = Participant(
        ParticipantParameters(
            task=task_name, theta=tuple(theta), beta=beta, seed=seed, corrections_per_pass=1
        )
    )
    parameters = LearningParameters(task=task_name, seed=seed)
    plan = paths.initial_plan(1)
    sequences: list[core.CorrectionSequence] = []
    first_waypoint = 0
    while len(sequences) < max_corrections and not participant.is_content_with(plan):
        pushes = participant.decide(plan, first_waypoint)
        if not pushes:
            # Nothing of the plan is left in this pass.
            first_waypoint = 0
            continue
        trajectory = paths.trajectory_of(plan)
        (push,) = pushes
        sequences.append(
            core.CorrectionSequence.from_deltas(
                trajectory,
                np.atleast_2d(push.displacement_m)[:, : trajectory.shape[1]],
                [push.onset_waypoint],
            )
        )
        lesson = learn(parameters, sequences, task=task)
        if lesson.is_trusted:
            plan = lesson.stamped_plan(1 + len(sequences))
        first_waypoint = push.onset_waypoint + 1
    initial = participant.regret_of(task.plan)
    return participant.regret_of(paths.trajectory_of(plan)) / initial

"""Simulated participants at the simulated arm, with physics, playback and live deformation."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.guided_arm import guide, within_reach
from reward_learning_ros.interface import ParticipantState
from reward_learning_ros.participant.decisions import ParticipantParameters


@pytest.mark.parametrize(
    ('task', 'kind', 'seed', 'median_m'),
    [
        ('reach', 'purposeful', 3, 0.005),
        ('reach', 'lazy', 3, 0.005),
        # 10 cm to and fro within three seconds: this hand is not strong enough for more.
        ('press', 'model', 0, 0.01),
    ],
)
def test_the_arm_is_where_they_meant_it_to_be(task, kind, seed, median_m):
    meant, arm = guide(ParticipantParameters(task=task, kind=kind, seed=seed))
    np.testing.assert_allclose(meant.times_sec, arm.plan.times_sec[1:])
    assert meant.deltas_m.any()
    missed = [
        np.linalg.norm(arm.displacement_at(at_sec) - wanted)
        for at_sec, wanted in zip(meant.times_sec, meant.displacements_m, strict=True)
        if within_reach(arm.plan, at_sec, wanted)
    ]
    assert np.median(missed) < median_m
    assert arm.station.playback.status().faults == 0
    assert arm.participation.status.state is not ParticipantState.PUSHING

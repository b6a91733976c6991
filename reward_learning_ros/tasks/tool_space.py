"""The paper's simulations of the tool alone: its positions are anywhere before the arm."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from reward_learning_ros.arm.scenes import load_scene
from reward_learning_ros.arm.world import Outcome, World
from reward_learning_ros.core.task import Task, TrajectorySpace
from reward_learning_ros.tasks.simulated import (
    Array,
    SimulatedTrajectories,
    objects_of,
    predict_in,
)

# The bounds of the published simulations, metres in the base frame.
LOW = np.array([0.3, -0.5, 0.1])
HIGH = np.array([0.75, 0.5, 0.6])


def tool_space() -> TrajectorySpace:
    """Return the space of trajectories whose later waypoints are anywhere within the bounds."""
    return TrajectorySpace(
        delta_low=LOW - HIGH, delta_high=HIGH - LOW, workspace_low=LOW, workspace_high=HIGH
    )


def draw_in(plan: Array) -> Callable[[int, np.random.Generator], Array]:
    """Return a function that draws trajectories which start where a plan (n, 3) does."""

    def draw(count: int, rng: np.random.Generator) -> Array:
        trajectories = np.tile(plan, (count, 1, 1))
        trajectories[:, 1:] = rng.uniform(LOW, HIGH, (count, len(plan) - 1, 3))
        return trajectories

    return draw


def path_lengths(positions: Array) -> Array:
    """Return the lengths (N,) of paths (N, S, m)."""
    steps = np.linalg.norm(np.diff(positions, axis=1), axis=2)
    return np.asarray(steps.sum(axis=1))


def tool_task(
    name: str,
    *,
    description: str,
    feature_names: tuple[str, ...],
    measure: Callable[[Array, Outcome], Array],
    version: int,
    plan: Array,
    duration_sec: float,
    library_size: int,
    cache_directory: Path | str | None,
) -> Task:
    """Return a task whose trajectories are simulated in the scene of its name.

    Args:
        name: Of the task and of its scene.
        description: In one line.
        feature_names: (d,) names.
        measure: Features (N, d) of trajectories and what came of them.
        version: To be counted up when the drawing or the features change.
        plan: (n, 3) the initial plan of the tool.
        duration_sec: Of the playback.
        library_size: How many trajectories are simulated.
        cache_directory: Where they are kept; the user's cache by default.
    """
    world = World(scene=load_scene(name))
    simulated = SimulatedTrajectories(
        name=name,
        world=world,
        duration_sec=duration_sec,
        draw=draw_in(plan),
        measure=measure,
        recipe={'version': version},
        plan=plan,
        size=library_size,
        directory=None if cache_directory is None else Path(cache_directory),
    )
    each = dict(zip(feature_names, np.eye(len(feature_names)), strict=True))
    return Task(
        name=name,
        description=description,
        feature_names=feature_names,
        features=simulated.library(),
        plan=plan,
        space=tool_space(),
        duration_sec=duration_sec,
        presets={'balanced': np.array([0.8, 0.6]), **each},
        scene=objects_of(world),
        predict=predict_in(world, duration_sec),
    )

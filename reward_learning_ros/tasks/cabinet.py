"""The cabinet that the user study's Push moves: its world and its grid of simulated pushes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reward_learning_ros.arm.scenes import load_scene
from reward_learning_ros.arm.world import Outcome, World
from reward_learning_ros.core.checks import whole_number
from reward_learning_ros.core.grid import GridAxis, GridFeatures, TableFeatures
from reward_learning_ros.core.scenery import SceneObject
from reward_learning_ros.core.task import TrajectorySpace
from reward_learning_ros.tasks.simulated import Array, grid_features

GOAL = (0.45, -0.25)
PLAN = np.linspace((0.35, 0.0, 0.12), (0.5, 0.0, 0.12), 3)
MAX_DELTA_M = 0.25
WORKSPACE_LOW = (0.3, -0.4)
WORKSPACE_HIGH = (0.7, 0.1)
# The study's motion takes ten times as long; a box that slides under friction stops with the hand,
# so what counts is where the hand has been.
SIMULATED_SEC = 2.0
LIBRARY_SIZE = 14**4
# To be counted up when the measured outcome changes.
VERSION = 1


def moved_in_x(outcome: Outcome) -> Array:
    """Return how far the cabinet moved away from the arm, metres (N,)."""
    moved = outcome.final('box_position') - outcome.initial('box_position')
    return np.asarray(moved[:, 0])


def cabinet_world() -> World:
    """Return the world: the hand alone pushes as the whole arm does (rank correlation 0.99)."""
    return World(scene=load_scene('push_cabinet'), driver='hand')


def push_space() -> TrajectorySpace:
    """Return what corrections along the table make of the plan; the height stays as it is."""
    delta = np.full(3, MAX_DELTA_M)
    return TrajectorySpace(
        delta_low=-delta,
        delta_high=delta,
        workspace_low=np.array([*WORKSPACE_LOW, -np.inf]),
        workspace_high=np.array([*WORKSPACE_HIGH, np.inf]),
        given_axes=(2,),
    )


def grid_axes(count: int) -> tuple[GridAxis, ...]:
    """Return a grid over all that one or two corrections make of the free waypoints.

    Waypoint 2 may leave the workspace for as long as it is not driven: after the first correction.
    """
    axes = []
    for waypoint in (1, 2):
        for axis in (0, 1):
            low = PLAN[waypoint, axis] - MAX_DELTA_M
            high = PLAN[waypoint, axis] + MAX_DELTA_M
            if waypoint == 1:
                low, high = max(low, WORKSPACE_LOW[axis]), min(high, WORKSPACE_HIGH[axis])
            else:
                low, high = min(low, WORKSPACE_LOW[axis]), max(high, WORKSPACE_HIGH[axis])
            axes.append(GridAxis(waypoint=waypoint, axis=axis, low=low, high=high, count=count))
    return tuple(axes)


def cabinet_features(
    world: World, kernel: TableFeatures, size: int, library_size: int, directory: Path | None
) -> GridFeatures:
    """Return features that read how far the cabinet moved off a grid of about `library_size`."""
    whole_number(library_size, 'library_size', 16)
    return grid_features(
        name='push_cabinet',
        world=world,
        duration_sec=SIMULATED_SEC,
        plan=PLAN,
        axes=grid_axes(round(library_size**0.25)),
        measure=moved_in_x,
        version=VERSION,
        kernel=kernel,
        size=size,
        directory=directory,
    )


def goal_mark() -> SceneObject:
    """Return the goal, to be drawn."""
    return SceneObject(
        name='goal',
        shape='cylinder',
        position=np.array([*GOAL, PLAN[-1, 2]]),
        size=np.array([0.04, 0.04, 0.02]),
        role='goal',
    )

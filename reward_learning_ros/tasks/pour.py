"""Pour, of the simulations: bring a cup to where it is poured, upright or by the shortest way."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from reward_learning_ros.arm.curve import GRIPPER_DOWN
from reward_learning_ros.arm.description import FR3, JOINT_COUNT
from reward_learning_ros.arm.kinematics import Kinematics, UnreachablePlanError
from reward_learning_ros.arm.scenes import load_scene
from reward_learning_ros.arm.world import Outcome, World
from reward_learning_ros.core.scenery import SceneObject
from reward_learning_ros.core.task import Task, TrajectorySpace
from reward_learning_ros.tasks.simulated import (
    LIBRARY_SIZE,
    Array,
    SimulatedTrajectories,
    predict_in,
)
from reward_learning_ros.tasks.tool_space import path_lengths

DURATION_SEC = 3.0
# Where the tool ends, metres in the base frame.
# High up: there the joints' shortest way tilts the cup.
POUR_AT = (0.45, -0.3, 0.65)
# How the cup may be held there, and how far each joint strays in the middle of the way.
MAX_TILT_RAD = 1.4
MAX_TURN_RAD = 1.0
DETOUR_RAD = 0.3
# Radians of the cup and radians of the joints vary by about as much with these.
TILT_SCALE = 0.8
LENGTH_SCALE = 0.3
# To be counted up when the drawing or the features change.
VERSION = 1


def measure(trajectories: Array, outcome: Outcome) -> Array:
    """Return the cup's mean tilt and the length of the way in joint space (radians), scaled."""
    tilt = outcome.tool_tilt_rad.mean(axis=1)
    return np.column_stack([-TILT_SCALE * tilt, -LENGTH_SCALE * path_lengths(trajectories)])


def draw(count: int, rng: np.random.Generator) -> Array:
    """Draw ways (≤ count, 3, 7) of the joints from home to where the cup is poured."""
    kinematics = Kinematics()
    home = np.array(FR3.home_rad)
    start = kinematics.tool_poses(home)[0]
    found = []
    for _ in range(count):
        tilt, heading = rng.uniform(0.0, MAX_TILT_RAD), rng.uniform(-np.pi, np.pi)
        turned = Rotation.from_euler('z', rng.uniform(-MAX_TURN_RAD, MAX_TURN_RAD))
        tilted = Rotation.from_rotvec([tilt * np.cos(heading), tilt * np.sin(heading), 0.0])
        middle = rng.uniform(0.0, DETOUR_RAD) * rng.standard_normal(JOINT_COUNT)
        try:
            path = kinematics.follow(
                np.array([start, POUR_AT]),
                rotations=[GRIPPER_DOWN, (tilted * turned).as_matrix() @ GRIPPER_DOWN],
                start_joints_rad=home,
            )
        except UnreachablePlanError:
            continue
        end = path.joints_rad[-1]
        found.append([home, (home + end) / 2 + middle, end])
    return np.array(found).reshape(-1, 3, JOINT_COUNT)


@cache
def initial_plan() -> Array:
    """Return the joints (3, 7) on the straight way from home, the cup upright."""
    kinematics = Kinematics()
    home = kinematics.tool_poses(FR3.home_rad)[0]
    path = kinematics.follow(np.array([home, POUR_AT]), start_joints_rad=FR3.home_rad)
    plan = np.linspace(path.joints_rad[0], path.joints_rad[-1], 3)
    plan.setflags(write=False)
    return plan


def make_task(
    *, library_size: int = LIBRARY_SIZE, cache_directory: Path | str | None = None
) -> Task:
    """Return Pour: three configurations of the joints, the last where the cup is poured.

    Args:
        library_size: How many trajectories are simulated.
        cache_directory: Where they are kept; the user's cache by default.
    """
    world = World(scene=load_scene('pour'))
    joints = FR3.joints
    lower = np.array([joint.lower_rad for joint in joints])
    upper = np.array([joint.upper_rad for joint in joints])
    simulated = SimulatedTrajectories(
        name='pour',
        world=world,
        duration_sec=DURATION_SEC,
        draw=draw,
        measure=measure,
        recipe={
            'version': VERSION,
            'pour_at': POUR_AT,
            'tilt_rad': MAX_TILT_RAD,
            'turn_rad': MAX_TURN_RAD,
            'detour_rad': DETOUR_RAD,
        },
        plan=initial_plan(),
        size=library_size,
        directory=None if cache_directory is None else Path(cache_directory),
    )
    return Task(
        name='pour',
        description='Bring a cup to where it is poured; keep it upright, keep the way short.',
        feature_names=('upright', 'length'),
        features=simulated.library(),
        plan=initial_plan(),
        space=TrajectorySpace(
            delta_low=lower - upper,
            delta_high=upper - lower,
            workspace_low=lower,
            workspace_high=upper,
        ),
        duration_sec=DURATION_SEC,
        presets={
            'balanced': np.array([0.8, 0.6]),
            'upright': np.array([1.0, 0.0]),
            'length': np.array([0.0, 1.0]),
        },
        axis_names=FR3.joint_names,
        scene=(
            SceneObject(
                name='pour here',
                shape='cylinder',
                position=np.array([POUR_AT[0], POUR_AT[1], 0.25]),
                size=np.array([0.1, 0.1, 0.5]),
                role='goal',
            ),
            SceneObject(
                name='cup',
                shape='cylinder',
                position=Kinematics().tool_poses(FR3.home_rad)[0],
                size=np.array([0.07, 0.07, 0.1]),
            ),
        ),
        predict=predict_in(world, DURATION_SEC),
    )

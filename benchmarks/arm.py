"""Speed of kinematics, timing and rollouts, and how well the hand alone stands for the whole arm.

Rates of MuJoCo and PyBullet are taken in turns within one run, because only their ratio means
something on a shared machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from reward_learning_ros.arm.description import FR3
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.arm.limits import ArmLimits
from reward_learning_ros.arm.timing import MotionState, plan_motion
from reward_learning_ros.arm.world import World
from reward_learning_ros.arm.worlds import PushableBox, Scene, load_scene
from reward_learning_ros.core.cores import available_cores

Array = NDArray[np.float64]

PUSH_DURATION_SEC = 2.0
ROUNDS = 5
LIBRARY_SIZE = 20_000


def run() -> dict[str, Any]:
    """Measure everything, print a table, and return the numbers."""
    rng = np.random.default_rng(0)
    kinematics = Kinematics()
    results: dict[str, Any] = {'cores': available_cores()}
    results |= _measure_kinematics(kinematics, rng)
    results |= _measure_push_rate(kinematics, rng)
    results |= _compare_hand_with_arm(kinematics, rng)
    for name, value in results.items():
        text = f'{value:.4g}' if isinstance(value, float) else str(value)
        print(f'{name:<62} {text}')
    return results


def published_push_space(count: int, rng: np.random.Generator) -> Array:
    """Draw (count, 3, 3) trajectories as the user study's published sampler does."""
    trajectories = np.tile(np.linspace([0.35, 0.0, 0.12], [0.5, 0.0, 0.12], 3), (count, 1, 1))
    for waypoint in (1, 2):
        trajectories[:, waypoint:, :2] += rng.uniform(-0.25, 0.25, (count, 1, 2))
        trajectories[..., :2] = np.clip(trajectories[..., :2], [0.3, -0.4], [0.7, 0.1])
    return trajectories


def published_simulation_space(count: int, waypoints: int, rng: np.random.Generator) -> Array:
    """Draw (count, waypoints, 3) trajectories as the published simulations do."""
    start = np.array([0.4, 0.0, 0.5])
    later = rng.uniform([0.3, -0.5, 0.1], [0.75, 0.5, 0.6], (count, waypoints - 1, 3))
    return np.concatenate([np.tile(start, (count, 1, 1)), later], axis=1)


def _seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _costs(action: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the wall's clock, and seconds of processor time over all threads."""
    start, start_processor = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - start, time.process_time() - start_processor


def _measure_kinematics(kinematics: Kinematics, rng: np.random.Generator) -> dict[str, Any]:
    trajectories = published_push_space(4000, rng)
    reachable = kinematics.reachable(trajectories)  # compiles, too
    elapsed = median(_seconds(lambda: kinematics.reachable(trajectories)) for _ in range(ROUNDS))
    plan = np.linspace([0.35, 0.0, 0.5], [0.7, 0.3, 0.1], 8)
    limits = ArmLimits.of(FR3)

    def plan_from(start: MotionState | None) -> Any:
        return plan_motion(
            plan, duration_sec=20.0, limits=limits, kinematics=kinematics, start=start
        )

    moving = plan_from(None).state(1.0)
    return {
        'reachability: trajectories per second on one core': len(trajectories) / elapsed,
        'reachability: share of the published Push space': float(reachable.mean()),
        'inverse kinematics and timing of 8 waypoints, ms': 1e3
        * median(_seconds(lambda: plan_from(None)) for _ in range(20)),
        'the same out of a motion, ms': 1e3
        * median(_seconds(lambda: plan_from(moving)) for _ in range(20)),
    }


def _measure_push_rate(kinematics: Kinematics, rng: np.random.Generator) -> dict[str, Any]:
    scene = load_scene('push_cabinet')
    trajectories = published_push_space(600, rng)
    trajectories = trajectories[kinematics.reachable(trajectories)][:200]
    worlds = {driver: World(scene=scene, driver=driver) for driver in ('hand', 'arm')}
    try:
        bullet: BulletPush | None = BulletPush(scene)
    except ImportError as error:
        bullet = None
        print(f"without PyBullet ({error}); `pip install -e '.[bench]'` adds it")
    few = trajectories[:4]
    costs: dict[str, list[tuple[float, float]]] = {'hand': [], 'arm': [], 'PyBullet': []}
    for _ in range(ROUNDS):
        for driver, world in worlds.items():
            both = _costs(lambda w=world: w.simulate(trajectories, PUSH_DURATION_SEC))
            costs[driver].append((both[0] / len(trajectories), both[1] / len(trajectories)))
        if bullet is not None:
            both = _costs(lambda: [bullet.play(xi, PUSH_DURATION_SEC) for xi in few])
            costs['PyBullet'].append((both[0] / len(few), both[1] / len(few)))
    cores = available_cores()
    results: dict[str, Any] = {}
    for name, measured in costs.items():
        if measured:
            wall, processor = (median(column) for column in zip(*measured, strict=True))
            results[f'Push, {name}: rollouts per second'] = 1.0 / wall
            results[f'Push, {name}: processor time of a rollout, ms'] = 1e3 * processor
    for driver in ('hand', 'arm'):
        wall, processor = np.array(costs[driver]).T
        if bullet is not None:
            bullet_wall, bullet_processor = np.array(costs['PyBullet']).T
            # Other programs slow two threads more than one; processor time tells what the same
            # cores do when they are free.
            results[f'Push, {driver}: times PyBullet, as measured (25 wanted)'] = float(
                np.median(bullet_wall / wall)
            )
            results[f'Push, {driver}: times PyBullet, {cores} free cores (25 wanted)'] = float(
                cores * np.median(bullet_processor / processor)
            )
    return results


def _compare_hand_with_arm(kinematics: Kinematics, rng: np.random.Generator) -> dict[str, Any]:
    cases = (
        ('push_cabinet', 'box_position', 2.0, published_push_space(500, rng)),
        ('push', 'box_position', 4.0, published_simulation_space(500, 4, rng)),
        ('close', 'door_angle', 4.0, published_simulation_space(500, 3, rng)),
    )
    results: dict[str, Any] = {}
    for name, channel, duration_sec, drawn in cases:
        trajectories = drawn[kinematics.reachable(drawn)][:200]
        moved = {}
        for driver in ('hand', 'arm'):
            world = World(scene=load_scene(name), driver=driver)
            start_processor = time.process_time()
            outcome = world.simulate(trajectories, duration_sec)
            processor = (time.process_time() - start_processor) / len(trajectories)
            cores = available_cores()
            results[f'{name}, {driver}: {LIBRARY_SIZE} trajectories on {cores} free cores, s'] = (
                LIBRARY_SIZE * processor / cores
            )
            change = outcome.final(channel) - outcome.initial(channel)
            moved[driver] = np.linalg.norm(change[:, :2], axis=1)
        touched = (moved['hand'] > 1e-3) | (moved['arm'] > 1e-3)
        rank = float(spearmanr(moved['hand'], moved['arm'])[0])
        rank_touched = float(spearmanr(moved['hand'][touched], moved['arm'][touched])[0])
        results[f'{name}: rank correlation of hand and arm'] = rank
        results[f'{name}: the same where something moved'] = rank_touched
        results[f'{name}: share of trajectories that move something'] = float(touched.mean())
    return results


class BulletPush:
    """The user study's Push as a PyBullet loop: 240 steps a second, inverse kinematics in each."""

    _STEP_SEC = 1.0 / 240.0
    _TOOL_LINK = 11
    _DRIVEN = tuple(range(9))

    def __init__(self, scene: Scene) -> None:
        import pybullet
        import pybullet_data
        from pybullet_utils.bullet_client import BulletClient

        self._bullet = BulletClient(pybullet.DIRECT)
        self._bullet.setGravity(0.0, 0.0, -9.81)
        self._bullet.setAdditionalSearchPath(pybullet_data.getDataPath())
        self._bullet.loadURDF('plane.urdf', basePosition=[0.0, 0.0, scene.table_height_m])
        self._arm = self._bullet.loadURDF('franka_panda/panda.urdf', useFixedBase=True)
        (box,) = (thing for thing in scene.objects if isinstance(thing, PushableBox))
        self._start = box.position_m
        shape = self._bullet.createCollisionShape(
            pybullet.GEOM_BOX, halfExtents=[edge / 2 for edge in box.size_m]
        )
        self._box = self._bullet.createMultiBody(box.mass_kg, shape, basePosition=self._start)
        self._bullet.changeDynamics(self._box, -1, lateralFriction=box.friction)

    def play(self, trajectory: Array, duration_sec: float) -> Array:
        """Follow straight lines between waypoints; return where the box ends, (3,)."""
        bullet = self._bullet
        bullet.resetBasePositionAndOrientation(self._box, self._start, [0.0, 0.0, 0.0, 1.0])
        for joint, angle in enumerate((*FR3.home_rad, 0.0, 0.0, 0.0, 0.0)):
            bullet.resetJointState(self._arm, joint, angle)
        for joint, angle in enumerate(self._joints_for(trajectory[0])):
            bullet.resetJointState(self._arm, joint, angle)
        knots = np.linspace(0.0, duration_sec, len(trajectory))
        for step in range(round(duration_sec / self._STEP_SEC)):
            now = step * self._STEP_SEC
            target = [float(np.interp(now, knots, column)) for column in trajectory.T]
            wanted = np.array(self._joints_for(target))
            states = bullet.getJointStates(self._arm, self._DRIVEN)
            measured = np.array([state[0] for state in states])
            bullet.setJointMotorControlArray(
                self._arm,
                self._DRIVEN,
                bullet.VELOCITY_CONTROL,
                targetVelocities=(100.0 * (wanted - measured)).tolist(),
            )
            bullet.stepSimulation()
        return np.array(bullet.getBasePositionAndOrientation(self._box)[0])

    def _joints_for(self, position_m: Any) -> tuple[float, ...]:
        joints: tuple[float, ...] = self._bullet.calculateInverseKinematics(
            self._arm, self._TOOL_LINK, list(position_m), [1.0, 0.0, 0.0, 0.0], maxNumIterations=5
        )
        return joints


if __name__ == '__main__':
    run()

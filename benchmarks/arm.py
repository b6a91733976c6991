"""Speed of kinematics, timing and rollouts, and how well the hand alone stands for the whole arm.

Rates of MuJoCo and PyBullet are taken in turns within one run, because only their ratio means
something on a shared machine.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from reward_learning_ros.arm.curve import MAX_POSES
from reward_learning_ros.arm.description import FR3
from reward_learning_ros.arm.joint_trajectory import JointTrajectory, MotionState
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.arm.limits import ArmLimits, Violation, check_set_points
from reward_learning_ros.arm.scenes import PushableBox, Scene, load_scene
from reward_learning_ros.arm.timing import (
    plan_joint_motion,
    plan_motion,
    time_path,
)
from reward_learning_ros.arm.world import World
from reward_learning_ros.core.cores import available_cores
from reward_learning_ros.core.errors import RewardLearningError

Array = NDArray[np.float64]

PUSH_DURATION_SEC = 2.0
ROUNDS = 5
LIBRARY_SIZE = 20_000
TIMING_CALLS = 10_000


def run() -> dict[str, Any]:
    """Measure everything, print a table, and return the numbers."""
    rng = np.random.default_rng(0)
    kinematics = Kinematics()
    results: dict[str, Any] = {'cores': available_cores()}
    results |= _measure_kinematics(kinematics, rng)
    results |= measure_timing(kinematics, rng, TIMING_CALLS)
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


def measure_timing(kinematics: Kinematics, rng: np.random.Generator, calls: int) -> dict[str, Any]:
    """Time motions along random plans, out of random states, in random times, hopeless or not."""
    path = kinematics.follow(np.linspace([0.35, 0.0, 0.5], [0.7, 0.3, 0.1], 8))
    at_rest = MotionState(positions_rad=np.array(FR3.home_rad))
    for start in (None, at_rest):  # loads or compiles
        time_path(
            path, duration_sec=5.0, limits=ArmLimits.of(FR3), kinematics=kinematics, start=start
        )
    refused: Counter[str] = Counter()
    costs, walls, outside = [], [], 0
    for _ in range(calls):
        limits = ArmLimits.of(FR3, speed_scale=float(rng.choice([1.0, 0.3, 0.1])))
        start = _random_start(limits, kinematics, rng)
        options: dict[str, Any] = {
            'duration_sec': float(10.0 ** rng.uniform(-1.3, 1.5)),
            'limits': limits,
            'kinematics': kinematics,
            'start': start,
        }
        kind = rng.choice(3, p=[0.6, 0.2, 0.2])
        plan = _random_plan(rng)
        joints = np.array(FR3.home_rad) + rng.normal(0.0, 0.3, (int(rng.integers(2, 6)), 7))
        if start is not None and rng.random() < 0.5:
            joints[0] = start.positions_rad
        began, began_wall = time.thread_time(), time.perf_counter()
        try:
            if kind == 0:
                trajectory = plan_motion(plan, **options)
            elif kind == 1:
                trajectory = time_path(path, **options, start_speed=rng.uniform(0.0, 1.0))
            else:
                trajectory = plan_joint_motion(joints, **options)
        except RewardLearningError as error:
            refused[type(error).__name__] += 1
            continue
        finally:
            costs.append(time.thread_time() - began)
            walls.append(time.perf_counter() - began_wall)
        outside += bool(_fine_violations(trajectory, limits, kinematics))
    milliseconds = 1e3 * np.array(costs)
    return {
        f'timing: of {calls} calls accepted': calls - sum(refused.values()),
        **{f'timing: refused, {name}': count for name, count in sorted(refused.items())},
        'timing: accepted, but outside the limits on a fine grid': outside,
        'timing: processor time of a call, median, ms': float(np.median(milliseconds)),
        'timing: 99.9 % of the calls, ms (50 wanted)': float(np.percentile(milliseconds, 99.9)),
        'timing: longest call, ms (200 wanted)': float(milliseconds.max()),
        'timing: on the wall clock, 99.9 % of the calls, ms': 1e3
        * float(np.percentile(walls, 99.9)),
        'timing: on the wall clock, longest call, ms': 1e3 * max(walls),
    }


def _random_plan(rng: np.random.Generator) -> Array:
    """Draw (n, 3) waypoints: a walk in front of the arm, or points in and out of its reach."""
    count = int(rng.integers(2, 13))
    if rng.random() < 0.1:
        # As many waypoints as are allowed, and some more.
        return _long_plan(int(rng.integers(100, MAX_POSES // 2 + 10)), rng)
    if rng.random() < 0.25:
        return rng.uniform([0.1, -0.8, -0.1], [1.0, 0.8, 1.0], (count, 3))
    first = rng.uniform([0.35, -0.3, 0.15], [0.65, 0.3, 0.55], (1, 3))
    steps = rng.uniform(-0.1, 0.1, (count - 1, 3))
    return np.concatenate([first, first + np.cumsum(steps, axis=0)])


def _long_plan(count: int, rng: np.random.Generator) -> Array:
    """Draw (count, 3) waypoints close together, on a wave in front of the arm."""
    share = np.linspace(0.0, 1.0, count)[:, None]
    first, last = rng.uniform([0.35, -0.3, 0.15], [0.65, 0.3, 0.55], (2, 3))
    wave = rng.uniform(-0.05, 0.05, 3) * np.sin(2.0 * np.pi * rng.integers(1, 6) * share)
    return np.asarray(first * (1.0 - share) + last * share + wave)


def _random_start(
    limits: ArmLimits, kinematics: Kinematics, rng: np.random.Generator
) -> MotionState | None:
    """Draw rest, a state near home, one out of a motion, or one anywhere near the limits."""
    kind = rng.integers(4)
    if kind == 0:
        return None
    if kind == 1:
        return MotionState(
            positions_rad=np.array(FR3.home_rad) + rng.normal(0.0, 0.15, 7),
            velocities_rad_s=rng.uniform(0.0, 0.3) * rng.normal(size=7) * limits.velocity_rad_s,
            accelerations_rad_s2=rng.normal(0.0, 0.2, 7) * limits.acceleration_rad_s2,
        )
    if kind == 2:
        joints = np.array(FR3.home_rad) + rng.uniform(-0.1, 0.1, (3, 7))
        before = plan_joint_motion(
            joints, duration_sec=rng.uniform(0.1, 5.0), limits=limits, kinematics=kinematics
        )
        return before.state(rng.uniform(0.0, before.duration_sec))
    share = rng.uniform(0.3, 1.05)
    middle = (limits.position_lower_rad + limits.position_upper_rad) / 2
    return MotionState(
        positions_rad=middle
        + rng.uniform(-share, share, 7) * (limits.position_upper_rad - middle),
        velocities_rad_s=rng.uniform(-share, share, 7) * limits.velocity_rad_s,
        accelerations_rad_s2=rng.uniform(-share, share, 7) * limits.acceleration_rad_s2,
    )


def _fine_violations(
    trajectory: JointTrajectory, limits: ArmLimits, kinematics: Kinematics
) -> tuple[Violation, ...]:
    """Check on a grid forty times as fine as the planner's own, with independent derivatives."""
    times = np.linspace(0.0, trajectory.duration_sec, 20_011)
    points = trajectory.sample(times)
    tool = kinematics.tool_poses(points.positions_rad)[0]
    velocities = np.diff(tool, axis=0) / times[1]
    accelerations = np.diff(velocities, axis=0) / times[1]
    return check_set_points(
        limits,
        times_sec=times[1:-1],
        positions_rad=points.positions_rad[1:-1],
        velocities_rad_s=points.velocities_rad_s[1:-1],
        accelerations_rad_s2=points.accelerations_rad_s2[1:-1],
        jerks_rad_s3=np.diff(points.accelerations_rad_s2, axis=0)[1:] / times[1],
        tool_speeds_m_s=np.linalg.norm(velocities[1:], axis=1),
        tool_accelerations_m_s2=np.linalg.norm(accelerations, axis=1),
    )


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

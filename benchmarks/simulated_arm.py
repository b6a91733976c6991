"""Speed and timing of the simulated arm, and how well playback follows its plan on it.

On a busy machine processor time is nearer to what a free core does than the wall's clock. The
share of cycles that hold their time says more about the machine than about the arm: run it as
`chrt -f 20 python benchmarks/simulated_arm.py`, if you may, to see it without the others.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from reward_learning_ros.arm.simulation import CYCLE_SEC, SimulatedArm
from reward_learning_ros.interface import JointTrajectory, Plan, PlaybackState
from reward_learning_ros.playback.configuration import PlaybackParameters
from reward_learning_ros.playback.motion import Now
from reward_learning_ros.playback.state_machine import Playback

ROUNDS = 8
CYCLES = 1500
REAL_TIME_SEC = 8.0
DOMAIN_ID = 99


def run() -> dict[str, Any]:
    """Measure everything, print a table, and return the numbers."""
    results: dict[str, Any] = {}
    results |= _measure_core()
    results |= _measure_tracking()
    results |= _measure_node()
    for name, value in results.items():
        text = f'{value:.4g}' if isinstance(value, float) else str(value)
        print(f'{name:<66} {text}')
    return results


def _times_real_time(action: Callable[[], object]) -> tuple[float, float]:
    """How many times faster than real time a cycle is: by processor time, and by the wall."""
    processor, wall = [], []
    for _ in range(ROUNDS):
        start, start_processor = time.perf_counter(), time.process_time()
        for _ in range(CYCLES):
            action()
        wall.append(time.perf_counter() - start)
        processor.append(time.process_time() - start_processor)
    simulated = CYCLES * CYCLE_SEC
    return simulated / float(np.median(processor)), simulated / float(np.median(wall))


def _measure_core() -> dict[str, Any]:
    arm = SimulatedArm()
    arm.step()
    by_processor, by_wall = _times_real_time(arm.step)
    start = arm.tool_position_m()
    displacements = []
    for direction in np.eye(3):
        for _ in range(3000):
            arm.push([*(20.0 * direction), 0.0, 0.0, 0.0])
            arm.step()
        displacements.append(float(np.linalg.norm(arm.tool_position_m() - start)))
        for _ in range(3000):
            arm.step()
    return {
        'without publishing: times real time, by processor time (40 wanted)': by_processor,
        'without publishing: times real time, by the wall': by_wall,
        '20 N along x, y, z displace the tool by, cm (3 to 15 wanted)': ', '.join(
            f'{100 * value:.1f}' for value in displacements
        ),
    }


def _measure_tracking() -> dict[str, Any]:
    results: dict[str, Any] = {}
    for duration_sec in (20.0, 6.0):
        arm = SimulatedArm(start_ns=10**9)
        playback = Playback(
            PlaybackParameters(),
            lambda arm=arm: Now(ros_ns=arm.time_ns, steady_sec=arm.time_ns / 1e9),
        )
        playback.view.command_subscribers = 1
        plan = Plan(
            stamp_ns=arm.time_ns,
            frame_id='fr3_link0',
            positions=np.linspace((0.35, 0.0, 0.5), (0.7, 0.3, 0.1), 8),
            orientations=np.tile([1.0, 0.0, 0.0, 0.0], (8, 1)),
            times_sec=np.linspace(0.0, duration_sec, 8),
        )
        playback.set_plan(plan)
        errors = _play(arm, playback)
        results[f'tracking of a plan of {duration_sec:.0f} s, mm RMS (5 wanted)'] = 1e3 * float(
            np.sqrt(np.mean(errors**2))
        )
        if duration_sec == 20.0:
            results['inverse kinematics and timing of 8 waypoints, ms (20 wanted)'] = _planning_ms(
                playback, plan
            )
    return results


def _play(arm: SimulatedArm, playback: Playback) -> np.ndarray:
    """Play the plan; returns the tool's distance from its set-point in every cycle of it."""
    wanted, measured = [], []
    names = arm.kinematics.description.joint_names
    for cycle in range(60_000):
        if cycle % 20 == 0:
            told = arm.observe()
            playback.view.joints.take(told[:14].copy(), arm.time_ns, arm.time_ns / 1e9)
            playback.view.torque.take(told[21:28].copy(), arm.time_ns, arm.time_ns / 1e9)
            if cycle == 0:
                playback.start()
            command = playback.tick()
            if command is not None:
                arm.command(
                    JointTrajectory(
                        stamp_ns=command.stamp_ns,
                        joint_names=names,
                        times_sec=command.times_sec,
                        positions=command.positions_rad,
                        velocities=command.velocities_rad_s,
                        accelerations=command.accelerations_rad_s2,
                    )
                )
            if playback.state is PlaybackState.FINISHED:
                break
        arm.step()
        if playback.state is PlaybackState.PLAYING:
            wanted.append(arm.set_point[0].copy())
            measured.append(arm.joints_rad)
    tools = [arm.kinematics.tool_poses(np.array(joints))[0] for joints in (wanted, measured)]
    return np.linalg.norm(tools[0] - tools[1], axis=1)


def _planning_ms(playback: Playback, plan: Plan) -> float:
    times = []
    for _ in range(20):
        start = time.perf_counter()
        playback.planner.whole(plan)
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times))


def _measure_node() -> dict[str, Any]:
    try:
        import rclpy
        from rclpy.context import Context

        from reward_learning_ros.nodes.running import events_executor
        from reward_learning_ros.nodes.simulated_arm import CycleLoop, SimulatedArmNode
    except ImportError as error:
        print(f'no ROS 2 ({error}): the node is not measured')
        return {}
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')

    def with_node(
        arguments: list[str], measure: Callable[[Any], dict[str, Any]]
    ) -> dict[str, Any]:
        context = Context()
        rclpy.init(args=['--ros-args', *arguments], context=context, domain_id=DOMAIN_ID)
        node = SimulatedArmNode(context=context)
        executor = events_executor(context)
        executor.add_node(node)
        try:
            return measure(CycleLoop(node, executor, late_sec=0.002))
        finally:
            executor.shutdown()
            node.destroy_node()
            context.try_shutdown()

    def fast(loop: Any) -> dict[str, Any]:
        per_call = 0
        before = loop.cycles
        loop.run_cycles()
        per_call = loop.cycles - before
        by_processor, by_wall = _times_real_time(loop.run_cycles)
        return {
            'all topics published: times real time, by processor time (10 wanted)': by_processor
            * per_call,
            'all topics published: times real time, by the wall': by_wall * per_call,
        }

    def real_time(loop: Any) -> dict[str, Any]:
        start, start_processor = time.perf_counter(), time.process_time()
        while time.perf_counter() - start < REAL_TIME_SEC:
            loop.run_cycles()
        elapsed = time.perf_counter() - start
        return {
            'real time: share of cycles within 2 ms of their time (0.99 wanted)': 1.0
            - loop.late_cycles / loop.cycles,
            'real time: cycles per second': loop.cycles / elapsed,
            'real time: share of a core': (time.process_time() - start_processor) / elapsed,
            'load of this machine over the last minute': os.getloadavg()[0],
        }

    fast_arguments = ['-p', 'clock:=simulated', '-p', 'speed:=0.0']
    return with_node(fast_arguments, fast) | with_node([], real_time)


if __name__ == '__main__':
    run()

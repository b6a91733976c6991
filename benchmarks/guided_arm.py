"""How well simulated participants bring the simulated arm to where they mean: on MuJoCo, no ROS.

One pass of the task's own plan for each person: arm, playback, live deformation and a hand at
50 Hz, in lockstep. Told for each kind of person: how far the tool is from where it was meant to be
at each waypoint's time. The plan gives way while the hand is felt, or, with `--detected`, while
the recorder detects a contact, so that what detection loses can be told from what the hand lacks.
The rest of a plan is shifted as a whole: where that would leave the workspace of playback, or is
farther than it goes, no hand brings the arm there, and the waypoint is counted apart.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.pushed_arm import TICK_CYCLES, Station
from reward_learning_ros.arm import simulation_kernels as kernels
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.arm.simulation_parameters import SimulationParameters
from reward_learning_ros.interface import Deformation, Plan, PlaybackState
from reward_learning_ros.participant.decisions import Participant, ParticipantParameters
from reward_learning_ros.participant.hand import HandParameters
from reward_learning_ros.participant.participation import MeantPass, ParticipantSimulation
from reward_learning_ros.participant.people import KINDS, MODEL
from reward_learning_ros.playback.configuration import PlaybackParameters
from reward_learning_ros.playback.state_machine import Playback
from reward_learning_ros.sensing.deltas import CorrectionRecorder
from reward_learning_ros.sensing.live import LiveDeformation
from reward_learning_ros.sensing.ordering import StreamOrderer
from reward_learning_ros.sensing.samples import NANOSECONDS, Stream, interleave
from reward_learning_ros.sensing.timeline import PlaybackFeed, PlaybackTimeline, planned_position_m

Array = NDArray[np.float64]

TASKS = ('press', 'reach')
SEEDS = (0, 1, 2, 3, 4, 5)
# As the participant's node has it.
_HAND_CYCLES = 20
_LIVE_CYCLES = 10
# A hand is felt from this force on, a little later, until it is gone.
_FELT_N = 3.0
_FELT_DELAY_SEC = 0.08
_GONE_N = 1.0
_LONGEST_SEC = 120.0
# After the plan's end, until the hand has let go and the arm is at rest.
_REST_SEC = 1.5


class ThinkingAtOnce(Executor):
    """Thinks while the arm waits."""

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        """Return what is already thought."""
        future: Future[Any] = Future()
        future.set_result(function(*arguments, **options))
        return future


class FeltContact:
    """Lets the plan give way while a hand is felt, as if contacts were detected without fail."""

    def __init__(self, timeline: PlaybackTimeline) -> None:
        self.live = LiveDeformation()
        self.in_contact = False
        self._timeline = timeline
        self._felt_ns: int | None = None
        self._before: list[Array] = []

    def step(self, time_ns: int, tool_m: Array, plan: Plan, force_n: float) -> None:
        """Take one more point."""
        at_sec = self._timeline.plan_time_sec(np.array([time_ns]))
        deviation = tool_m - planned_position_m(plan, at_sec)[0]
        if self.in_contact:
            self.live.advance(time_ns, deviation, None)
            if force_n < _GONE_N:
                self.in_contact, self._felt_ns, self._before = False, None, []
                self.live.keep()
            return
        if force_n < _FELT_N:
            self._felt_ns = None
            self._before = [*self._before[-49:], deviation]
        elif self._felt_ns is None:
            self._felt_ns = time_ns
        elif time_ns - self._felt_ns >= _FELT_DELAY_SEC * NANOSECONDS:
            self.in_contact = True
            self.live.begin(time_ns, np.array(self._before).reshape(-1, 3))


@dataclass(kw_only=True)
class GuidedArm:
    """The simulated arm with somebody at it.

    Attributes:
        participation: who pushes.
        simulation: the arm.
        detected: whether the plan gives way to contacts that the recorder detects.
        track: plan time, displacement (3,) of the tool from its plan and force of the hand, at
            each tick of the hand while the plan is played.
    """

    participation: ParticipantSimulation
    simulation: SimulationParameters = field(default_factory=SimulationParameters)
    detected: bool = False
    track: list[tuple[float, Array, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.station = Station(self.simulation)
        # As strict as in a session.
        self.station.playback = Playback(PlaybackParameters(), self.station._now)
        self.station.playback.view.command_subscribers = 1
        self.recorder = CorrectionRecorder(jacobian=Kinematics().jacobian)
        self.feed = PlaybackFeed(self.recorder.timeline)
        self.felt = FeltContact(self.recorder.timeline)
        self.orderer = StreamOrderer()
        self.plan: Plan | None = None
        self._force_n = 0.0

    def play(self, plan: Plan) -> None:
        """Play a plan from its approach to its end."""
        self.plan = plan
        self.feed.add_plan(plan)
        self.participation.see_plan(plan)
        self.station.playback.set_plan(plan)
        self.advance()
        self.station.playback.start()
        begin_ns = self.station.arm.time_ns
        rest_sec = 0.0
        while rest_sec < _REST_SEC:
            self.advance()
            state = self.station.playback.state
            if state is PlaybackState.FINISHED:
                rest_sec += TICK_CYCLES / 1000.0
            late = self.station.arm.time_ns - begin_ns > _LONGEST_SEC * NANOSECONDS
            if late or state in (PlaybackState.FAULT, PlaybackState.STOPPED):
                raise RuntimeError(f'{state.value}: {self.station.playback.status().fault}')

    def displacement_at(self, time_sec: float) -> Array:
        """Return the displacement (3,) when the plan was at a time."""
        times = np.array([row[0] for row in self.track])
        moved = np.array([row[1] for row in self.track])
        return np.array([np.interp(time_sec, times, moved[:, axis]) for axis in range(3)])

    def advance(self) -> None:
        """Simulate what happens between two ticks of playback, and let everybody act."""
        arm, playback = self.station.arm, self.station.playback
        assert self.plan is not None, 'a plan is played'
        times = np.empty(TICK_CYCLES, dtype=np.int64)
        rows = np.empty((TICK_CYCLES, kernels.OBSERVATION_SIZE))
        for cycle in range(TICK_CYCLES):
            if cycle % _HAND_CYCLES == 0:
                self._touch()
            if cycle % _LIVE_CYCLES == 0 and self.feed.state is PlaybackState.PLAYING:
                self.felt.step(arm.time_ns, arm.tool_position_m(), self.plan, self._force_n)
            arm.step()
            rows[cycle] = arm.observe()
            times[cycle] = arm.time_ns
        status = playback.status()
        if self.feed.add_status(status, arm.time_ns):
            self.recorder.live.reset()
            self.felt.live.reset()
        self.participation.see_playback(status, arm.time_ns)
        streams = {
            Stream.TORQUE: (times, rows[:, kernels.EXTERNAL_TORQUE]),
            Stream.JOINTS: (times, rows[:, :14]),
            Stream.POSE: (times, rows[:, kernels.POSE]),
            Stream.WRENCH: (times, rows[:, kernels.WRENCH_IN_BASE]),
        }
        self.recorder.process(self.orderer.release_arrivals(interleave(streams)))
        live, is_open = self.felt.live, self.felt.in_contact
        if self.detected:
            live, is_open = self.recorder.live, self.recorder.detector.in_contact
        if is_open:
            playback.set_deformation(
                Deformation(stamp_ns=arm.time_ns, frame_id=self.plan.frame_id, shift=live.shift_m)
            )
        self.station.tick()

    def _touch(self) -> None:
        arm = self.station.arm
        tool_m = arm.tool_position_m()
        force = self.participation.act(arm.time_ns, tool_m)
        self._force_n = 0.0 if force is None else float(np.linalg.norm(force))
        if force is not None:
            arm.push([*force, 0.0, 0.0, 0.0])
        if self.station.playback.state is PlaybackState.PLAYING and self.plan is not None:
            at_sec = self.recorder.timeline.plan_time_sec(np.array([arm.time_ns]))
            if np.isfinite(at_sec).all():
                moved = tool_m - planned_position_m(self.plan, at_sec)[0]
                self.track.append((float(at_sec[0]), moved, self._force_n))


def guide(
    parameters: ParticipantParameters,
    hand: HandParameters | None = None,
    *,
    detected: bool = False,
) -> tuple[MeantPass, GuidedArm]:
    """Let somebody correct one pass of the task's own plan."""
    participant = Participant(parameters)
    participation = ParticipantSimulation(
        participant, hand or HandParameters(), parameters.seed, ThinkingAtOnce()
    )
    arm = GuidedArm(
        participation=participation,
        simulation=SimulationParameters(seed=parameters.seed, push_timeout_sec=1.0),
        detected=detected,
    )
    arm.play(participant.paths.initial_plan(arm.station.arm.time_ns))
    assert participation.meant is not None, 'a pass was played'
    return participation.meant, arm


def within_reach(plan: Plan, time_sec: float, displacement_m: Array) -> bool:
    """Tell whether playback lets the rest of a plan be shifted so far (3,)."""
    limits = PlaybackParameters()
    rest = plan.positions[plan.times_sec >= time_sec - 1e-6] + displacement_m
    inside = (rest >= limits.workspace_lower_m).all() and (rest <= limits.workspace_upper_m).all()
    return bool(inside and np.linalg.norm(displacement_m) <= limits.max_shift_m)


def run(
    tasks: tuple[str, ...] = TASKS,
    kinds: tuple[str, ...] = KINDS,
    seeds: tuple[int, ...] = SEEDS,
    *,
    detected: bool = False,
    verbose: bool = False,
) -> dict[str, Any]:
    """Measure, print a line for each task and kind of person, and return the numbers."""
    results: dict[str, Any] = {}
    people = [(kind, 0.003) for kind in kinds]
    people += [(kind, 0.02) for kind in kinds if kind == 'purposeful']
    for task in tasks:
        for kind, noise_m in people:
            missed: dict[str, list[float]] = {'pushed': [], 'silent': [], 'out of reach': []}
            strength: list[float] = []
            contacts = faults = 0
            for seed in seeds:
                parameters = ParticipantParameters(
                    task=task, kind=kind, seed=seed, motor_noise_m=noise_m
                )
                try:
                    meant, arm = guide(parameters, detected=detected)
                except RuntimeError as error:
                    print(f'  {task}, {kind} {seed}: {error}')
                    faults += 1
                    continue
                assert arm.plan is not None
                for at_sec, delta, wanted in zip(
                    meant.times_sec, meant.deltas_m, meant.displacements_m, strict=True
                ):
                    reached = arm.displacement_at(at_sec)
                    how = 'pushed' if delta.any() else 'silent'
                    if not within_reach(arm.plan, at_sec, wanted):
                        how = 'out of reach'
                    missed[how].append(float(np.linalg.norm(reached - wanted)))
                    if verbose:
                        print(
                            f'  {seed} {at_sec:5.1f} s {how}, meant {np.round(1000 * wanted)} '
                            f'reached {np.round(1000 * reached)} '
                            f'missed {1000 * missed[how][-1]:.1f} mm'
                        )
                strength.append(max(row[2] for row in arm.track))
                contacts += arm.participation.pushes
                if verbose:
                    print(f'  {seed}: {arm.participation.pushes} pushes, {arm.recorder.counts}')
            label = f'{task}, {kind}' + ('' if kind == MODEL else f' {1000 * noise_m:g} mm')
            line: dict[str, float] = {'contacts': contacts, 'faults': faults}
            line['strongest force, N'] = max(strength, default=float('nan'))
            for how, missed_m in missed.items():
                line[f'{how}, n'] = len(missed_m)
                if missed_m:
                    line[f'{how}, median, mm'] = 1000 * float(np.median(missed_m))
                    line[f'{how}, 95 %, mm'] = 1000 * float(np.quantile(missed_m, 0.95))
            results[label] = line
            told = '; '.join(f'{name} {value:.3g}' for name, value in line.items())
            print(f'{label}: {told}', flush=True)
    return results


def main() -> int:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--tasks', nargs='+', default=TASKS)
    parser.add_argument('--kinds', nargs='+', default=KINDS, choices=KINDS)
    parser.add_argument('--seeds', nargs='+', type=int, default=SEEDS)
    parser.add_argument('--detected', action='store_true', help='contacts as the recorder detects')
    parser.add_argument('--verbose', action='store_true', help='every waypoint')
    options = parser.parse_args()
    run(
        tuple(options.tasks),
        tuple(options.kinds),
        tuple(options.seeds),
        detected=options.detected,
        verbose=options.verbose,
    )
    return 0


if __name__ == '__main__':
    sys.exit(main())

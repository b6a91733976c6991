"""What should be looked at before the arm moves; each check says what was found and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.arm.description import JOINT_COUNT
from reward_learning_ros.arm.franka import (
    ACTIVE,
    Impedance,
    ThresholdParameters,
    spawner_command,
)
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.playback.configuration import PreflightParameters
from reward_learning_ros.sensing.displacement import check_sign, force_from_torque

Array = NDArray[np.float64]


# The check of how far the arm is from the start of its plan.
START_POSE = 'start pose'
# The check of how far a person can push the arm where it is.
STIFFNESS = 'stiffness'
# A force at the tool has at least this lever at one of the joints, anywhere in the workspace.
_MIN_LEVER_M = 0.3


@dataclass(frozen=True, kw_only=True)
class Check:
    """The result of one preflight check: what was found, and advice.

    Attributes:
        name: of the thing.
        found: what it is.
        advice: what to do about it; empty if all is well.
        blocks: whether the arm must not move before that is done.
    """

    name: str
    found: str
    advice: str = ''
    blocks: bool = False


def check_stream(
    name: str, *, age_sec: float | None, rate_hz: float | None, config: PreflightParameters
) -> Check:
    """Check age and rate of a topic with the arm's state.

    Args:
        name: of the topic.
        age_sec: of its last message; None if none has come.
        rate_hz: None if it has not been heard for long enough to tell.
        config: which rate is enough.
    """
    if age_sec is None:
        return Check(
            name=name,
            found='nothing has come',
            advice='start the arm and its state broadcaster; check namespace and domain',
            blocks=True,
        )
    if rate_hz is None:
        return Check(
            name=name,
            found='has only just come',
            advice='wait until its rate is known, half a second',
            blocks=True,
        )
    found = f'{rate_hz:.0f} Hz, {1e3 * age_sec:.0f} ms old'
    if rate_hz < config.min_state_rate_hz:
        return Check(
            name=name,
            found=found,
            advice=f'must come {config.min_state_rate_hz:.0f} times a second or more',
            blocks=True,
        )
    return Check(name=name, found=found)


def check_command_topic(*, publishers: int, subscribers: int, are_compatible: bool) -> Check:
    """Check that only playback sends commands and that a controller listens.

    Args:
        publishers: on the command topic, playback included.
        subscribers: to it.
        are_compatible: whether what the subscribers ask for is what playback offers.
    """
    found = f'{publishers} publisher(s), {subscribers} subscriber(s)'
    advice = ''
    if publishers > 1:
        advice = 'stop all other publishers'
    elif subscribers < 1:
        advice = 'load and activate the controller'
    elif not are_compatible:
        advice = 'the controller asks for another quality of service than reliable, volatile'
    return Check(name='command topic', found=found, advice=advice, blocks=bool(advice))


def check_controllers(
    states: Mapping[str, str] | None,
    required: Sequence[str],
    *,
    namespace: str = '',
    reason: str = '',
) -> list[Check]:
    """Look whether each controller that a session needs is active.

    A joint trajectory controller that is only configured subscribes, and drops what it hears.

    Args:
        states: state of each controller by its name, as the controller manager lists them; None
            if it could not be asked.
        required: names of the controllers.
        namespace: of the controller manager.
        reason: why it could not be asked.
    """
    if states is None:
        return [
            Check(
                name='controllers',
                found=f'not known: {reason}',
                advice='bring the arm up with franka_bringup; check namespace and domain',
                blocks=True,
            )
        ]
    checks = []
    for name in required:
        state = states.get(name, 'not loaded')
        advice = '' if state == ACTIVE else f'`{spawner_command(name, namespace)}`'
        checks.append(
            Check(name=f'controller {name}', found=state, advice=advice, blocks=bool(advice))
        )
    return checks


def check_thresholds(config: ThresholdParameters, stop_torque_nm: Array) -> Check:
    """Look whether contacts are noticed, playback holds and the arm stops in this order."""
    reflex = np.array(config.reflex_torque_nm)
    stop = np.asarray(stop_torque_nm)
    found = (
        f'contact {config.detection_torque_nm:.1f}, hold {stop.min():.0f} to {stop.max():.0f}, '
        f'reflex {reflex.min():.0f} to {reflex.max():.0f} N·m, {config.reflex_force_n:.0f} N'
    )
    if (config.detection_torque_nm >= reflex).any():
        advice = 'contacts would not be noticed before the reflex: lower detection_torque_nm'
    elif config.reflex_force_n <= config.detection_torque_nm / _MIN_LEVER_M:
        min_n = config.detection_torque_nm / _MIN_LEVER_M
        force = f'{config.reflex_force_n:.0f} N'
        advice = f'contacts would not be noticed before the reflex of {force}'
        advice += f': lower detection_torque_nm, or raise reflex_force_n above {min_n:.1f}'
    elif (stop >= reflex).any():
        advice = 'playback would not hold before the reflex: lower stop_torque_nm'
    else:
        return Check(name='torque thresholds', found=found)
    return Check(name='torque thresholds', found=found, advice=advice, blocks=True)


def check_stiffness(
    config: PreflightParameters, kinematics: Kinematics, joints_rad: Array
) -> Check:
    """Look whether a person can push as far as expected without tripping the reflex.

    Args:
        config: gains, thresholds and the expected deflection.
        kinematics: of the arm.
        joints_rad: (7,) where the arm is.
    """
    stiffness = np.array(config.controller_stiffness_nm)
    impedance = Impedance(stiffness_nm=stiffness, damping_nm_s=np.ones(JOINT_COUNT))
    jacobian = kinematics.jacobian(joints_rad)
    pushes = config.expected_deflection_m * np.vstack([np.eye(3), -np.eye(3)])
    torques_nm = [impedance.torque_nm(jacobian, push) for push in pushes]
    # The force that a hand needs for it, where the arm is at home: low over the table it is more
    # than anybody pushes with.
    linear = kinematics.jacobian(kinematics.description.home_rad)[:3]
    forces_n = [
        np.linalg.lstsq(linear.T, impedance.torque_nm(linear, push), rcond=None)[0]
        for push in pushes
    ]
    by_torque = float(np.max(np.abs(torques_nm) / np.array(config.reflex_torque_nm)))
    by_force = float(np.max(np.abs(forces_n))) / config.reflex_force_n
    worst = max(by_torque, by_force)
    found = (
        f'{100 * config.expected_deflection_m:.0f} cm of push reach {100 * by_torque:.0f} % of '
        f'the torque of a reflex, and at home {100 * by_force:.0f} % of its force'
    )
    if worst < 1.0:
        return Check(name=STIFFNESS, found=found)
    return Check(
        name=STIFFNESS,
        found=found,
        advice='too stiff to be corrected by hand: lower the gains of the controller '
        '(config/franka_controllers.yaml brings compliant ones)',
        blocks=True,
    )


def check_start(config: PreflightParameters, tool_m: Array, start_m: Array) -> Check:
    """Look how far the tool is from the start of the plan, both (3,) in the base frame."""
    distance = float(np.linalg.norm(np.asarray(tool_m) - np.asarray(start_m)))
    found = f'{distance:.2f} m from the start of the plan'
    if distance <= config.start_distance_m:
        return Check(name=START_POSE, found=found)
    return Check(
        name=START_POSE,
        found=found,
        advice=f'allowed: {config.start_distance_m:.2f} m; go home first',
        blocks=True,
    )


# What counts as a push: far enough to be no noise, near enough for two fingers.
_MIN_DISPLACEMENT_M = 0.015
_RESTING_SAMPLES = 20


class SignTest:
    """Learns what the arm says at rest, then compares pushes with it.

    Attributes:
        pushes: how many samples of pushes were taken.
    """

    def __init__(self, kinematics: Kinematics, *, torque_sign: int = -1) -> None:
        self._kinematics = kinematics
        self._torque_sign = torque_sign
        self._resting: list[tuple[Array, Array]] = []
        self._forces: list[Array] = []
        self._displacements: list[Array] = []

    @property
    def pushes(self) -> int:
        """How many samples of pushes were taken."""
        return len(self._forces)

    def add(self, joints_rad: Array, torque_nm: Array) -> None:
        """Take note of a configuration (7,) and the external torques (7,) that were told there."""
        tool = self._kinematics.tool_poses(joints_rad)[0]
        if len(self._resting) < _RESTING_SAMPLES:
            self._resting.append((tool, np.array(torque_nm)))
            return
        rest_tool, rest_torque = (
            np.mean(part, axis=0) for part in zip(*self._resting, strict=True)
        )
        displacement = tool - rest_tool
        if np.linalg.norm(displacement) < _MIN_DISPLACEMENT_M:
            return
        jacobian = self._kinematics.jacobian(joints_rad)[:3]
        change = self._torque_sign * (np.asarray(torque_nm) - rest_torque)
        self._forces.append(force_from_torque(jacobian, change))
        self._displacements.append(displacement)

    def check(self) -> Check:
        """Say what the pushes tell."""
        result = check_sign(self._forces, self._displacements)
        if result.sign == 1:
            return Check(
                name='sign of torques', found=f'as configured (cosine {result.cosine:.2f})'
            )
        if result.sign == -1:
            return Check(
                name='sign of torques',
                found=f'the other way round (cosine {result.cosine:.2f})',
                advice=f'set torque_sign to {-self._torque_sign}',
                blocks=True,
            )
        return Check(
            name='sign of torques',
            found='not tested' if not result.pushes else f'undecided (cosine {result.cosine:.2f})',
            advice='hold the arm two centimetres aside for a second during the test',
        )

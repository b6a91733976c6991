"""What franka_ros2 and ros2_control are told of the arm, and how it recovers from an error."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reward_learning_ros.arm.description import JOINT_COUNT
from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError
from reward_learning_ros.parameters import (
    ParameterError,
    Parameters,
    parameter,
    specifications,
)
from reward_learning_ros.parameters.shared import (
    DETECTION_TORQUE_NM,
    REFLEX_FORCE_N,
    REFLEX_TORQUE_NM,
)

# States of a controller and of a hardware component, as controller_manager_msgs spells them.
ACTIVE = 'active'
INACTIVE = 'inactive'
FINALIZED = 'finalized'

ARM_CONTROLLER = 'fr3_arm_controller'
STATE_BROADCASTER = 'franka_robot_state_broadcaster'
JOINT_STATE_BROADCASTER = 'joint_state_broadcaster'

_PLACEHOLDER = '<prefix>'


def joint_prefix(robot_type: str, arm_prefix: str = '') -> str:
    """Return what the names of joints and links begin with, without the last underscore.

    Args:
        robot_type: kind of arm, `fr3` for example.
        arm_prefix: tells the arms of one description apart, `left` for example; empty for none.
    """
    return f'{arm_prefix}_{robot_type}' if arm_prefix else robot_type


def spawner_command(controller: str, namespace: str = '') -> str:
    """Return the command that loads, configures and activates a controller."""
    command = f'ros2 run controller_manager spawner {controller}'
    name = namespace.strip('/')
    return f'{command} --ros-args -r __ns:=/{name}' if name else command


def controllers_text(template: str, prefix: str) -> str:
    """Return the controllers file for joints of a prefix.

    Args:
        template: `config/franka_controllers.yaml`, or a file without the placeholder.
        prefix: of the joints.
    """
    return template.replace(_PLACEHOLDER, prefix)


def write_controllers(template: Path, prefix: str, folder: Path) -> Path:
    """Write the controllers file for joints of a prefix into a folder, and return its path."""
    path = folder / f'{prefix}_controllers.yaml'
    text = controllers_text(template.read_text(encoding='utf-8'), prefix)
    path.write_text(text, encoding='utf-8')
    return path


# The first releases whose bringup takes `robot_type` and `controllers_yaml`, by major version:
# 2 is Humble, 3 is Jazzy.
MINIMUM_RELEASES = {2: (2, 2, 0), 3: (3, 2, 0)}
_VERSION = re.compile(r'(\d+)\.(\d+)\.(\d+)')


class FrankaReleaseError(RewardLearningError):
    """franka_ros2 is too old, or its version cannot be read; says what is needed."""


def release_in(package_xml: Path) -> tuple[int, int, int]:
    """Return the version of franka_ros2 that a package.xml states.

    Raises:
        FrankaReleaseError: It cannot be read, or states none.
    """
    try:
        text = ElementTree.parse(package_xml).findtext('version', '')
    except (OSError, ElementTree.ParseError) as error:
        raise FrankaReleaseError(f'{package_xml} cannot be read: {error}') from error
    found = _VERSION.match(text.strip())
    if found is None:
        raise FrankaReleaseError(f'{package_xml} states the version {text!r}')
    major, minor, patch = map(int, found.groups())
    return major, minor, patch


def check_release(release: tuple[int, int, int]) -> None:
    """Refuse a release of franka_ros2 that is too old.

    Raises:
        FrankaReleaseError: It is; says which are supported.
    """
    # A later major version is not known to differ.
    minimum = MINIMUM_RELEASES.get(release[0], min(MINIMUM_RELEASES.values()))
    if release < minimum:
        allowed = ' or '.join(f'v{_text(each)}' for each in MINIMUM_RELEASES.values())
        raise FrankaReleaseError(
            f'franka_ros2 is v{_text(release)}; allowed: {allowed} and later, whose bringup takes '
            'robot_type and controllers_yaml'
        )


def _text(release: tuple[int, int, int]) -> str:
    return '.'.join(map(str, release))


# Of a wrench: three forces, three moments.
_WRENCH_SIZE = 6


@dataclass(frozen=True, kw_only=True)
class CollisionParameters(Parameters):
    """External torques and forces at which the arm reports a contact or stops in a reflex."""

    reflex_torque_nm: tuple[float, ...] = parameter(
        REFLEX_TORQUE_NM,
        description='External torque of each joint at which the arm stops in a reflex',
        minimum=0.1,
        maximum=87.0,
        unit='N·m',
    )
    reflex_force_n: float = parameter(
        REFLEX_FORCE_N,
        description='External force at the tool, along each axis, at which the arm stops in a '
        'reflex',
        minimum=1.0,
        maximum=140.0,
        unit='N',
    )
    reflex_moment_nm: float = parameter(
        25.0,
        description='External moment at the tool, about each axis, at which the arm stops in a '
        'reflex',
        minimum=0.1,
        maximum=87.0,
        unit='N·m',
    )
    contact_share: float = parameter(
        0.5,
        description='Share of each of these at which the arm reports a contact and moves on',
        minimum=0.01,
        maximum=1.0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.reflex_torque_nm) != JOINT_COUNT:
            raise ParameterError(
                type(self).__name__,
                'reflex_torque_nm',
                self.reflex_torque_nm,
                f'must be {JOINT_COUNT} numbers',
            )


@dataclass(frozen=True, kw_only=True)
class ThresholdParameters(CollisionParameters):
    """Where a contact is noticed, and where the arm stops in a reflex."""

    detection_torque_nm: float = parameter(
        DETECTION_TORQUE_NM,
        description='External torque at which a contact is noticed',
        minimum=0.01,
        unit='N·m',
    )


# What must be the same for playback, and for what sets the thresholds of the arm.
THRESHOLD_NAMES = (*specifications(ThresholdParameters), 'stop_torque_nm')


def collision_request(config: CollisionParameters) -> dict[str, list[float]]:
    """Return the fields of franka_msgs/SetFullCollisionBehavior.

    The thresholds are the same while the arm accelerates: a person pushes at any moment.
    """
    upper_torque = list(config.reflex_torque_nm)
    upper_force = [config.reflex_force_n] * 3 + [config.reflex_moment_nm] * (_WRENCH_SIZE - 3)
    fields = {}
    for phase in ('acceleration', 'nominal'):
        for kind, upper in (('torque', upper_torque), ('force', upper_force)):
            fields[f'upper_{kind}_thresholds_{phase}'] = upper
            fields[f'lower_{kind}_thresholds_{phase}'] = [
                config.contact_share * value for value in upper
            ]
    return fields


class RecoveryStep(enum.Enum):
    """The steps, in their order; the value says what is done."""

    ERRORS = 'clear the errors of the arm'
    HARDWARE = 'activate its hardware'
    CONTROLLERS = 'activate its controllers'


STEPS = tuple(RecoveryStep)
# How long each may take: the arm unlocks nothing, but clearing its errors takes a second or two.
STEP_TIMEOUT_SEC = 10.0


class RecoveryRefusedError(RewardLearningError):
    """Recovery of the arm is refused; says why."""


@dataclass(frozen=True, kw_only=True)
class StepOutcome:
    """The outcome of one step of a recovery.

    Attributes:
        step: which one.
        is_done: whether it succeeded.
        text: what was found or done, or why it failed.
    """

    step: RecoveryStep
    is_done: bool
    text: str

    def __str__(self) -> str:
        """Return it as a line of a report."""
        return f'{self.step.value}: {"" if self.is_done else "FAILED, "}{self.text}'


class RecoverySequence:
    """Says which step is next; whoever does it says what became of it.

    A step that fails, or is not over in time, ends the sequence: no later step is tried on an arm
    that is not ready for it.

    Attributes:
        outcomes: of the steps so far.
        step: the one under way; None before the first and after the last.
    """

    def __init__(self, timeout_sec: float = STEP_TIMEOUT_SEC) -> None:
        self.outcomes: tuple[StepOutcome, ...] = ()
        self.step: RecoveryStep | None = None
        self._timeout_sec = timeout_sec
        self._deadline_sec = 0.0

    @property
    def is_running(self) -> bool:
        """Whether a step is under way."""
        return self.step is not None

    @property
    def is_complete(self) -> bool:
        """Whether all steps were done."""
        return len(self.outcomes) == len(STEPS) and all(each.is_done for each in self.outcomes)

    @property
    def report(self) -> str:
        """The outcomes, one in each line."""
        return '\n'.join(map(str, self.outcomes))

    def begin(self, now_sec: float) -> RecoveryStep:
        """Begin, and return the first step.

        Args:
            now_sec: on a clock that never jumps.

        Raises:
            RecoveryRefusedError: It is under way, or was.
        """
        if self.step is not None or self.outcomes:
            raise RecoveryRefusedError('the recovery is already under way')
        return self._go_to(STEPS[0], now_sec)

    def finish_step(
        self, step: RecoveryStep, *, is_done: bool, text: str, now_sec: float
    ) -> RecoveryStep | None:
        """Take note of what became of a step, and return the next one, if there is one.

        An answer to a step that is no longer waited for changes nothing.
        """
        if step is not self.step:
            return None
        self.outcomes = (*self.outcomes, StepOutcome(step=step, is_done=is_done, text=text))
        self.step = None
        following = STEPS[STEPS.index(step) + 1 :]
        return self._go_to(following[0], now_sec) if is_done and following else None

    def look(self, now_sec: float) -> None:
        """Give up a step that is not over in time."""
        if self.step is not None and now_sec >= self._deadline_sec:
            self.finish_step(
                self.step,
                is_done=False,
                text=f'not done within {self._timeout_sec:.0f} s',
                now_sec=now_sec,
            )

    def _go_to(self, step: RecoveryStep, now_sec: float) -> RecoveryStep:
        self.step = step
        self._deadline_sec = now_sec + self._timeout_sec
        return step


Array = NDArray[np.float64]

# The gains of the effort controller that franka_ros2's MoveIt configuration brings.
FRANKA_STIFFNESS_NM = (600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0)
FRANKA_DAMPING_NM_S = (30.0, 30.0, 30.0, 30.0, 10.0, 10.0, 5.0)

# A sixth of that stiffness gives way by 4 to 8.5 cm to a push of 20 N, which a person can do with
# two fingers. Damping goes with the root, so that the arm comes to rest as it does with Franka's.
COMPLIANT_SHARE = 1.0 / 6.0
COMPLIANT_STIFFNESS_NM = tuple(round(COMPLIANT_SHARE * gain, 2) for gain in FRANKA_STIFFNESS_NM)
COMPLIANT_DAMPING_NM_S = tuple(
    round(COMPLIANT_SHARE**0.5 * gain, 2) for gain in FRANKA_DAMPING_NM_S
)


@dataclass(frozen=True, kw_only=True)
class Impedance:
    """A spring and a damper at every joint, each (7,), read-only.

    Attributes:
        stiffness_nm: N·m/rad.
        damping_nm_s: N·m·s/rad.
    """

    stiffness_nm: Array
    damping_nm_s: Array

    def __post_init__(self) -> None:
        for name in ('stiffness_nm', 'damping_nm_s'):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != (JOINT_COUNT,) or not (array > 0.0).all():
                raise InvalidInputError(
                    f'{name} is {getattr(self, name)}; allowed: {JOINT_COUNT} values above 0'
                )
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def displacement_m(self, jacobian: ArrayLike, force_n: ArrayLike) -> Array:
        """Compute how far a force at the tool displaces it, to first order.

        Args:
            jacobian: (6, 7) of the tool, base frame.
            force_n: (3,) base frame.

        Returns:
            (3,) in metres, base frame.
        """
        linear = np.asarray(jacobian)[:3]
        return np.asarray(linear @ ((linear.T @ np.asarray(force_n)) / self.stiffness_nm))

    def torque_nm(self, jacobian: ArrayLike, displacement_m: ArrayLike) -> Array:
        """Compute the joint torques of a person who holds the tool displaced, to first order.

        Args:
            jacobian: (6, 7) of the tool, base frame.
            displacement_m: (3,) base frame; the tool is free to turn.

        Returns:
            (7,) in N·m.
        """
        linear = np.asarray(jacobian)[:3]
        compliance = linear @ (linear / self.stiffness_nm).T
        force = np.linalg.solve(compliance, np.asarray(displacement_m))
        return np.asarray(linear.T @ force)


COMPLIANT = Impedance(
    stiffness_nm=np.array(COMPLIANT_STIFFNESS_NM), damping_nm_s=np.array(COMPLIANT_DAMPING_NM_S)
)

"""What may be chosen about a session: launch arguments and command-line options follow from it."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reward_learning_ros.parameters import (
    ParameterError,
    Parameters,
    from_mapping,
    parameter,
    specifications,
    text_of,
)
from reward_learning_ros.parameters.shared import (
    ARMS,
    AT_ONCE,
    BETWEEN_PASSES,
    FRANKA,
    KINESTHETIC,
    SIMULATED,
    beta_parameter,
    correction_source_parameter,
    dependence_parameter,
    method_parameter,
    replan_parameter,
)
from reward_learning_ros.participant.people import KINDS, PURPOSEFUL
from reward_learning_ros.session.node_parameters import (
    CONSENTS,
    DEFAULT_PORT,
    EVERY_PASS,
    NO_CONSENT,
)

HUMAN = 'human'
# What `replan` was called in sessions that were recorded before, and its values.
_OLD_REPLAN = 'mode'
_OLD_REPLANS = {'online': AT_ONCE, 'after_pass': BETWEEN_PASSES}

# Names of studies and participants become folders: no separators, nothing hidden, nothing that
# a shell or another system would read as something else.
_NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9_-]{0,63}')
_NAME_RULE = 'must be letters, digits, "_" and "-", at most 64, beginning with a letter or digit'

# As many passes as a simulated participant, or a person, is given to say what they want.
_SIMULATED_PASSES = 3
_HUMAN_PASSES = 12


@dataclass(frozen=True, kw_only=True)
class SessionParameters(Parameters):
    """Parameters of a session: task, arm, participant, inference and consent."""

    study: str = parameter('demo', description='Name of the study; a folder')
    participant: str = parameter(
        'p01', description='Name of the participant, not their real one; a folder'
    )
    trial: int = parameter(
        0, description='Number of the trial; 0 takes the next free one', minimum=0, maximum=999
    )
    sessions: str = parameter('sessions', description='Folder in which sessions are kept')
    task: str = parameter('press_conflict', description='Task that the arm does')
    method: str = method_parameter()
    dependence: str = dependence_parameter()
    beta: float | None = beta_parameter()
    replan: str = replan_parameter()
    arm: str = parameter(SIMULATED, description='Which arm it is done on', choices=ARMS)
    robot_ip: str = parameter(
        '', description='Address of the Franka arm; empty if franka_bringup already runs'
    )
    participant_model: str = parameter(
        SIMULATED,
        description='Who corrects: a program, or a person at the arm',
        choices=(SIMULATED, HUMAN),
    )
    participant_kind: str = parameter(
        PURPOSEFUL,
        description='What the simulated participant does: draws a pass from the human model, '
        'guides the arm along their ideal, pushes once a pass, or guides it unless it is good '
        'enough',
        choices=KINDS,
    )
    participant_theta: tuple[float, ...] = parameter(
        (),
        description='What the simulated participant wants; empty is a preset, or drawn from the '
        'prior by the seed',
    )
    participant_preset: str = parameter(
        '',
        description='What the simulated participant wants, by the name of a preset of the task; '
        'empty is drawn from the prior by the seed',
    )
    participant_beta: float = parameter(
        10.0,
        description='How reliably a simulated participant of kind model picks what they want',
        minimum=1e-3,
        maximum=1e4,
    )
    participant_motor_noise_m: float = parameter(
        0.003,
        description='Standard deviation along each axis of where the hand of a simulated '
        'participant of the other kinds ends up',
        minimum=0.0,
        maximum=0.1,
        unit='m',
    )
    correction_source: str = correction_source_parameter()
    max_passes: int | None = parameter(
        None,
        description=f'After so many passes it ends; unset, {_SIMULATED_PASSES} if a program '
        f'corrects and {_HUMAN_PASSES} if a person does',
        minimum=1,
        maximum=1000,
    )
    max_corrections: int = parameter(
        0,
        description='After pushes at so many waypoints it ends; 0 is no limit',
        minimum=0,
        maximum=1000,
    )
    consent: str = parameter(
        '',
        description='Who lets the arm move: a person before every pass (session/begin), before '
        'the first one and after every stop, or nobody; unset, it is every_pass with a real arm, '
        'where none is refused, or where a person pulls on the page of the console, and else none',
        choices=('', *CONSENTS),
    )
    seed: int = parameter(0, description='Seed of all random numbers', minimum=0)
    realtime: bool | None = parameter(
        None,
        description='Whether the simulated arm moves no faster than a real one; unset, it does so '
        'if a person corrects',
    )
    speed: float = parameter(
        4.0,
        description='Simulated seconds per second, unless the session runs in real time',
        minimum=0.1,
        maximum=100.0,
    )
    rviz: bool = parameter(False, description='Whether to open RViz')
    console: bool = parameter(
        False,
        description='Whether to serve the console: the page in the browser from which the session '
        'is watched and run, and the simulated arm is pulled',
    )
    console_port: int = parameter(
        DEFAULT_PORT, description='Port of the console', minimum=1024, maximum=65535
    )
    namespace: str = parameter('', description='Namespace of all nodes', is_namespace=True)
    robot_type: str = parameter(
        'fr3', description='Kind of the Franka arm, as franka_ros2 names it'
    )
    prefix: str = parameter(
        '',
        description='Prefix of joints and frames of the arm; unset, it is robot_type. Where one '
        'description has several arms, it is left_fr3 for example',
    )
    hand: bool = parameter(
        True,
        description='Whether the Franka Hand is mounted; without it the flange is the tool',
    )
    parameters_file: str = parameter(
        '', description='ROS 2 parameter file with further parameters of the nodes'
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ('study', 'participant'):
            if not _NAME.fullmatch(getattr(self, name)):
                raise self._refusal(name, _NAME_RULE)
        if self.arm == FRANKA and self.participant_model == SIMULATED:
            raise self._refusal(
                'participant_model', f'must be {HUMAN} with arm {FRANKA}: nobody else can push it'
            )
        if self.has_simulated_participant and self.correction_source != KINESTHETIC:
            raise self._refusal(
                'correction_source',
                f'must be {KINESTHETIC} unless participant_model is {HUMAN}: programs push',
            )
        if self.arm == FRANKA and self.consent == NO_CONSENT:
            raise self._refusal('consent', f'must not be {NO_CONSENT} with arm {FRANKA}')
        if self.robot_ip and self.arm != FRANKA:
            raise self._refusal('robot_ip', f'must be empty unless arm is {FRANKA}')
        if self.robot_ip and not f'_{self.joint_prefix}'.endswith(f'_{self.robot_type}'):
            raise self._refusal(
                'prefix', f'must be robot_type, {self.robot_type}, or end with _{self.robot_type}'
            )

    def _refusal(self, name: str, rule: str) -> ParameterError:
        return ParameterError(type(self).__name__, name, getattr(self, name), rule)

    @property
    def joint_prefix(self) -> str:
        """What the names of joints and frames begin with."""
        return self.prefix or self.robot_type

    @property
    def arm_prefix(self) -> str:
        """What tells the arms of one description apart; empty if there is one."""
        return self.joint_prefix.removesuffix(self.robot_type).rstrip('_')

    @property
    def uses_simulated_time(self) -> bool:
        """Whether the nodes follow the simulated arm's clock instead of the wall clock."""
        if self.arm != SIMULATED or self.is_pulled_on_page:
            return False
        return self.has_simulated_participant if self.realtime is None else not self.realtime

    @property
    def is_pulled_on_page(self) -> bool:
        """Whether a person pulls the simulated arm with the mouse: at the pace of a person."""
        return self.console and self.arm == SIMULATED and not self.has_simulated_participant

    @property
    def has_simulated_participant(self) -> bool:
        """Whether a program corrects, so that what it wants is known."""
        return self.participant_model == SIMULATED

    @property
    def consent_rule(self) -> str:
        """Who lets the arm move."""
        needs_nobody = self.arm == SIMULATED and not self.is_pulled_on_page
        return self.consent or (NO_CONSENT if needs_nobody else EVERY_PASS)

    @property
    def passes_limit(self) -> int:
        """After how many passes it ends."""
        if self.max_passes is not None:
            return self.max_passes
        return _SIMULATED_PASSES if self.has_simulated_participant else _HUMAN_PASSES


def session_from_mapping(mapping: Mapping[str, Any]) -> SessionParameters:
    """Return the parameters of a session from its `session.yaml`, also of one recorded before.

    Raises:
        ParameterError: A value is refused.
    """
    values = dict(mapping)
    if _OLD_REPLAN in values:
        mode = values.pop(_OLD_REPLAN)
        values['replan'] = _OLD_REPLANS.get(mode, mode)
        # Unset, it was not the same for everybody.
        if values.get('max_corrections', 0) is None:
            values['max_corrections'] = 0
    return from_mapping(SessionParameters, values)


_COMMAND = (sys.executable, '-m', 'reward_learning_ros.cli', 'session')


def session_words(config: SessionParameters, resume: str = '') -> list[str]:
    """Return the command that runs a session, word by word.

    Args:
        config: What differs from the defaults is told.
        resume: Folder of an interrupted session to go on with, whose own parameters apply.
    """
    if resume:
        return [*_COMMAND, '--resume', resume]
    words = [*_COMMAND]
    for name, specification in specifications(SessionParameters).items():
        value = getattr(config, name)
        if value == specification.default:
            continue
        option = f'--{name.replace("_", "-")}'
        if isinstance(value, bool):
            words.append(option if value else option.replace('--', '--no-', 1))
        else:
            words += [option, *map(text_of, value if isinstance(value, tuple) else (value,))]
    return words

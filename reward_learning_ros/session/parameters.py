"""What may be chosen about a session: launch arguments and command-line options follow from it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reward_learning_ros.nodes.session_conductor_parameters import (
    CONSENTS,
    EVERY_PASS,
    NO_CONSENT,
)
from reward_learning_ros.parameters import ParameterError, Parameters, parameter
from reward_learning_ros.parameters.arms import ARMS, FRANKA, SIMULATED
from reward_learning_ros.parameters.correcting import KINESTHETIC, correction_source_parameter
from reward_learning_ros.parameters.inference import (
    beta_parameter,
    dependence_parameter,
    method_parameter,
)

HUMAN = 'human'
ONLINE = 'online'
AFTER_PASS = 'after_pass'

# Names of studies and participants become folders: no separators, nothing hidden, nothing that
# a shell or another system would read as something else.
_NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9_-]{0,63}')
_NAME_RULE = 'must be letters, digits, "_" and "-", at most 64, beginning with a letter or digit'

# As many as a simulated participant is given to say what they want.
_SIMULATED_CORRECTIONS = 6


@dataclass(frozen=True, kw_only=True)
class SessionParameters(Parameters):
    """One participant, one task, one run of it."""

    study: str = parameter('demo', description='Name of the study; a folder')
    participant: str = parameter(
        'p01', description='Name of the participant, not their real one; a folder'
    )
    trial: int = parameter(
        0, description='Number of the trial; 0 takes the next free one', minimum=0, maximum=999
    )
    sessions: str = parameter('sessions', description='Folder in which sessions are kept')
    task: str = parameter('press', description='Task that the arm does')
    method: str = method_parameter()
    dependence: str = dependence_parameter()
    beta: float | None = beta_parameter()
    mode: str = parameter(
        ONLINE,
        description='When to infer: after every correction, or after a pass with many',
        choices=(ONLINE, AFTER_PASS),
    )
    arm: str = parameter(SIMULATED, description='Which arm it is done on', choices=ARMS)
    robot_ip: str = parameter(
        '', description='Address of the Franka arm; empty if franka_bringup already runs'
    )
    participant_model: str = parameter(
        SIMULATED,
        description='Who corrects: a noisily rational program, or a person at the arm',
        choices=(SIMULATED, HUMAN),
    )
    participant_theta: tuple[float, ...] = parameter(
        (), description='What the simulated participant wants; empty is the first preset'
    )
    participant_beta: float = parameter(
        10.0,
        description='How reliably the simulated participant picks what they want',
        minimum=1e-3,
        maximum=1e4,
    )
    correction_source: str = correction_source_parameter()
    max_passes: int = parameter(
        12, description='After so many passes it ends', minimum=1, maximum=1000
    )
    max_corrections: int | None = parameter(
        None,
        description='After so many corrections it ends; 0 is no limit; unset, a program makes '
        f'{_SIMULATED_CORRECTIONS} and a person has no limit',
        minimum=0,
        maximum=1000,
    )
    consent: str = parameter(
        '',
        description='Who lets the arm move: a person before every pass (session/begin), before '
        'the first one and after every stop, or nobody; unset, it is every_pass with a real arm, '
        'where none is refused, and none with a simulated one',
        choices=('', *CONSENTS),
    )
    seed: int = parameter(0, description='Seed of all random numbers', minimum=0)
    realtime: bool = parameter(
        False, description='Whether the simulated arm moves no faster than a real one'
    )
    speed: float = parameter(
        4.0,
        description='Simulated seconds per second, unless it is real time',
        minimum=0.1,
        maximum=100.0,
    )
    rviz: bool = parameter(False, description='Whether to open RViz')
    namespace: str = parameter('', description='Namespace of all nodes')
    robot_type: str = parameter(
        'fr3', description='Kind of the Franka arm, as franka_ros2 names it'
    )
    prefix: str = parameter(
        '',
        description='Prefix of joints and frames of the arm; unset, it is robot_type. Where one '
        'description has several arms, it is left_fr3 for example',
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
        """Whether the nodes follow the simulated arm's clock instead of the wall's."""
        return self.arm == SIMULATED and not self.realtime

    @property
    def has_simulated_participant(self) -> bool:
        """Whether a program corrects, so that what it wants is known."""
        return self.participant_model == SIMULATED

    @property
    def consent_rule(self) -> str:
        """Who lets the arm move."""
        return self.consent or (NO_CONSENT if self.arm == SIMULATED else EVERY_PASS)

    @property
    def corrections_limit(self) -> int:
        """After how many corrections it ends; 0 is no limit."""
        if self.max_corrections is not None:
            return self.max_corrections
        return _SIMULATED_CORRECTIONS if self.has_simulated_participant else 0

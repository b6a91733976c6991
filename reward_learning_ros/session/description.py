"""The nodes of a session with their parameters: the launch file and the command start these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.core.tasks import task_names
from reward_learning_ros.core.tasks.registry import share_directory
from reward_learning_ros.nodes.correction_recorder_parameters import CorrectionRecorderParameters
from reward_learning_ros.nodes.reward_inference_parameters import RewardInferenceParameters
from reward_learning_ros.nodes.session_conductor_parameters import SessionConductorParameters
from reward_learning_ros.nodes.session_recorder_parameters import SessionRecorderParameters
from reward_learning_ros.nodes.simulated_arm_parameters import SIMULATED as SIMULATED_CLOCK
from reward_learning_ros.nodes.simulated_arm_parameters import SimulatedArmParameters
from reward_learning_ros.nodes.simulated_participant_parameters import (
    SimulatedParticipantParameters,
)
from reward_learning_ros.nodes.trajectory_playback_parameters import TrajectoryPlaybackParameters
from reward_learning_ros.parameters import Parameters, from_mapping, mapping_from_file
from reward_learning_ros.session.folder import SessionFolder, open_folder
from reward_learning_ros.session.parameters import FRANKA, ONLINE, SIMULATED, SessionParameters

PACKAGE = 'reward_learning_ros'
CONDUCTOR = 'session_conductor'
RECORDER = 'session_recorder'

# Of the arm's state and of its clock, in simulated time; must divide 1000.
_FAST_STATE_RATE_HZ = 200
_FAST_CLOCK_RATE_HZ = 100
_LATE_HAND_SEC = 1.0
# The simulated arm makes the clock, and the conductor must see that it stands still.
_BY_THE_WALL = ('simulated_arm', CONDUCTOR)

_PARAMETERS: dict[str, type[Parameters]] = {
    'simulated_arm': SimulatedArmParameters,
    'trajectory_playback': TrajectoryPlaybackParameters,
    'correction_recorder': CorrectionRecorderParameters,
    'reward_inference': RewardInferenceParameters,
    'simulated_participant': SimulatedParticipantParameters,
    RECORDER: SessionRecorderParameters,
    CONDUCTOR: SessionConductorParameters,
}


@dataclass(frozen=True, kw_only=True)
class NodeDescription:
    """One node of a session.

    Attributes:
        executable: in `package`; of our own nodes it is the module's name too.
        name: of the node.
        namespace: of the node.
        parameters: what differs from the defaults.
        remappings: pairs of names.
        arguments: of its command line, before those of ROS.
        package: whose executable it is.
    """

    executable: str
    name: str
    namespace: str = ''
    parameters: Mapping[str, Any] = field(default_factory=dict)
    remappings: tuple[tuple[str, str], ...] = ()
    arguments: tuple[str, ...] = ()
    package: str = PACKAGE

    def to_mapping(self) -> dict[str, Any]:
        """Return it as plain types, for the session's file."""
        return {
            'package': self.package,
            'executable': self.executable,
            'namespace': self.namespace,
            'parameters': dict(self.parameters),
            'remappings': [list(pair) for pair in self.remappings],
            'arguments': list(self.arguments),
        }


@dataclass(frozen=True, kw_only=True)
class SessionDescription:
    """All nodes of a session, in the order in which they are started.

    Attributes:
        nodes: the nodes.
        bringup: arguments of `franka.launch.py`, which brings the real arm up; None without one.
    """

    nodes: tuple[NodeDescription, ...]
    bringup: Mapping[str, str] | None = None

    def to_mapping(self) -> dict[str, Any]:
        """Return the nodes by name as plain types, for the session's file."""
        return {node.name: node.to_mapping() for node in self.nodes}


def begin(
    config: SessionParameters, resume: str | Path | None = None
) -> tuple[SessionFolder, SessionParameters, SessionDescription]:
    """Make the folder of a session, with its configuration, and describe its nodes.

    Args:
        config: What was chosen.
        resume: Folder of an interrupted session to go on with; its own configuration applies.

    Raises:
        InvalidInputError: Something chosen is refused, and nothing was made; or the folder cannot
            be made, or holds no session that could go on.
    """
    if resume is None:
        if config.parameters_file:
            # A session may go on from another folder.
            file = str(Path(config.parameters_file).absolute())
            config = replace(config, parameters_file=file)
        describe(config, SessionFolder(path=Path(config.sessions)))
    folder, resolved = open_folder(config, resume)
    description = describe(resolved, folder)
    if resume is None:
        folder.write_configuration(resolved, description.to_mapping())
    return folder, resolved, description


def describe(config: SessionParameters, folder: SessionFolder) -> SessionDescription:
    """Return the nodes of a session.

    Args:
        config: What was chosen.
        folder: Where the session is kept.

    Raises:
        InvalidInputError: The parameter file cannot be read, or a parameter is refused.
    """
    if config.task not in task_names():
        raise UnknownNameError('task', config.task, task_names())
    chosen = _chosen_parameters(config, folder)
    nodes = [_described(config, name, parameters) for name, parameters in chosen.items()]
    if config.rviz:
        nodes.append(_rviz(config))
    return SessionDescription(nodes=tuple(nodes), bringup=_bringup(config))


def _chosen_parameters(
    config: SessionParameters, folder: SessionFolder
) -> dict[str, dict[str, Any]]:
    """Return the parameters of each node, in the order in which the nodes are started."""
    learning: dict[str, Any] = {
        'task': config.task,
        'method': config.method,
        'dependence': config.dependence,
        'seed': config.seed,
        'prefix': config.prefix,
    }
    if config.beta is not None:
        learning['beta'] = config.beta
    chosen: dict[str, dict[str, Any]] = {RECORDER: {'bag': str(folder.bag)}}
    if config.arm == SIMULATED:
        chosen['simulated_arm'] = _simulated_arm(config)
    chosen['trajectory_playback'] = {'prefix': config.prefix, **_patience(config)}
    chosen['correction_recorder'] = {
        'prefix': config.prefix,
        'correction_source': config.correction_source,
    }
    chosen['reward_inference'] = {
        **learning,
        'mode': config.mode,
        'bag': str(folder.bag),
    }
    if config.has_simulated_participant:
        chosen['simulated_participant'] = {
            'task': config.task,
            'beta': config.participant_beta,
            'seed': config.seed,
            'prefix': config.prefix,
        }
        if config.mode == ONLINE:
            # After each push another plan is shown: they do not think of a second one before.
            chosen['simulated_participant']['corrections_per_pass'] = 1
        if config.participant_theta:
            # An empty list has no type that ROS could know.
            chosen['simulated_participant']['theta'] = list(config.participant_theta)
    others = [name for name in chosen if name != 'simulated_arm']
    chosen[CONDUCTOR] = {
        'watched_nodes': others,
        'max_passes': config.max_passes,
        'max_corrections': config.corrections_limit,
        'quiet_pass_accepts': config.has_simulated_participant,
        'recovers': config.arm == SIMULATED,
        'bag': str(folder.bag),
    }
    chosen['trajectory_playback']['watched_nodes'] = [
        name for name in (*others, CONDUCTOR) if name != 'trajectory_playback'
    ]
    return chosen


def _simulated_arm(config: SessionParameters) -> dict[str, Any]:
    parameters: dict[str, Any] = {'prefix': config.prefix, 'seed': config.seed}
    if config.has_simulated_participant:
        # They say when they let go; a message of theirs that is late is no release.
        parameters['push_timeout_sec'] = _LATE_HAND_SEC
    if config.uses_simulated_time:
        parameters |= {
            'clock': SIMULATED_CLOCK,
            'speed': config.speed,
            # As many messages a second of the wall as an arm in real time, about.
            'convenience_publish_rate': _FAST_STATE_RATE_HZ,
            'clock_publish_rate': _FAST_CLOCK_RATE_HZ,
        }
    return parameters


def _patience(config: SessionParameters) -> dict[str, Any]:
    """Return how long playback waits in simulated time: a late message is not a broken arm."""
    if not config.uses_simulated_time:
        return {}
    return {'horizon_sec': 2.0, 'state_timeout_sec': 4.0, 'clock_tolerance_sec': 4.0}


def _described(
    config: SessionParameters, name: str, parameters: dict[str, Any]
) -> NodeDescription:
    if config.parameters_file:
        cls = _PARAMETERS[name]
        parameters |= mapping_from_file(cls, config.parameters_file, node=name)
    # A bad value is refused here, before anything is started.
    from_mapping(_PARAMETERS[name], parameters)
    if config.uses_simulated_time and name not in _BY_THE_WALL:
        parameters['use_sim_time'] = True
    return NodeDescription(
        executable=name, name=name, namespace=config.namespace, parameters=parameters
    )


def _rviz(config: SessionParameters) -> NodeDescription:
    layout = Path(share_directory()) / 'config' / 'session.rviz'
    if not layout.is_file():
        raise InvalidInputError(f'{layout} is not there; allowed: rviz false')
    return NodeDescription(
        package='rviz2',
        executable='rviz2',
        name='rviz2',
        namespace=config.namespace,
        arguments=('-d', str(layout), '-f', f'{config.prefix}_link0'),
        parameters={'use_sim_time': True} if config.uses_simulated_time else {},
    )


def _bringup(config: SessionParameters) -> dict[str, str] | None:
    if config.arm != FRANKA or not config.robot_ip:
        return None
    return {
        'robot_ip': config.robot_ip,
        'robot_type': config.prefix,
        'namespace': config.namespace,
        'playback': 'false',
    }

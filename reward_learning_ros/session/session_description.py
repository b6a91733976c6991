"""The nodes of a session with their parameters: the launch file and the command start these."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reward_learning_ros.arm.franka import STATE_BROADCASTER, THRESHOLD_NAMES
from reward_learning_ros.arm.simulation_parameters import (
    CLOCK_TOPIC,
    SimulatedArmParameters,
    clock_topic,
)
from reward_learning_ros.arm.simulation_parameters import (
    SIMULATED as SIMULATED_CLOCK,
)
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.learning.learning_parameters import (
    MODEL_KEYS,
    RewardInferenceParameters,
)
from reward_learning_ros.parameters import (
    Parameters,
    from_mapping,
    mapping_from_file,
    text_of,
)
from reward_learning_ros.parameters.shared import FRANKA, SIMULATED
from reward_learning_ros.parameters.sources import check_nodes
from reward_learning_ros.participant.decisions import ParticipantParameters, wanted_theta
from reward_learning_ros.participant.participation import (
    SimulatedParticipantParameters,
)
from reward_learning_ros.playback.configuration import (
    JOINT_TRAJECTORY_CONTROLLER,
    TrajectoryPlaybackParameters,
)
from reward_learning_ros.recording.bag_writer import existing_files
from reward_learning_ros.recording.problems import BagError
from reward_learning_ros.session.folder import SessionFolder, open_folder
from reward_learning_ros.session.node_parameters import (
    CONSOLE,
    ConsoleParameters,
    SessionConductorParameters,
    SessionRecorderParameters,
)
from reward_learning_ros.session.node_parameters import (
    RECORDER as RECORDER,
)
from reward_learning_ros.session.protection import link, refuse_beyond_limits, refuse_protected
from reward_learning_ros.session.recorder_parameters import (
    CorrectionRecorderParameters,
)
from reward_learning_ros.session.session_parameters import SessionParameters
from reward_learning_ros.tasks import load_task, task_names
from reward_learning_ros.tasks.registry import share_directory

PACKAGE = 'reward_learning_ros'
CONDUCTOR = 'session_conductor'
PLAYBACK = 'trajectory_playback'
_SIMULATED_ARM = 'simulated_arm'
# Of a real arm: everything that franka.launch.py starts.
BRINGUP = 'franka_bringup'
_RVIZ = 'rviz2'

# Of the arm's state and of its clock, in simulated time; must divide 1000.
_FAST_STATE_RATE_HZ = 200
_FAST_CLOCK_RATE_HZ = 100
_LATE_HAND_SEC = 1.0
_LATE_MOUSE_SEC = 0.3
# Between the end of a recording and what goes on with it, in simulated time.
_BETWEEN_RUNS_SEC = 1.0
# Seconds of a stamp have 32 bits: a recording that goes on until then is damaged.
_LAST_SEC = 2e9
# The simulated arm makes the clock, and the conductor must see that it stands still.
_BY_THE_WALL = (_SIMULATED_ARM, CONDUCTOR)

PARAMETERS_OF_NODES: dict[str, type[Parameters]] = {
    _SIMULATED_ARM: SimulatedArmParameters,
    PLAYBACK: TrajectoryPlaybackParameters,
    'correction_recorder': CorrectionRecorderParameters,
    'reward_inference': RewardInferenceParameters,
    'simulated_participant': SimulatedParticipantParameters,
    RECORDER: SessionRecorderParameters,
    CONDUCTOR: SessionConductorParameters,
}


@dataclass(frozen=True, kw_only=True)
class NodeDescription:
    """How one node of a session is started: executable, name, namespace and parameters.

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
    epoch_sec = _clock_epoch_sec(folder, resolved.speed, time.time())
    description = describe(resolved, folder, epoch_sec)
    if resume is None:
        try:
            folder.write_configuration(resolved, description.to_mapping())
        except OSError as error:
            # It takes no trial's number with it.
            folder.path.rmdir()
            raise InvalidInputError(
                f'cannot write {folder.configuration}: {error.strerror}'
            ) from error
    return folder, resolved, description


def _clock_epoch_sec(folder: SessionFolder, speed: float, now_sec: float) -> float:
    """Return when simulated time is to be that of the wall: now, unless it was later already.

    Args:
        folder: Of the session, whose recording it must not go back in.
        speed: Of simulated time.
        now_sec: Time of the wall, since 1970.
    """
    last_sec = 0.0
    with contextlib.suppress(BagError, OSError):
        # What cannot be read now, nobody can go on with either: the recorder will say so.
        ends_ns = [file.end_ns or 0 for file in existing_files(folder.bag)]
        last_sec = max(ends_ns, default=0) / 1e9
    if last_sec < now_sec or speed <= 1.0 or last_sec > _LAST_SEC:
        return now_sec
    # Simulated time had run ahead: it was that of the wall some time ago.
    return now_sec - (last_sec + _BETWEEN_RUNS_SEC - now_sec) / (speed - 1.0)


def describe(
    config: SessionParameters, folder: SessionFolder, clock_epoch_sec: float = 0.0
) -> SessionDescription:
    """Return the nodes of a session with their parameters.

    Args:
        config: What was chosen.
        folder: Where the session is kept.
        clock_epoch_sec: When simulated time was that of the wall, since 1970; 0 leaves it to the
            simulated arm.

    Raises:
        InvalidInputError: The parameter file cannot be read, or a parameter is refused.
    """
    if config.task not in task_names():
        raise UnknownNameError('task', config.task, task_names())
    chosen = _chosen_parameters(config, folder)
    if config.uses_simulated_time and clock_epoch_sec:
        chosen[_SIMULATED_ARM]['clock_epoch_sec'] = clock_epoch_sec
    told = _told_parameters(config, chosen)
    for name, parameters in chosen.items():
        parameters |= told[name]
    _follow_controller(config, chosen)
    nodes = [
        _described(config, name, parameters, told[name]) for name, parameters in chosen.items()
    ]
    if config.rviz:
        nodes.append(_rviz(config))
    if config.console:
        nodes.append(_console(config))
    bringup = _bringup(config, chosen[PLAYBACK])
    return SessionDescription(nodes=tuple(nodes), bringup=bringup)


def _chosen_parameters(
    config: SessionParameters, folder: SessionFolder
) -> dict[str, dict[str, Any]]:
    """Return the parameters of each node, in the order in which the nodes are started."""
    learning: dict[str, Any] = {
        'task': config.task,
        'method': config.method,
        'dependence': config.dependence,
        'seed': config.seed,
        'prefix': config.joint_prefix,
        'hand': config.hand,
    }
    if config.beta is not None:
        learning['beta'] = config.beta
    chosen: dict[str, dict[str, Any]] = {RECORDER: {'bag': str(folder.bag)}}
    if config.arm == SIMULATED:
        chosen[_SIMULATED_ARM] = _simulated_arm(config)
    chosen[PLAYBACK] = {
        'prefix': config.joint_prefix,
        'hand': config.hand,
        **_patience(config),
    }
    if config.arm == FRANKA:
        chosen[PLAYBACK]['requires_mode'] = True
    chosen['correction_recorder'] = {
        'prefix': config.joint_prefix,
        'hand': config.hand,
        'correction_source': config.correction_source,
    }
    chosen['reward_inference'] = {
        **learning,
        'replan': config.replan,
        'bag': str(folder.bag),
    }
    if config.has_simulated_participant:
        chosen['simulated_participant'] = {
            'task': config.task,
            'kind': config.participant_kind,
            'preset': config.participant_preset,
            'beta': config.participant_beta,
            'motor_noise_m': config.participant_motor_noise_m,
            'seed': config.seed,
            'prefix': config.joint_prefix,
            'hand': config.hand,
        }
        if config.participant_theta:
            # An empty list has no type that ROS could know.
            chosen['simulated_participant']['theta'] = list(config.participant_theta)
    others = [name for name in chosen if name != _SIMULATED_ARM]
    chosen[CONDUCTOR] = {
        'watched_nodes': others,
        'max_passes': config.passes_limit,
        'max_corrections': config.max_corrections,
        'quiet_pass_accepts': config.has_simulated_participant,
        'consent': config.consent_rule,
        'arm': config.arm,
        'arm_prefix': config.arm_prefix,
        'bag': str(folder.bag),
    }
    chosen[PLAYBACK]['watched_nodes'] = [name for name in (*others, CONDUCTOR) if name != PLAYBACK]
    return chosen


def _simulated_arm(config: SessionParameters) -> dict[str, Any]:
    parameters: dict[str, Any] = {
        'prefix': config.joint_prefix,
        'hand': config.hand,
        'seed': config.seed,
    }
    if config.has_simulated_participant:
        # They say when they let go; a message of theirs that is late is no release.
        parameters['push_timeout_sec'] = _LATE_HAND_SEC
    elif config.is_pulled_on_page:
        # So does the page, or its console in its place.
        parameters['push_timeout_sec'] = _LATE_MOUSE_SEC
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


def _told_parameters(config: SessionParameters, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return what the parameter file says of each node, and what follows from it."""
    file = config.parameters_file
    told: dict[str, dict[str, Any]] = {name: {} for name in names}
    if not file:
        return told
    # One that this session lacks, such as the simulated participant, may be in it all the same.
    check_nodes(file, (*PARAMETERS_OF_NODES, CONSOLE, _RVIZ))
    for name, values in told.items():
        values |= mapping_from_file(PARAMETERS_OF_NODES[name], file, node=name)
        refuse_protected(file, name, values)
    link(file, told)
    return told


def _follow_controller(config: SessionParameters, chosen: dict[str, dict[str, Any]]) -> None:
    """Let the commands be recorded that playback sends, and a real arm's controller be awaited."""
    playback = from_mapping(TrajectoryPlaybackParameters, chosen[PLAYBACK])
    chosen[RECORDER]['controller'] = playback.controller
    if config.arm != FRANKA:
        return
    controllers = [STATE_BROADCASTER]
    if playback.backend == JOINT_TRAJECTORY_CONTROLLER:
        controllers.append(playback.controller)
    chosen[CONDUCTOR]['controllers'] = controllers


def _described(
    config: SessionParameters, name: str, parameters: dict[str, Any], told: dict[str, Any]
) -> NodeDescription:
    cls = PARAMETERS_OF_NODES[name]
    # A bad value is refused here, before anything is started.
    resolved = from_mapping(cls, parameters)
    if isinstance(resolved, ParticipantParameters):
        wanted_theta(resolved, load_task(resolved.task))
    if config.arm == FRANKA:
        refuse_beyond_limits(config.parameters_file, name, cls, told, resolved)
    if isinstance(resolved, RewardInferenceParameters):
        # Also where they are the defaults: a recording says by which model it was learned from.
        parameters |= {key: getattr(resolved, key) for key in MODEL_KEYS}
    if config.uses_simulated_time and name not in _BY_THE_WALL:
        parameters['use_sim_time'] = True
    return NodeDescription(
        executable=name,
        name=name,
        namespace=config.namespace,
        parameters=parameters,
        remappings=_clock_remappings(config),
    )


def _console(config: SessionParameters) -> NodeDescription:
    parameters: dict[str, Any] = {
        'port': config.console_port,
        'sessions': str(Path(config.sessions).absolute()),
    }
    if config.parameters_file:
        parameters |= mapping_from_file(ConsoleParameters, config.parameters_file, node=CONSOLE)
    # A bad value is refused here, before anything is started.
    from_mapping(ConsoleParameters, parameters)
    return NodeDescription(
        executable=CONSOLE, name=CONSOLE, namespace=config.namespace, parameters=parameters
    )


def _rviz(config: SessionParameters) -> NodeDescription:
    layout = Path(share_directory()) / 'config' / 'session.rviz'
    if not layout.is_file():
        raise InvalidInputError(f'{layout} is not there; allowed: rviz false')
    return NodeDescription(
        package=_RVIZ,
        executable=_RVIZ,
        name=_RVIZ,
        namespace=config.namespace,
        arguments=('-d', str(layout), '-f', f'{config.joint_prefix}_link0'),
        parameters={'use_sim_time': True} if config.uses_simulated_time else {},
        remappings=_clock_remappings(config),
    )


def _clock_remappings(config: SessionParameters) -> tuple[tuple[str, str], ...]:
    """Give each simulated arm a clock of its own, where ROS knows only one."""
    if not config.uses_simulated_time or not config.namespace:
        return ()
    return ((CLOCK_TOPIC, clock_topic(config.namespace)),)


def _bringup(config: SessionParameters, playback: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the arguments of the real arm's bringup, if it is for this session to bring it up.

    Args:
        config: What was chosen.
        playback: Its parameters: what it holds at goes with the thresholds of the arm.
    """
    if config.arm != FRANKA or not config.robot_ip:
        return None
    resolved = from_mapping(TrajectoryPlaybackParameters, playback)
    thresholds = {
        name: text_of(getattr(resolved, name)) for name in THRESHOLD_NAMES if name in playback
    }
    return {
        'robot_ip': config.robot_ip,
        'robot_type': config.robot_type,
        'arm_prefix': config.arm_prefix,
        'namespace': config.namespace,
        'load_gripper': text_of(config.hand),
        'playback': 'false',
        **thresholds,
    }

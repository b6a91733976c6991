"""What an operator, or the person beside a simulated arm, does to a session from a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from reward_learning_ros.cli._temporary_node import TemporaryNode, temporary_node
from reward_learning_ros.core.errors import RewardLearningError, UnknownNameError
from reward_learning_ros.interface import SessionState, SessionStatus
from reward_learning_ros.session.terminal import SessionProgress, state_line

if TYPE_CHECKING:
    from reward_learning_ros.cli.call import CallParameters
    from reward_learning_ros.cli.push import PushParameters

_ANSWER_SEC = 10.0
# A recovery waits ten seconds for each of its steps.
_RECOVERY_SEC = 40.0
# How long a consent is followed: the session waits two seconds for playback.
_OUTCOME_SEC = 3.0
# How long the words of a latched topic take at most, once its publisher is known.
_WORDS_SEC = 1.0
_PUSH_PERIOD_SEC = 0.01

_IN_MOTION = (
    SessionState.DEPARTING,
    SessionState.PLAYING,
    SessionState.RETURNING,
    SessionState.HOMING,
)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer of a session or an arm to a request.

    Attributes:
        is_granted: whether what was asked for is done, or begins.
        text: what to tell who asked.
    """

    is_granted: bool
    text: str


def call(request: str, config: CallParameters) -> Answer:
    """Ask a session for something, and say what became of it.

    Raises:
        RewardLearningError: There is no ROS 2, or nobody answers.
    """
    with temporary_node(config.namespace) as session:
        from std_srvs.srv import Trigger

        from reward_learning_ros.nodes import names

        services = {
            'begin': names.SESSION_BEGIN_SERVICE,
            'continue': names.SESSION_CONTINUE_SERVICE,
            'home': names.SESSION_HOME_SERVICE,
            'accept': names.SESSION_ACCEPT_SERVICE,
            'undo': names.INFERENCE_UNDO_SERVICE,
            'finish': names.SESSION_FINISH_SERVICE,
            'recover': names.SESSION_RECOVER_SERVICE,
            'hand-over': names.SESSION_HAND_OVER_SERVICE,
            'pause': names.PLAYBACK_PAUSE_SERVICE,
            'resume': names.PLAYBACK_RESUME_SERVICE,
            'stop': names.PLAYBACK_STOP_SERVICE,
        }
        is_consent = request in ('begin', 'continue', 'home')
        statuses = _session_statuses(session)
        client = session.node.create_client(Trigger, services[request])
        session.spin_until(client.service_is_ready, config.discovery_sec)
        if not client.service_is_ready():
            raise RewardLearningError(
                f'nobody offers {session.node.resolve_service_name(client.srv_name)}: start a '
                f'session; check --namespace (now '
                f'{config.namespace or "none"}) and ROS_DOMAIN_ID'
            )
        session.spin_until(lambda: statuses, _WORDS_SEC)
        heard = len(statuses)
        timeout_sec = _RECOVERY_SEC if request == 'recover' else _ANSWER_SEC
        answer = session.result(client.call_async(Trigger.Request()), timeout_sec)
        if not answer.success:
            return Answer(is_granted=False, text=f'refused: {answer.message or "no reason told"}')
        if is_consent:
            return _outcome(session, statuses, heard)
        session.spin_until(lambda: len(statuses) > heard, _WORDS_SEC)
        words = [answer.message or 'done']
        if statuses:
            words.append(f'session: {state_line(SessionProgress(session=statuses[-1]))}')
        return Answer(is_granted=True, text='; '.join(words))


def _session_statuses(session: TemporaryNode) -> list[SessionStatus]:
    """Return a list in which the statuses of the session are collected from now on."""
    from diagnostic_msgs.msg import DiagnosticStatus

    from reward_learning_ros.interface import session_status_from_message
    from reward_learning_ros.nodes import names

    statuses: list[SessionStatus] = []
    session.node.create_subscription(
        DiagnosticStatus,
        names.SESSION_STATUS_TOPIC,
        lambda message: statuses.append(session_status_from_message(message)),
        names.LATCHED_QOS,
    )
    return statuses


def _outcome(session: TemporaryNode, statuses: list[SessionStatus], heard: int) -> Answer:
    """Follow a consent until the arm moves, or it is known that playback refused."""
    from reward_learning_ros.session.session_state_machine import ASKING

    def states() -> list[SessionState]:
        return [status.state for status in statuses[heard:]]

    def is_decided() -> bool:
        told = states()
        was_asked = any(state in ASKING for state in told)
        return bool(told) and (told[-1] in _IN_MOTION or (was_asked and told[-1] not in ASKING))

    session.spin_until(is_decided, _OUTCOME_SEC)
    is_granted = bool(states()) and states()[-1] in _IN_MOTION
    words = 'the session says nothing'
    if statuses:
        words = state_line(SessionProgress(session=statuses[-1]))
    return Answer(is_granted=is_granted, text=words if is_granted else f'refused: {words}')


def push(config: PushParameters) -> Answer:
    """Push the simulated arm for a while, let go, and say what it made of that.

    Raises:
        RewardLearningError: There is no ROS 2, no arm was found, or it has no such link.
    """
    with temporary_node(config.namespace) as arm:
        from diagnostic_msgs.msg import DiagnosticStatus
        from geometry_msgs.msg import WrenchStamped

        from reward_learning_ros.nodes import arm_names, names

        statuses: list[dict[str, str]] = []
        arm.node.create_subscription(
            DiagnosticStatus,
            arm_names.ARM_STATUS_TOPIC,
            lambda message: statuses.append({item.key: item.value for item in message.values}),
            names.LATCHED_QOS,
        )
        publisher = arm.node.create_publisher(
            WrenchStamped, arm_names.PERSON_WRENCH_TOPIC, names.ROBOT_STATE_QOS
        )
        arm.spin_until(
            lambda: publisher.get_subscription_count() and statuses, config.discovery_sec
        )
        if not statuses:
            raise RewardLearningError(
                'no simulated arm was found: start a session with one; check --namespace (now '
                f'{config.namespace or "none"}) and ROS_DOMAIN_ID'
            )
        before = statuses[-1]
        turned = _turned_to(arm, config)
        message = WrenchStamped()
        message.header.frame_id = config.frame or config.link
        end_sec = time.monotonic() + config.seconds
        try:
            while time.monotonic() < end_sec:
                _set_wrench(message, turned(config.force), turned(config.torque))
                publisher.publish(message)
                arm.spin_until(lambda: False, _PUSH_PERIOD_SEC)
        finally:
            _set_wrench(message, np.zeros(3), np.zeros(3))
            publisher.publish(message)
        taken, refused = arm_names.TAKEN_PUSHES_KEY, arm_names.REFUSED_PUSHES_KEY
        arm.spin_until(
            lambda: any(statuses[-1].get(key) != before.get(key) for key in (taken, refused)),
            _WORDS_SEC,
        )
        if statuses[-1].get(refused) != before.get(refused):
            reason = statuses[-1].get(arm_names.PUSH_REFUSAL_KEY, '')
            return Answer(is_granted=False, text=f'refused: {reason}')
        if statuses[-1].get(taken) == before.get(taken):
            return Answer(is_granted=False, text='the arm did not hear it')
    force_n = float(np.linalg.norm(config.force))
    what = config.link or 'the tool'
    return Answer(is_granted=True, text=f'{what}, {force_n:.1f} N for {config.seconds:g} s')


def _turned_to(
    arm: TemporaryNode, config: PushParameters
) -> Callable[[tuple[float, ...]], np.ndarray[Any, Any]]:
    """Return what turns a vector as it was given into the frame that is named to the arm."""
    if not config.link or config.frame:
        return np.asarray
    # On a link the arm wants its axes, and the axes of the base were meant.
    from sensor_msgs.msg import JointState

    from reward_learning_ros.arm.chain import LinkFrames
    from reward_learning_ros.arm.description import franka_arm
    from reward_learning_ros.nodes import names

    heard: list[Any] = []
    arm.node.create_subscription(
        JointState,
        names.MEASURED_JOINT_STATES_TOPIC,
        lambda message: heard.__setitem__(slice(None), [message]),
        names.ROBOT_STATE_QOS,
    )
    arm.spin_until(lambda: heard, config.discovery_sec)
    if not heard:
        raise RewardLearningError('the arm does not say where its joints are')
    prefix = heard[0].name[0].removesuffix('_joint1')
    frames = LinkFrames(franka_arm(prefix=prefix))
    if config.link not in frames.names[1:]:
        raise UnknownNameError('link', config.link, frames.names[1:])

    def turned(vector: tuple[float, ...]) -> np.ndarray[Any, Any]:
        rotation = frames.poses(heard[0].position)[config.link][:3, :3]
        return np.asarray(rotation.T @ np.asarray(vector))

    return turned


def _set_wrench(message: Any, force: Any, torque: Any) -> None:
    for part, vector in ((message.wrench.force, force), (message.wrench.torque, torque)):
        part.x, part.y, part.z = (float(value) for value in vector)

"""The conductor of a session as a ROS 2 node: starts passes, and ends with the session."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.node import Node
from std_srvs.srv import Trigger

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import (
    InferenceState,
    InferenceStatus,
    Level,
    PlaybackState,
    PlaybackStatus,
    RecorderStatus,
    SessionState,
    SessionStatus,
    inference_status_from_message,
    playback_status_from_message,
    recorder_status_from_message,
    session_status_from_message,
)
from reward_learning_ros.interface.status import level_of
from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.arm_services import (
    FrankaArmServices,
    Recovery,
    SimulatedArmServices,
)
from reward_learning_ros.nodes.controller_watch import ControllerWatch
from reward_learning_ros.nodes.conversions import session_status_to_message
from reward_learning_ros.nodes.installed_interfaces import MissingInterfaceError
from reward_learning_ros.nodes.polling import PolledService
from reward_learning_ros.nodes.ros_parameters import declare
from reward_learning_ros.nodes.running import Heartbeat, HeartbeatWatch, NodeFinished, run
from reward_learning_ros.parameters.shared import SIMULATED
from reward_learning_ros.playback.requests import RequestAges
from reward_learning_ros.recording.bag_reader import BagReader
from reward_learning_ros.session.node_parameters import (
    RECORDER,
    SessionConductorParameters,
)
from reward_learning_ros.session.session_state_machine import (
    ASKING,
    Request,
    SessionMachine,
    SessionRefusedError,
    SessionView,
)
from reward_learning_ros.session.session_transitions import Action, Event

INFERENCE = 'reward_inference'

_PERIOD_SEC = 0.1
# A conductor that looks less often than this was asleep.
_MAX_GAP_SEC = 0.5
# How long the last status stays on the wire, for those who record it.
_SHUTDOWN_TIMEOUT_SEC = 1.0

# States in which the arm moves, or is about to.
_ON_THE_WAY = (
    *ASKING,
    SessionState.DEPARTING,
    SessionState.PLAYING,
    SessionState.RETURNING,
    SessionState.HOMING,
)
_SERVICES = {
    Action.START: names.PLAYBACK_START_SERVICE,
    Action.STOP: names.PLAYBACK_STOP_SERVICE,
    Action.RESUME: names.PLAYBACK_RESUME_SERVICE,
    Action.HOME: names.PLAYBACK_HOME_SERVICE,
}


class SessionConductorNode(Node):
    """Decides when a session begins, goes on and ends, and asks playback for its motions."""

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__('session_conductor', context=context)
        config = self._config = declare(self, SessionConductorParameters)
        self.machine = SessionMachine(config, _status_before(config.bag, self._session_topic()))
        self._watch = HeartbeatWatch(self, config.watched_nodes, config.watch_timeout_sec)
        self._heartbeat = Heartbeat(self)
        self._playback: PlaybackStatus | None = None
        self._inference: InferenceStatus | None = None
        self._recorder = RecorderStatus()
        # Why the session's recording fails, empty if it does not.
        self._recording_fault = ''
        # Stamp of the plan that was played last; 0 before the first.
        self._played_ns = 0
        self._published: SessionStatus | None = None
        self._end_sec: float | None = None
        self._status_publisher = self.create_publisher(
            DiagnosticStatus, names.SESSION_STATUS_TOPIC, names.LATCHED_QOS
        )
        self.create_subscription(
            DiagnosticStatus, names.PLAYBACK_STATUS_TOPIC, self._on_playback, names.LATCHED_QOS
        )
        self.create_subscription(
            DiagnosticStatus, names.INFERENCE_STATUS_TOPIC, self._on_inference, names.LATCHED_QOS
        )
        self.create_subscription(
            DiagnosticStatus, names.RECORDER_STATUS_TOPIC, self._on_recorder, names.LATCHED_QOS
        )
        self.create_subscription(
            DiagnosticArray, names.DIAGNOSTICS_TOPIC, self._on_diagnostics, names.DIAGNOSTICS_QOS
        )
        self._controllers = ControllerWatch(self) if config.controllers else None
        self._recovery: Recovery | None = None
        self._no_recovery = ''
        try:
            self._recovery = Recovery(self, self._arm_services().do)
        except MissingInterfaceError as error:
            # A session without recovery is one that a person recovers by hand.
            self._no_recovery = str(error)
            self.get_logger().error(f'session/recover will not work: {error}')
        # Not `_clients`, which is rclpy's own.
        self._playback_clients = {
            action: self.create_client(Trigger, service) for action, service in _SERVICES.items()
        }
        for service, act in (
            (names.SESSION_ACCEPT_SERVICE, self.machine.accept),
            (names.SESSION_FINISH_SERVICE, self.machine.finish),
            (names.SESSION_HAND_OVER_SERVICE, self.machine.hand_over),
        ):
            self.create_service(
                Trigger,
                service,
                lambda request, response, act=act: self._on_service(act, response),
            )
        self._request_ages = RequestAges(max_gap_sec=_MAX_GAP_SEC, clock=time.monotonic)
        self._consents = tuple(
            (PolledService(self, Trigger, service), event)
            for service, event in (
                (names.SESSION_BEGIN_SERVICE, Event.BEGIN),
                (names.SESSION_CONTINUE_SERVICE, Event.CONTINUE),
                (names.SESSION_HOME_SERVICE, Event.HOME),
            )
        )
        self.create_service(
            Trigger,
            names.SESSION_RECOVER_SERVICE,
            self._on_recover,
            # It waits for the arm: in the group of all others it would block what it waits for.
            callback_group=ReentrantCallbackGroup(),
        )
        # On the steady clock: it must also see that simulated time stands still.
        self.create_timer(
            _PERIOD_SEC, self._on_tick, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        self._publish()
        self.get_logger().info('the conductor is up')

    def _arm_services(self) -> SimulatedArmServices | FrankaArmServices:
        if self._config.arm == SIMULATED:
            return SimulatedArmServices(self)
        return FrankaArmServices(self, self._config.controllers, self._config.arm_prefix)

    def _on_playback(self, message: DiagnosticStatus) -> None:
        before = self._playback
        try:
            self._playback = playback_status_from_message(message)
        except RewardLearningError as error:
            self.get_logger().error(f'playback status refused: {error}')
            return
        if self._playback.state is PlaybackState.PLAYING:
            self._played_ns = self._playback.plan_stamp_ns
        if self._playback.not_ready and (before is None or not before.not_ready):
            # What forbids a motion takes consents away, also if it is gone before the next tick.
            self._look()

    def _on_recorder(self, message: DiagnosticStatus) -> None:
        try:
            self._recorder = recorder_status_from_message(message)
        except RewardLearningError as error:
            self.get_logger().error(f'recorder status refused: {error}')

    def _on_inference(self, message: DiagnosticStatus) -> None:
        try:
            self._inference = inference_status_from_message(message)
        except RewardLearningError as error:
            self.get_logger().error(f'inference status refused: {error}')

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name != RECORDER:
                continue
            before = self._recording_fault
            is_fault = level_of(status.level) >= Level.ERROR
            self._recording_fault = status.message if is_fault else ''
            if bool(before) != is_fault:
                # Said at once, and no consent is taken before it is known.
                self._look()

    def _session_topic(self) -> str:
        return str(self.resolve_topic_name(names.SESSION_STATUS_TOPIC))

    def _on_service(self, act: Callable[[], Request | None], response: Any) -> Any:
        try:
            request = act()
        except RewardLearningError as error:
            response.success, response.message = False, str(error)
        else:
            response.success = True
            if request is not None:
                self._ask(request)
        return response

    def _take_consents(self) -> None:
        """Use each consent at once, unless it was sent too long ago."""
        self._request_ages.stay_awake()
        for service, event in self._consents:
            for request in service.take():
                request.respond(self._use(event, request.age_sec))

    def _use(self, event: Event, age_sec: float | None) -> Trigger.Response:
        """Ask playback for what is consented to; what it makes of it, the status tells."""
        refusal = self._request_ages.refusal(age_sec)
        try:
            if refusal is not None:
                raise SessionRefusedError(f'no {event.value} now: {refusal}')
            now_sec = time.monotonic()
            request = self.machine.consent(event, now_sec, asked_sec=now_sec - (age_sec or 0.0))
        except RewardLearningError as error:
            return Trigger.Response(success=False, message=str(error))
        self._ask(request)
        self._publish()
        return Trigger.Response(
            success=True,
            message=f'playback is asked to {request.action.value}; see session/status',
        )

    async def _on_recover(self, request: Any, response: Any) -> Any:
        """Recover the arm, which neither moves it nor consents to a motion; report each step."""
        try:
            if self.machine.state in _ON_THE_WAY:
                raise SessionRefusedError(f'no recovery now: {self.machine.state.text}')
            if self.machine.is_arm_moving:
                # A controller that is activated while playback sends would jump.
                raise SessionRefusedError('no recovery now: playback moves the arm')
            if self._recovery is None:
                raise SessionRefusedError(self._no_recovery)
            finished = self._recovery.begin()
        except RewardLearningError as error:
            response.success, response.message = False, str(error)
            return response
        # Before anything else is asked for: while the arm is recovered nothing is consented to.
        self._look()
        sequence = await finished
        response.success, response.message = sequence.is_complete, sequence.report
        return response

    def _on_tick(self) -> None:
        self._look()
        self._take_consents()
        if self.machine.state is SessionState.ENDED:
            self._finish_soon()

    def _look(self) -> None:
        view = SessionView(
            playback=self._playback,
            missing=self._missing(),
            corrections=0 if self._inference is None else self._inference.pushes,
            is_inferring=self._is_inferring(),
            is_pushing=self._recorder.in_contact,
            recording_fault=self._recording_fault,
        )
        request = self.machine.look(view, time.monotonic())
        if request is not None:
            self._ask(request)
        self._publish()

    def _missing(self) -> tuple[str, ...]:
        missing: tuple[str, ...] = self._watch.missing
        status = self._inference
        is_starting = status is None or status.state is InferenceState.STARTING
        if is_starting and INFERENCE in self._config.watched_nodes and INFERENCE not in missing:
            # It is there, but still loads what it needs.
            missing = (*missing, INFERENCE)
        if self._recovery is not None and self._recovery.is_running:
            missing = (*missing, 'the recovery of the arm')
        if self._controllers is not None:
            missing = (*missing, *self._controllers.inactive(self._config.controllers))
        return missing

    def _is_inferring(self) -> bool:
        """Tell whether the plan of the next pass is still to come.

        A plan is played once: after each pass another one is shown, which says that all that was
        told of that pass was considered. Playback must have taken it.
        """
        status = self._inference
        if status is None:
            return False
        taken_ns = 0 if self._playback is None else self._playback.plan_stamp_ns
        played_ns = {self._played_ns}
        if self._recorder.is_complete:
            # Of a pass that ended before this conductor was there, the recorder knows.
            played_ns.add(self._recorder.plan_stamp_ns)
        return (
            not status.is_settled
            or status.plan_stamp_ns in played_ns
            or status.plan_stamp_ns != taken_ns
        )

    def _ask(self, request: Request) -> None:
        client = self._playback_clients[request.action]
        if not client.service_is_ready():
            self._on_answer(request, 'playback is not there')
            return
        client.call_async(Trigger.Request()).add_done_callback(
            lambda future: self._on_answer(request, _refusal(future.result()))
        )

    def _on_answer(self, request: Request, refusal: str) -> None:
        if refusal:
            self.get_logger().warning(f'playback does not {request.action.value}: {refusal}')
        further = self.machine.answer(request, refusal, time.monotonic())
        if further is not None:
            self._ask(further)
        # Also what the next look overwrites: who listens tells a grant from a refusal by it.
        self._publish()

    def _publish(self) -> None:
        status = self.machine.status
        if status == self._published:
            return
        self._status_publisher.publish(session_status_to_message(status))
        self._published = status
        reason = f': {status.reason}' if status.reason else ''
        end = '' if status.end is None else f': {status.end.value}'
        self.get_logger().info(
            f'{status.state.value}{end}{reason} (pass {status.passes}, '
            f'{status.corrections} corrections)'
        )

    def _finish_soon(self) -> None:
        now_sec = time.monotonic()
        if self._end_sec is None:
            self._end_sec = now_sec + _SHUTDOWN_TIMEOUT_SEC
        elif now_sec >= self._end_sec:
            raise NodeFinished


def _refusal(response: Any) -> str:
    """Return why playback refused, empty if it did not."""
    return '' if response.success else response.message or 'refused'


def _status_before(bag: str, topic: str) -> SessionStatus | None:
    """Return what the session did last, by its recording; None if it only begins."""
    if not bag or not Path(bag).is_dir():
        return None
    # With its kernels it takes as long to import as all the rest: only who goes on waits for it.

    found = None
    try:
        with BagReader(Path(bag)) as reader:
            if topic in reader.topics:
                for message in reader.messages([topic]):
                    found = session_status_from_message(message.decoded())
    except RewardLearningError:
        # A recording that only begins, or that cannot be read, tells nothing.
        return None
    return None if found is None or found.state is SessionState.ENDED else found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the conductor until the session ends."""
    return run(lambda context: SessionConductorNode(context=context), arguments)


if __name__ == '__main__':
    raise SystemExit(main())

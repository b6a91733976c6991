"""The services of ros2_control and franka_ros2 with which a real arm is set up and recovered."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rclpy.action import ActionClient
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import Trigger

from reward_learning_ros.arm.franka import (
    ACTIVE,
    FINALIZED,
    INACTIVE,
    JOINT_STATE_BROADCASTER,
    STEP_TIMEOUT_SEC,
    CollisionParameters,
    RecoveryRefusedError,
    RecoverySequence,
    RecoveryStep,
    collision_request,
    spawner_command,
)
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.nodes import arm_names
from reward_learning_ros.nodes.installed_interfaces import require_interface

# Of lifecycle_msgs/State, and of action_msgs/GoalStatus.
_ACTIVE_ID = 3
_SUCCEEDED = 4


class ArmServiceError(RewardLearningError):
    """A service of the arm is not there, or refuses; says which and why."""


@dataclass(frozen=True, kw_only=True)
class Controller:
    """A controller as the controller manager lists it.

    Attributes:
        name: of the controller.
        state: `unconfigured`, `inactive`, `active` or `finalized`.
        claims: command interfaces that it holds.
        needs: command and state interfaces without which it cannot be active.
    """

    name: str
    state: str
    claims: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


class SimulatedArmServices:
    """What recovers the simulated arm, which has neither hardware components nor controllers."""

    def __init__(self, node: Node) -> None:
        self._client = node.create_client(Trigger, arm_names.ERROR_RECOVERY_SERVICE)

    @property
    def are_ready(self) -> bool:
        """Whether the arm is there."""
        return bool(self._client.service_is_ready())

    async def do(self, step: RecoveryStep, is_wanted: Callable[[], bool] = lambda: True) -> str:
        """Do a step of the recovery and return what was done.

        Raises:
            ArmServiceError: It could not be done; says why.
        """
        if step is not RecoveryStep.ERRORS:
            return 'the simulated arm has none'
        answer = await _call(self._client, Trigger.Request())
        if not answer.success:
            raise ArmServiceError(answer.message)
        return answer.message or 'done'


class FrankaArmServices:
    """Clients of a real arm's services: recovery, hardware, controllers, thresholds.

    Args:
        node: asks for them, in the arm's namespace.
        controllers: which a recovery activates again.
        arm_prefix: tells the arms of one description apart; empty if there is one.

    Raises:
        MissingInterfaceError: Types of franka_msgs or controller_manager_msgs are not installed.
    """

    def __init__(self, node: Node, controllers: Sequence[str], arm_prefix: str = '') -> None:
        self._namespace = str(node.get_namespace())
        self._controllers = tuple(controllers)
        # Since v3.3 franka_ros2 puts its own services into a namespace that is called like the
        # prefix, unless the whole bringup has a namespace, which takes its place.
        is_apart = bool(arm_prefix) and self._namespace == '/'
        places = (f'{arm_prefix}/', '') if is_apart else ('',)
        self._clients = {
            service: tuple(
                node.create_client(require_interface(type_name), f'{place}{service}')
                for place in (places if service in arm_names.OF_FRANKA_HARDWARE else ('',))
            )
            for service, type_name in (
                (
                    arm_names.LIST_CONTROLLERS_SERVICE,
                    'controller_manager_msgs/srv/ListControllers',
                ),
                (
                    arm_names.SWITCH_CONTROLLER_SERVICE,
                    'controller_manager_msgs/srv/SwitchController',
                ),
                (
                    arm_names.LIST_HARDWARE_SERVICE,
                    'controller_manager_msgs/srv/ListHardwareComponents',
                ),
                (
                    arm_names.SET_HARDWARE_STATE_SERVICE,
                    'controller_manager_msgs/srv/SetHardwareComponentState',
                ),
                (
                    arm_names.COLLISION_BEHAVIOR_SERVICE,
                    'franka_msgs/srv/SetFullCollisionBehavior',
                ),
            )
        }
        self._recovery_type = require_interface('franka_msgs/action/ErrorRecovery')
        self._recovery_clients = tuple(
            ActionClient(node, self._recovery_type, f'{place}{arm_names.ERROR_RECOVERY_ACTION}')
            for place in places
        )

    @property
    def are_ready(self) -> bool:
        """Whether all of them are there."""
        return self._recovery.server_is_ready() and all(
            self._client(service).service_is_ready() for service in self._clients
        )

    @property
    def _recovery(self) -> ActionClient:
        """The client of the action server that is there."""
        clients = self._recovery_clients
        return next((each for each in clients if each.server_is_ready()), clients[0])

    def _client(self, service: str) -> Any:
        """Return the client of the service that is there."""
        clients = self._clients[service]
        return next((each for each in clients if each.service_is_ready()), clients[0])

    async def do(self, step: RecoveryStep, is_wanted: Callable[[], bool] = lambda: True) -> str:
        """Do a step of the recovery and return what was done.

        Args:
            step: which one.
            is_wanted: whether anybody still waits for it. An answer that comes too late switches
                nothing any more.

        Raises:
            ArmServiceError: It could not be done; says why.
        """
        if step is RecoveryStep.ERRORS:
            return await self.clear_errors()
        if step is RecoveryStep.HARDWARE:
            return await self.activate_hardware(is_wanted)
        return await self.activate_controllers(is_wanted)

    async def clear_errors(self) -> str:
        """Let the arm recover from its errors."""
        client = self._recovery
        if not client.server_is_ready():
            raise ArmServiceError(_missing(arm_names.ERROR_RECOVERY_ACTION))
        goal = await client.send_goal_async(self._recovery_type.Goal())
        if not goal.accepted:
            raise ArmServiceError('the arm does not accept the request')
        answer = await goal.get_result_async()
        if answer.status != _SUCCEEDED:
            raise ArmServiceError(
                'the arm does not recover: release the user stop, unlock the joints in Desk, and '
                'free the arm if it is held; the log of the bringup says more'
            )
        return 'no error is left'

    async def activate_hardware(self, is_wanted: Callable[[], bool] = lambda: True) -> str:
        """Activate the hardware components of this arm that are not active."""
        needed = {
            interface
            for each in await self.list_controllers()
            if each.name in self._controllers
            for interface in each.needs
        }
        answer = await self._ask(arm_names.LIST_HARDWARE_SERVICE)
        # Where nobody knows what is needed, all of them are taken.
        ours = [each for each in answer.component if _serves(each, needed)] or answer.component
        activated = []
        for component in ours:
            if component.state.label == ACTIVE:
                continue
            if component.state.label == FINALIZED:
                raise ArmServiceError(
                    f'{component.name} is finalized and cannot be activated: bring the arm up '
                    'again'
                )
            _require_wanted(is_wanted)
            request = self._request(arm_names.SET_HARDWARE_STATE_SERVICE)
            request.name = component.name
            request.target_state.id, request.target_state.label = _ACTIVE_ID, ACTIVE
            changed = await self._ask(arm_names.SET_HARDWARE_STATE_SERVICE, request)
            if not changed.ok:
                raise ArmServiceError(f'{component.name} stays {changed.state.label}')
            activated.append(component.name)
        if not answer.component:
            raise ArmServiceError('the controller manager has no hardware')
        return f'activated {", ".join(activated)}' if activated else 'was active'

    async def activate_controllers(self, is_wanted: Callable[[], bool] = lambda: True) -> str:
        """Activate the controllers that a session needs, and look whether they are."""
        states = {each.name: each.state for each in await self.list_controllers()}
        for name in self._controllers:
            if states.get(name) not in (ACTIVE, INACTIVE):
                raise ArmServiceError(
                    f'{name} is {states.get(name, "not loaded")}: '
                    f'`{spawner_command(name, self._namespace)}`'
                )
        # Whatever else was deactivated is not ours; but others show the arm by joint_states.
        known = dict.fromkeys((*self._controllers, JOINT_STATE_BROADCASTER))
        waiting = [name for name in known if states.get(name) == INACTIVE]
        if not waiting:
            return 'were active'
        _require_wanted(is_wanted)
        request = self._request(arm_names.SWITCH_CONTROLLER_SERVICE)
        request.activate_controllers = waiting
        request.strictness = request.STRICT
        request.timeout.sec = 5
        answer = await self._ask(arm_names.SWITCH_CONTROLLER_SERVICE, request)
        states = {each.name: each.state for each in await self.list_controllers()}
        left = [name for name in waiting if states.get(name) != ACTIVE]
        if left:
            # Humble's answer has no message.
            reason = getattr(answer, 'message', '')
            raise ArmServiceError(f'{", ".join(left)} not activated {reason}'.rstrip())
        return f'activated {", ".join(waiting)}'

    async def list_controllers(self) -> list[Controller]:
        """Return all controllers that are loaded."""
        answer = await self._ask(arm_names.LIST_CONTROLLERS_SERVICE)
        return [
            Controller(
                name=each.name,
                state=each.state,
                claims=tuple(each.claimed_interfaces),
                needs=(*each.required_command_interfaces, *each.required_state_interfaces),
            )
            for each in answer.controller
        ]

    async def set_collision_thresholds(self, config: CollisionParameters) -> None:
        """Set the thresholds; the arm takes them only while no controller commands it.

        Raises:
            ArmServiceError: A controller commands the arm, or the arm refuses; says why.
        """
        commanding = [each.name for each in await self.list_controllers() if each.claims]
        if commanding:
            raise ArmServiceError(
                f'{", ".join(commanding)} commands the arm, which takes collision thresholds only '
                'while idle: `ros2 control switch_controllers --deactivate '
                f'{" ".join(commanding)}` first'
            )
        request = self._request(arm_names.COLLISION_BEHAVIOR_SERVICE)
        for field, values in collision_request(config).items():
            setattr(request, field, values)
        answer = await self._ask(arm_names.COLLISION_BEHAVIOR_SERVICE, request)
        if not answer.success:
            raise ArmServiceError(f'the arm refuses the collision thresholds: {answer.error}')

    def _request(self, service: str) -> Any:
        return self._client(service).srv_type.Request()

    async def _ask(self, service: str, request: Any = None) -> Any:
        if request is None:
            request = self._request(service)
        return await _call(self._client(service), request)


def _serves(component: Any, needed: set[str]) -> bool:
    """Tell whether a hardware component has one of the interfaces that are needed.

    Others of the same controller manager, such as a second arm or a mobile base, may be inactive
    on purpose.
    """
    offered = (*component.command_interfaces, *component.state_interfaces)
    return not needed.isdisjoint(each.name for each in offered)


def _require_wanted(is_wanted: Callable[[], bool]) -> None:
    if not is_wanted():
        raise ArmServiceError('given up: an answer came too late')


async def _call(client: Any, request: Any) -> Any:
    if not client.service_is_ready():
        raise ArmServiceError(_missing(client.srv_name))
    return await client.call_async(request)


def _missing(service: str) -> str:
    return f'{service} is not there: is the arm brought up, in this namespace and domain?'


_PERIOD_SEC = 0.1


class Recovery:
    """Runs the steps of a recovery of the arm, one recovery at a time.

    Args:
        node: in whose executor the steps are done.
        do: does a step and returns what was done, or raises RewardLearningError. It is told how
            to find out whether the step is still wanted: one that took too long is not.
        timeout_sec: of each step.
    """

    def __init__(
        self,
        node: Node,
        do: Callable[[RecoveryStep, Callable[[], bool]], Awaitable[str]],
        *,
        timeout_sec: float = STEP_TIMEOUT_SEC,
    ) -> None:
        self._node = node
        self._do = do
        self._timeout_sec = timeout_sec
        self._sequence = RecoverySequence(timeout_sec)
        self._finished: Future | None = None
        # On a steady clock: simulated time may stand still.
        node.create_timer(_PERIOD_SEC, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    @property
    def is_running(self) -> bool:
        """Whether a recovery is under way."""
        return self._sequence.is_running

    def begin(self) -> Future:
        """Begin; return what is done when the recovery has ended, with its sequence as result.

        Raises:
            RecoveryRefusedError: One is under way.
        """
        if self.is_running:
            raise RecoveryRefusedError('the arm is being recovered already')
        self._sequence = RecoverySequence(self._timeout_sec)
        self._finished = Future(executor=self._node.executor)
        self._start(self._sequence, self._sequence.begin(time.monotonic()))
        return self._finished

    def _start(self, sequence: RecoverySequence, step: RecoveryStep) -> None:
        assert self._node.executor is not None, 'who asks is spun by an executor'
        self._node.get_logger().info(f'recovery: {step.value}')
        self._node.executor.create_task(self._work(sequence, step))

    async def _work(self, sequence: RecoverySequence, step: RecoveryStep) -> None:
        is_done = True
        try:
            text = await self._do(step, lambda: sequence.step is step)
        except RewardLearningError as error:
            is_done, text = False, str(error)
        following = sequence.finish_step(
            step, is_done=is_done, text=text, now_sec=time.monotonic()
        )
        if following is not None:
            self._start(sequence, following)
        elif sequence is self._sequence:
            self._conclude()

    def _look(self) -> None:
        self._sequence.look(time.monotonic())
        self._conclude()

    def _conclude(self) -> None:
        if self._finished is None or self._sequence.is_running:
            return
        finished, self._finished = self._finished, None
        for outcome in self._sequence.outcomes:
            if outcome.is_done:
                self._node.get_logger().info(f'recovery: {outcome}')
            else:
                self._node.get_logger().error(f'recovery: {outcome}')
        finished.set_result(self._sequence)

"""The services of a real arm's bringup, where their message types are installed: no arm behind."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from rclpy.action import ActionServer
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.node import Node
from rclpy.task import Future

from reward_learning_ros.nodes import arm_names
from reward_learning_ros.nodes.installed_interfaces import find_interface

COMMANDED = 'fr3_joint1/effort'
BROADCASTER, CONTROLLER = 'franka_robot_state_broadcaster', 'fr3_arm_controller'
TYPES = {
    arm_names.LIST_CONTROLLERS_SERVICE: 'controller_manager_msgs/srv/ListControllers',
    arm_names.SWITCH_CONTROLLER_SERVICE: 'controller_manager_msgs/srv/SwitchController',
    arm_names.LIST_HARDWARE_SERVICE: 'controller_manager_msgs/srv/ListHardwareComponents',
    arm_names.SET_HARDWARE_STATE_SERVICE: (
        'controller_manager_msgs/srv/SetHardwareComponentState'
    ),
    arm_names.COLLISION_BEHAVIOR_SERVICE: 'franka_msgs/srv/SetFullCollisionBehavior',
}


def require_types() -> None:
    """Skip the test where the types are not installed, and name their packages."""
    names = (*TYPES.values(), 'franka_msgs/action/ErrorRecovery')
    missing = sorted({name.split('/')[0] for name in names if find_interface(name) is None})
    if missing:
        pytest.skip(f'{" and ".join(missing)} not installed')


class FrankaServices(Node):
    """What ros2_control and franka_hardware answer, by the rules of their sources.

    Attributes:
        has_error: whether the arm is in a reflex.
        is_stopped: whether the user stop is pressed, so that errors cannot be cleared.
        hardware: state of the arm's hardware component.
        other_hardware: state of another one of the same controller manager, None without one.
        controllers: state of each controller.
        asked: the services that changed something, in their order.
        silent: services that do not answer before `late` is done.
        thresholds: request that set the collision thresholds last.
    """

    def __init__(self, context: Context, namespace: str = '', arm_prefix: str = '') -> None:
        super().__init__('controller_manager', namespace=namespace, context=context)
        self.has_error = self.is_stopped = False
        self.hardware = 'active'
        self.other_hardware: str | None = None
        # As franka_hardware names its nodes, in a bringup without a namespace.
        place = f'{arm_prefix}/' if arm_prefix else ''
        self.controllers = {BROADCASTER: 'active', CONTROLLER: 'active'}
        self.asked: list[str] = []
        self.silent: set[str] = set()
        self.late = Future()
        self.thresholds: Any = None
        group = ReentrantCallbackGroup()
        for service, answer in (
            (arm_names.LIST_CONTROLLERS_SERVICE, self._list_controllers),
            (arm_names.SWITCH_CONTROLLER_SERVICE, self._switch),
            (arm_names.LIST_HARDWARE_SERVICE, self._list_hardware),
            (arm_names.SET_HARDWARE_STATE_SERVICE, self._set_hardware),
            (arm_names.COLLISION_BEHAVIOR_SERVICE, self._set_thresholds),
        ):
            self.create_service(
                find_interface(TYPES[service]),
                f'{place}{service}' if service in arm_names.OF_FRANKA_HARDWARE else service,
                # A lambda is no coroutine function, and rclpy would not await it.
                functools.partial(self._answer, service, answer),
                # One that never answers does not block the others.
                callback_group=group,
            )
        recovery = find_interface('franka_msgs/action/ErrorRecovery')
        self._recovery = ActionServer(
            self,
            recovery,
            f'{place}{arm_names.ERROR_RECOVERY_ACTION}',
            self._recover,
            callback_group=group,
        )
        self._recovery_result = recovery.Result

    def fall_into_reflex(self) -> None:
        """Do what ros2_control does when the hardware reports an error."""
        self.has_error = True
        self.hardware = 'unconfigured'
        self.controllers = dict.fromkeys(self.controllers, 'inactive')

    async def _answer(self, service: str, answer: Any, request: Any, response: Any) -> Any:
        if service in self.silent:
            self.late = Future()
            await self.late
        answer(request, response)
        return response

    async def _recover(self, goal: Any) -> Any:
        self.asked.append('error_recovery')
        if arm_names.ERROR_RECOVERY_ACTION in self.silent:
            await Future()
        if self.is_stopped:
            goal.abort()
        else:
            self.has_error = False
            goal.succeed()
        return self._recovery_result()

    def _list_controllers(self, request: Any, response: Any) -> None:
        state_type = find_interface('controller_manager_msgs/msg/ControllerState')
        for name, state in self.controllers.items():
            commands = name == CONTROLLER and state == 'active'
            response.controller.append(
                state_type(
                    name=name,
                    state=state,
                    claimed_interfaces=[COMMANDED] if commands else [],
                    required_command_interfaces=[COMMANDED] if name == CONTROLLER else [],
                )
            )

    def _switch(self, request: Any, response: Any) -> None:
        self.asked.append('switch_controller')
        response.ok = self.hardware == 'active'
        if response.ok:
            self.controllers |= dict.fromkeys(request.activate_controllers, 'active')

    def _list_hardware(self, request: Any, response: Any) -> None:
        component_type = find_interface('controller_manager_msgs/msg/HardwareComponentState')
        interface_type = find_interface('controller_manager_msgs/msg/HardwareInterface')
        for name, interface, state in (
            ('FrankaHardwareInterface', COMMANDED, self.hardware),
            ('MobileBase', 'wheel/velocity', self.other_hardware),
        ):
            if state is None:
                continue
            component = component_type(
                name=name, command_interfaces=[interface_type(name=interface)]
            )
            component.state.label = state
            response.component.append(component)

    def _set_hardware(self, request: Any, response: Any) -> None:
        self.asked.append('set_hardware_component_state')
        if request.name == 'MobileBase':
            self.other_hardware = request.target_state.label
            response.ok = True
            return
        response.ok = not self.has_error and self.hardware != 'finalized'
        if response.ok:
            self.hardware = request.target_state.label
        response.state.label = self.hardware

    def _set_thresholds(self, request: Any, response: Any) -> None:
        self.asked.append('set_full_collision_behavior')
        response.success = self.controllers[CONTROLLER] != 'active'
        if response.success:
            self.thresholds = request
        else:
            response.error = 'command rejected: the arm is not idle'

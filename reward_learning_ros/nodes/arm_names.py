"""Topics and services around the arm, besides its state: simulated, franka_ros2, ros2_control."""

from __future__ import annotations

from reward_learning_ros.interface import topics
from reward_learning_ros.interface.topics import (
    ARM_STATUS_TOPIC,
    CRISP_TARGET_JOINT_TOPIC,
    CRISP_TARGET_POSE_TOPIC,
    PERSON_WRENCH_TOPIC,
)
from reward_learning_ros.nodes.names import qos_profile

# What a status of the arm calls itself, and its values.
ARM_STATUS_NAME = 'arm'
ROBOT_MODE_KEY = 'robot_mode'
# How many pushes it took and refused so far, and why it refused the last of these.
TAKEN_PUSHES_KEY = 'taken_pushes'
REFUSED_PUSHES_KEY = 'refused_pushes'
PUSH_REFUSAL_KEY = 'push_refusal'

ERROR_RECOVERY_SERVICE = 'simulated_arm/error_recovery'
USER_STOP_SERVICE = 'simulated_arm/user_stop'

# Of ros2_control's controller manager, in the arm's namespace.
LIST_CONTROLLERS_SERVICE = 'controller_manager/list_controllers'
SWITCH_CONTROLLER_SERVICE = 'controller_manager/switch_controller'
LIST_HARDWARE_SERVICE = 'controller_manager/list_hardware_components'
SET_HARDWARE_STATE_SERVICE = 'controller_manager/set_hardware_component_state'
# Of franka_hardware, in the same process.
COLLISION_BEHAVIOR_SERVICE = 'service_server/set_full_collision_behavior'
ERROR_RECOVERY_ACTION = 'action_server/error_recovery'
OF_FRANKA_HARDWARE = (COLLISION_BEHAVIOR_SERVICE, ERROR_RECOVERY_ACTION)

# As franka_robot_state_broadcaster publishes robot_state and joint_states.
RELIABLE_STATE_QOS = qos_profile(topics.REPORTED)
# As ROS 2 publishes simulated time.
CLOCK_QOS = qos_profile(topics.NEWEST)

__all__ = [
    'ARM_STATUS_NAME',
    'ARM_STATUS_TOPIC',
    'CLOCK_QOS',
    'COLLISION_BEHAVIOR_SERVICE',
    'CRISP_TARGET_JOINT_TOPIC',
    'CRISP_TARGET_POSE_TOPIC',
    'ERROR_RECOVERY_ACTION',
    'ERROR_RECOVERY_SERVICE',
    'LIST_CONTROLLERS_SERVICE',
    'LIST_HARDWARE_SERVICE',
    'OF_FRANKA_HARDWARE',
    'PERSON_WRENCH_TOPIC',
    'PUSH_REFUSAL_KEY',
    'REFUSED_PUSHES_KEY',
    'RELIABLE_STATE_QOS',
    'ROBOT_MODE_KEY',
    'SET_HARDWARE_STATE_SERVICE',
    'SWITCH_CONTROLLER_SERVICE',
    'TAKEN_PUSHES_KEY',
    'USER_STOP_SERVICE',
]

"""Topics and services around the arm, besides its state: simulated, franka_ros2, ros2_control."""

from __future__ import annotations

from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy

# How a person pushes the simulated arm: a wrench on the tool, or on a link.
PERSON_WRENCH_TOPIC = 'person/wrench'
# What the arm tells about its mode where franka_msgs, and with it robot_state, is missing.
ARM_STATUS_TOPIC = 'arm/status'
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
RELIABLE_STATE_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=10, reliability=ReliabilityPolicy.RELIABLE
)
# As ROS 2 publishes simulated time.
CLOCK_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=1, reliability=ReliabilityPolicy.BEST_EFFORT
)

# CRISP's controllers listen here.
CRISP_TARGET_JOINT_TOPIC = 'target_joint'
CRISP_TARGET_POSE_TOPIC = 'target_pose'

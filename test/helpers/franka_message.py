"""The interface of franka_msgs/FrankaRobotState as data for an independent serializer."""

_VECTORS = ('linear_collision', 'angular_collision', 'linear_contact', 'angular_contact')

FRANKA_MESSAGES = {
    'franka_msgs/msg/CollisionIndicators': '\n'.join(
        [f'geometry_msgs/Vector3 is_cartesian_{name}' for name in _VECTORS]
        + ['float64[7] is_joint_collision', 'float64[7] is_joint_contact']
    ),
    'franka_msgs/msg/Elbow': '\n'.join(
        f'float64[2] {name}'
        for name in (
            'position',
            'desired_position',
            'commanded_position',
            'commanded_velocity',
            'commanded_acceleration',
        )
    ),
    'franka_msgs/msg/Errors': """
bool joint_position_limits_violation
bool cartesian_position_limits_violation
bool self_collision_avoidance_violation
bool joint_velocity_violation
bool cartesian_velocity_violation
bool force_control_safety_violation
bool joint_reflex
bool cartesian_reflex
bool max_goal_pose_deviation_violation
bool max_path_pose_deviation_violation
bool cartesian_velocity_profile_safety_violation
bool joint_position_motion_generator_start_pose_invalid
bool joint_motion_generator_position_limits_violation
bool joint_motion_generator_velocity_limits_violation
bool joint_motion_generator_velocity_discontinuity
bool joint_motion_generator_acceleration_discontinuity
bool cartesian_position_motion_generator_start_pose_invalid
bool cartesian_motion_generator_elbow_limit_violation
bool cartesian_motion_generator_velocity_limits_violation
bool cartesian_motion_generator_velocity_discontinuity
bool cartesian_motion_generator_acceleration_discontinuity
bool cartesian_motion_generator_elbow_sign_inconsistent
bool cartesian_motion_generator_start_elbow_invalid
bool cartesian_motion_generator_joint_position_limits_violation
bool cartesian_motion_generator_joint_velocity_limits_violation
bool cartesian_motion_generator_joint_velocity_discontinuity
bool cartesian_motion_generator_joint_acceleration_discontinuity
bool cartesian_position_motion_generator_invalid_frame
bool force_controller_desired_force_tolerance_violation
bool controller_torque_discontinuity
bool start_elbow_sign_inconsistent
bool communication_constraints_violation
bool power_limit_violation
bool joint_p2p_insufficient_torque_for_planning
bool tau_j_range_violation
bool instability_detected
""",
    'franka_msgs/msg/FrankaRobotState': """
std_msgs/Header header
CollisionIndicators collision_indicators
sensor_msgs/JointState measured_joint_state
sensor_msgs/JointState desired_joint_state
sensor_msgs/JointState measured_joint_motor_state
float64[7] ddq_d
float64[7] dtau_j
sensor_msgs/JointState tau_ext_hat_filtered
Elbow elbow
geometry_msgs/WrenchStamped k_f_ext_hat_k
geometry_msgs/WrenchStamped o_f_ext_hat_k
geometry_msgs/InertiaStamped inertia_ee
geometry_msgs/InertiaStamped inertia_load
geometry_msgs/InertiaStamped inertia_total
geometry_msgs/PoseStamped o_t_ee
geometry_msgs/PoseStamped o_t_ee_d
geometry_msgs/PoseStamped o_t_ee_c
geometry_msgs/PoseStamped f_t_ee
geometry_msgs/PoseStamped ee_t_k
geometry_msgs/TwistStamped o_dp_ee_d
geometry_msgs/TwistStamped o_dp_ee_c
geometry_msgs/AccelStamped o_ddp_ee_c
float64 time
float64 control_command_success_rate
uint8 robot_mode
Errors current_errors
Errors last_motion_errors
""",
}

"""The real FR3 by franka_bringup, with the compliant controller of this package, and playback."""

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from launch import LaunchDescription

CONTROLLER = 'fr3_arm_controller'


def generate_launch_description() -> LaunchDescription:
    """Return franka_bringup, the spawner of the controller, and the playback node."""
    share = get_package_share_directory('reward_learning_ros')
    namespace = LaunchConfiguration('namespace')
    robot_type = LaunchConfiguration('robot_type')
    return LaunchDescription(
        [
            DeclareLaunchArgument('robot_ip', description='Address of the arm'),
            DeclareLaunchArgument('robot_type', default_value='fr3', description='Kind of arm'),
            DeclareLaunchArgument('namespace', default_value='', description='Of everything'),
            DeclareLaunchArgument(
                'playback', default_value='true', description='Whether to start playback too'
            ),
            DeclareLaunchArgument(
                'load_gripper', default_value='true', description='Whether a hand is mounted'
            ),
            DeclareLaunchArgument(
                'controllers_yaml',
                default_value=f'{share}/config/franka_controllers.yaml',
                description='Controllers and their gains',
            ),
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(
                    PathJoinSubstitution(
                        [FindPackageShare('franka_bringup'), 'launch', 'franka.launch.py']
                    )
                ),
                launch_arguments={
                    'robot_ip': LaunchConfiguration('robot_ip'),
                    'robot_type': robot_type,
                    'namespace': namespace,
                    'load_gripper': LaunchConfiguration('load_gripper'),
                    # Fake hardware has no state broadcaster, and so no external torque: the
                    # simulated arm of this package is the arm to try things on.
                    'use_fake_hardware': 'false',
                    'controllers_yaml': LaunchConfiguration('controllers_yaml'),
                }.items(),
            ),
            Node(
                package='controller_manager',
                executable='spawner',
                namespace=namespace,
                arguments=[CONTROLLER, '--controller-manager-timeout', '30'],
                output='screen',
            ),
            Node(
                package='reward_learning_ros',
                executable='trajectory_playback',
                namespace=namespace,
                parameters=[{'controller': CONTROLLER, 'prefix': robot_type}],
                output='screen',
                condition=IfCondition(LaunchConfiguration('playback')),
            ),
        ]
    )

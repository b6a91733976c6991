"""The real FR3 by franka_bringup, with the compliant controller of this package, and playback.

The order matters: the arm takes collision thresholds only while no controller commands it, so the
controller is activated after them, and not at all without them. Nothing is started again.
"""

import sys
import tempfile
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    IncludeLaunchDescription,
    OpaqueFunction,
    Shutdown,
)
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from launch import LaunchDescription
from reward_learning_ros.arm.franka import (
    ARM_CONTROLLER,
    THRESHOLD_NAMES,
    joint_prefix,
    write_controllers,
)
from reward_learning_ros.parameters import from_texts, specifications, text_of
from reward_learning_ros.playback.configuration import (
    TrajectoryPlaybackParameters,
)
from reward_learning_ros.session.supervisor import require_release

PARAMETERS = specifications(TrajectoryPlaybackParameters)
THRESHOLDS = {name: PARAMETERS[name] for name in THRESHOLD_NAMES}


def generate_launch_description() -> LaunchDescription:
    """Return the arguments, and what follows from them."""
    share = get_package_share_directory('reward_learning_ros')
    return LaunchDescription(
        [
            DeclareLaunchArgument('robot_ip', description='Address of the arm'),
            DeclareLaunchArgument('robot_type', default_value='fr3', description='Kind of arm'),
            DeclareLaunchArgument(
                'arm_prefix',
                default_value='',
                description='Tells the arms of one description apart, left for example',
            ),
            DeclareLaunchArgument('namespace', default_value='', description='Of everything'),
            DeclareLaunchArgument(
                'playback',
                default_value='false',
                description='Whether to start playback too; a session starts its own',
            ),
            DeclareLaunchArgument(
                'load_gripper', default_value='true', description='Whether a hand is mounted'
            ),
            DeclareLaunchArgument(
                'controllers_yaml',
                default_value=f'{share}/config/franka_controllers.yaml',
                description='Controllers and their gains; <prefix> stands for that of the joints',
            ),
            *(
                DeclareLaunchArgument(
                    name,
                    default_value=text_of(specification.default),
                    description=f'{specification.description}; {specification.allowed}',
                )
                for name, specification in THRESHOLDS.items()
            ),
            OpaqueFunction(function=_bring_up),
        ]
    )


def _bring_up(context):
    """Return franka_bringup, what sets the thresholds, and the playback node."""
    require_release()
    values = {
        name: LaunchConfiguration(name).perform(context)
        for name in ('robot_type', 'arm_prefix', 'namespace', 'controllers_yaml', *THRESHOLDS)
    }
    # A bad threshold is refused before anything is started.
    told = {name: values[name] for name in THRESHOLDS}
    told['hand'] = LaunchConfiguration('load_gripper').perform(context)
    config = from_texts(TrajectoryPlaybackParameters, told)
    prefix = joint_prefix(values['robot_type'], values['arm_prefix'])
    controllers = write_controllers(
        Path(values['controllers_yaml']), prefix, Path(tempfile.mkdtemp(prefix='controllers_'))
    )
    options = [
        word
        for name in THRESHOLDS
        for word in (f'--{name.replace("_", "-")}', *values[name].replace(',', ' ').split())
    ]
    namespace = values['namespace']
    return [
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(
                PathJoinSubstitution(
                    [FindPackageShare('franka_bringup'), 'launch', 'franka.launch.py']
                )
            ),
            launch_arguments={
                'robot_ip': LaunchConfiguration('robot_ip'),
                'robot_type': values['robot_type'],
                'arm_prefix': values['arm_prefix'],
                'namespace': namespace,
                'load_gripper': LaunchConfiguration('load_gripper'),
                # Fake hardware has no state broadcaster, and so no external torque: the
                # simulated arm of this package is the arm to try things on.
                'use_fake_hardware': 'false',
                'controllers_yaml': str(controllers),
            }.items(),
        ),
        ExecuteProcess(
            cmd=[
                *(sys.executable, '-m', 'reward_learning_ros.cli', 'thresholds'),
                *('--namespace', namespace, '--arm-prefix', values['arm_prefix']),
                *options,
            ],
            output='screen',
            on_exit=lambda event, context: _after_thresholds(event.returncode, namespace),
        ),
        Node(
            package='reward_learning_ros',
            executable='trajectory_playback',
            namespace=namespace,
            parameters=[
                {
                    'controller': ARM_CONTROLLER,
                    'prefix': prefix,
                    'requires_mode': True,
                    **{name: getattr(config, name) for name in told},
                }
            ],
            output='screen',
            condition=IfCondition(LaunchConfiguration('playback')),
        ),
    ]


def _after_thresholds(code, namespace):
    """Return the action that activates the controller, if the arm has taken its thresholds."""
    if code != 0:
        return [Shutdown(reason='the arm has not taken its collision thresholds')]
    return [
        Node(
            package='controller_manager',
            executable='spawner',
            namespace=namespace,
            arguments=[ARM_CONTROLLER, '--controller-manager-timeout', '30'],
            output='screen',
        )
    ]

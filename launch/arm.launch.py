"""The simulated arm and playback, in two processes."""

from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription
from reward_learning_ros.arm.simulation_parameters import (
    SimulatedArmParameters,
)
from reward_learning_ros.parameters import specifications

ARGUMENTS = ('prefix', 'hand', 'scene', 'controller', 'seed', 'clock', 'speed')


def generate_launch_description() -> LaunchDescription:
    """Return both nodes; what they share is a launch argument, the rest comes from files."""
    known = specifications(SimulatedArmParameters)
    values = {
        name: ParameterValue(LaunchConfiguration(name), value_type=known[name].type)
        for name in ARGUMENTS
    }
    return LaunchDescription(
        [
            DeclareLaunchArgument('namespace', default_value='', description='Of both nodes'),
            DeclareLaunchArgument(
                'use_sim_time',
                default_value='false',
                description='Whether playback follows /clock; with clock:=simulated it must',
            ),
            *(
                DeclareLaunchArgument(
                    name,
                    default_value=str(known[name].default),
                    description=f'{known[name].description}; {known[name].allowed}',
                )
                for name in ARGUMENTS
            ),
            Node(
                package='reward_learning_ros',
                executable='simulated_arm',
                namespace=LaunchConfiguration('namespace'),
                parameters=[values],
                output='screen',
            ),
            Node(
                package='reward_learning_ros',
                executable='trajectory_playback',
                namespace=LaunchConfiguration('namespace'),
                parameters=[
                    {
                        'prefix': values['prefix'],
                        'hand': values['hand'],
                        'controller': values['controller'],
                        'use_sim_time': ParameterValue(
                            LaunchConfiguration('use_sim_time'), value_type=bool
                        ),
                    }
                ],
                output='screen',
            ),
        ]
    )

"""Two nodes in two processes that send each other a plan and a correction, then end."""

from launch.actions import DeclareLaunchArgument, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchDescription
from reward_learning_ros.nodes.smoke_parameters import CALLER, ECHO, SmokeParameters
from reward_learning_ros.parameters import specifications


def generate_launch_description() -> LaunchDescription:
    """Return the two nodes; their parameters, but for the role, are launch arguments."""
    arguments = {
        name: specification
        for name, specification in specifications(SmokeParameters).items()
        if name != 'role'
    }
    values = {name: LaunchConfiguration(name) for name in arguments}
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'namespace', default_value='smoke', description='Namespace of both nodes'
            ),
            *(
                DeclareLaunchArgument(
                    name,
                    default_value=str(specification.default),
                    description=f'{specification.description}; {specification.allowed}',
                )
                for name, specification in arguments.items()
            ),
            _node(ECHO, values),
            # The caller ends when everything came back; the echo has nothing left to do then.
            _node(CALLER, values, on_exit=[Shutdown(reason='the caller has ended')]),
        ]
    )


def _node(role: str, values: dict, **options: object) -> Node:
    return Node(
        package='reward_learning_ros',
        executable='smoke_node',
        namespace=LaunchConfiguration('namespace'),
        name=f'smoke_{role}',
        parameters=[{'role': role, **values}],
        output='screen',
        **options,
    )

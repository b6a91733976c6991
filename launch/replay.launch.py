r"""A recorded session played again, and learned from live.

With `play:=false` the recording is played by ROS 2's own player:

    ros2 bag play FOLDER/bag --topics /plan /corrections /playback/status \
        --remap /plan:=/replay/recorded/plan /corrections:=/replay/corrections \
        /playback/status:=/replay/playback/status
"""

import dataclasses

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchDescription
from reward_learning_ros.nodes.launching import launch_parameters
from reward_learning_ros.parameters import from_texts, specifications, text_of
from reward_learning_ros.session.replay import ReplayParameters, describe_replay


def generate_launch_description():
    """Return an argument for each parameter of a replay, and its nodes."""
    return LaunchDescription(
        [
            *(
                DeclareLaunchArgument(
                    name,
                    description=f'{specification.description}; {specification.allowed}',
                    **(
                        {}
                        if specification.default is dataclasses.MISSING
                        else {'default_value': text_of(specification.default)}
                    ),
                )
                for name, specification in specifications(ReplayParameters).items()
            ),
            OpaqueFunction(function=_replay),
        ]
    )


def _replay(context):
    texts = {
        name: LaunchConfiguration(name).perform(context)
        for name in specifications(ReplayParameters)
    }
    description = describe_replay(from_texts(ReplayParameters, texts))
    return [
        Node(
            package=node.package,
            executable=node.executable,
            name=node.name,
            namespace=node.namespace,
            parameters=launch_parameters(node),
            remappings=list(node.remappings),
            output='both',
        )
        for node in description.nodes
    ]

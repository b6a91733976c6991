"""What `ros2 launch` needs of a description; only launch files import this."""

from __future__ import annotations

from typing import Any

from launch_ros.parameter_descriptions import ParameterValue

from reward_learning_ros.session.session_description import NodeDescription


def launch_parameters(node: NodeDescription) -> list[dict[str, Any]]:
    """Return a node's parameters so that launch does not read `12`, a text, as a number."""
    return [
        {
            name: ParameterValue(
                value,
                value_type=list[type(value[0])] if isinstance(value, list) else type(value),  # type: ignore[misc]
            )
            for name, value in node.parameters.items()
        }
    ]

"""What ros2_control is told of the arm: its controllers by name, and the file that describes them.

The controllers file is a template: `<prefix>` stands for the prefix of the joints, which follows
from the kind of arm (`fr3`, `fr3v2`) and, where several arms share a description, from a prefix of
the arm.
"""

from __future__ import annotations

from pathlib import Path

# States of a controller and of a hardware component, as controller_manager_msgs spells them.
ACTIVE = 'active'
INACTIVE = 'inactive'
FINALIZED = 'finalized'

ARM_CONTROLLER = 'fr3_arm_controller'
STATE_BROADCASTER = 'franka_robot_state_broadcaster'
JOINT_STATE_BROADCASTER = 'joint_state_broadcaster'

_PLACEHOLDER = '<prefix>'


def joint_prefix(robot_type: str, arm_prefix: str = '') -> str:
    """Return what the names of joints and links begin with, without the last underscore.

    Args:
        robot_type: kind of arm, `fr3` for example.
        arm_prefix: tells the arms of one description apart, `left` for example; empty for none.
    """
    return f'{arm_prefix}_{robot_type}' if arm_prefix else robot_type


def spawner_command(controller: str, namespace: str = '') -> str:
    """Return the command that loads, configures and activates a controller."""
    command = f'ros2 run controller_manager spawner {controller}'
    name = namespace.strip('/')
    return f'{command} --ros-args -r __ns:=/{name}' if name else command


def controllers_text(template: str, prefix: str) -> str:
    """Return the controllers file for joints of a prefix.

    Args:
        template: `config/franka_controllers.yaml`, or a file without the placeholder.
        prefix: of the joints.
    """
    return template.replace(_PLACEHOLDER, prefix)


def write_controllers(template: Path, prefix: str, folder: Path) -> Path:
    """Write the controllers file for joints of a prefix into a folder, and return its path."""
    path = folder / f'{prefix}_controllers.yaml'
    text = controllers_text(template.read_text(encoding='utf-8'), prefix)
    path.write_text(text, encoding='utf-8')
    return path

"""With what a person corrects the arm: said once, for the recorder and for sessions."""

from __future__ import annotations

from typing import Any

from reward_learning_ros.parameters.specification import parameter

KINESTHETIC, JOY, TWIST = 'kinesthetic', 'joy', 'twist'


def correction_source_parameter() -> Any:
    """Return the field for what the person corrects with."""
    return parameter(
        KINESTHETIC,
        description='What the person corrects with: the hand on the arm, a joystick, or velocity '
        'commands (SpaceMouse, MoveIt Servo)',
        choices=(KINESTHETIC, JOY, TWIST),
    )

"""The modes in which a Franka tells that it is."""

from __future__ import annotations

import enum


class RobotMode(enum.IntEnum):
    """`robot_mode` of franka_msgs/FrankaRobotState."""

    OTHER = 0
    IDLE = 1
    MOVE = 2
    GUIDING = 3
    REFLEX = 4
    USER_STOPPED = 5
    AUTOMATIC_ERROR_RECOVERY = 6

    @property
    def words(self) -> str:
        """The mode as one says it."""
        return self.name.lower().replace('_', ' ')

    @property
    def follows_commands(self) -> bool:
        """Whether a controller can move the arm in this mode."""
        # Idle is what an arm says whose controller is about to start; `other` is all that has no
        # name of its own, such as locked brakes.
        return self in (RobotMode.IDLE, RobotMode.MOVE)

    @classmethod
    def of(cls, number: int) -> RobotMode:
        """Return the mode of a number; one that has no name is `other`."""
        try:
            return cls(number)
        except ValueError:
            return cls.OTHER

"""What playback needs of a controller."""

from __future__ import annotations

from typing import Protocol

from reward_learning_ros.playback.motion import Command


class Backend(Protocol):
    """Hands set-points to a controller.

    Without further commands the controller must come to hold by itself: a trajectory ends at
    rest, a lone target is one.

    Attributes:
        topic: full name of the topic that commands go to.
        description: in a few words, for the log.
        controllers: names of those that must be active; none if the user names them elsewhere.
    """

    topic: str
    description: str
    controllers: tuple[str, ...]

    def send(self, command: Command) -> None:
        """Send a command."""

"""Where the links of an arm are, by the names of their frames."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from reward_learning_ros.arm.chain import transform_of
from reward_learning_ros.arm.description import JOINT_COUNT, ArmDescription
from reward_learning_ros.core.errors import UnknownNameError

Array = NDArray[np.float64]


class LinkFrames:
    """The frames of an arm's base, links, flange, hand and tool.

    Attributes:
        names: of all frames, from the base to the tool.
    """

    def __init__(self, description: ArmDescription) -> None:
        self._base_frame = description.base_frame
        self._origins = [transform_of(joint.origin) for joint in description.joints]
        # Of each frame: how many joints move it, and where it is in the last of their links.
        self._places = {description.base_frame: (0, np.eye(4))}
        for number, joint in enumerate(description.joints, 1):
            self._places[joint.link_name] = (number, np.eye(4))
        flange = transform_of(description.flange_origin)
        self._places[description.flange_frame] = (JOINT_COUNT, flange)
        if description.hand is not None:
            hand = flange @ transform_of(description.hand.origin)
            tool = hand @ transform_of(description.hand.tool_origin)
            self._places[description.hand.link_name] = (JOINT_COUNT, hand)
            self._places[description.hand.tool_frame] = (JOINT_COUNT, tool)
        self.names = tuple(self._places)

    def moving_joints(self, frame: str) -> int:
        """Return how many joints, counted from the base, move a frame.

        Raises:
            UnknownNameError: The arm has no such frame.
        """
        if frame not in self._places:
            raise UnknownNameError('frame of the arm', frame, self.names)
        return self._places[frame][0]

    def poses(self, joints_rad: ArrayLike) -> dict[str, Array]:
        """Return the transform (4, 4) from each frame to the base, for joints (7,)."""
        angles = np.asarray(joints_rad, dtype=np.float64)
        links = [np.eye(4)]
        for origin, angle in zip(self._origins, angles, strict=True):
            turn = np.eye(4)
            turn[:3, :3] = Rotation.from_euler('z', angle).as_matrix()
            links.append(links[-1] @ origin @ turn)
        return {name: links[number] @ place for name, (number, place) in self._places.items()}

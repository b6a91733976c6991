"""A spring from a point of the simulated arm to the mouse, and the force of it; no ROS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError

Array = NDArray[np.float64]

# As the hand of a simulated participant: stiff enough that the arm follows the mouse, and damped,
# since where the arm is comes some hundredths of a second late.
_STIFFNESS_N_PER_M = 600.0
_DAMPING_N_S_PER_M = 30.0
# As hard as a person guides an arm. With a reach of 0.75 m it stays below the 25 N·m at which
# playback holds: one who drags too far is not interrupted.
MAX_FORCE_N = 30.0
# A page tells twenty times a second that the mouse still holds the arm. One that is gone does not.
DEAD_MAN_SEC = 0.3
# Nothing on the page is farther away: a mouse near the horizon is not a metre of force.
_MAX_REACH_M = 3.0


class PullRefusedError(RewardLearningError):
    """The simulated arm cannot be pulled now; says why."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PullForce:
    """The force of the spring between mouse and link.

    Attributes:
        link: whose frame it is.
        force_n: (3,) along the axes of the base.
        torque_nm: (3,) about the origin of the link, along the axes of the base.
        hand_m: (3,) where the arm is held, base frame.
        target_m: (3,) where the mouse is, base frame.
    """

    link: str
    force_n: Array
    torque_nm: Array
    hand_m: Array
    target_m: Array


class Pull:
    """The pull of a mouse on the simulated arm, by one page at a time.

    Attributes:
        owner: the page that pulls; empty if none does.
        link: the link that it holds.
    """

    def __init__(self) -> None:
        self.owner = ''
        self.link = ''
        self._hand_in_link = np.zeros(3)
        self._target: Array | None = None
        self._told_sec = 0.0
        self._last: tuple[float, Array] | None = None

    def grab(self, owner: str, link: str, hand_in_link: ArrayLike, now_sec: float) -> None:
        """Take hold of a link.

        Args:
            owner: The page.
            link: Name of its frame.
            hand_in_link: (3,) where it is held, in that frame.
            now_sec: By the steady clock.

        Raises:
            PullRefusedError: Another page pulls.
        """
        if self.owner not in ('', owner) and not self.is_over(now_sec):
            raise PullRefusedError('another page pulls the arm')
        self._hand_in_link = _point(hand_in_link)
        self.owner, self.link = owner, link
        self._target, self._last = None, None
        self._told_sec = now_sec

    def drag(self, owner: str, target: ArrayLike, now_sec: float) -> None:
        """Pull to a point (3,) in the base frame; who does not hold the arm pulls nothing."""
        if owner == self.owner and owner:
            self._target = _point(target)
            self._told_sec = now_sec

    def release(self, owner: str) -> None:
        """Let go, if this page holds the arm."""
        if owner == self.owner:
            self.owner, self.link, self._target, self._last = '', '', None, None

    def is_over(self, now_sec: float) -> bool:
        """Tell whether nobody pulls, or the page has fallen silent."""
        return not self.owner or now_sec - self._told_sec > DEAD_MAN_SEC

    def force(self, link_in_base: Array, now_sec: float) -> PullForce:
        """Return what the spring does now.

        Args:
            link_in_base: (4, 4) transform from the link's frame to the base.
            now_sec: By the steady clock.
        """
        rotation, origin = link_in_base[:3, :3], link_in_base[:3, 3]
        hand = origin + rotation @ self._hand_in_link
        target = hand if self._target is None else self._target
        force = _STIFFNESS_N_PER_M * (target - hand)
        if self._last is not None and now_sec > self._last[0]:
            force = force - _DAMPING_N_S_PER_M * (hand - self._last[1]) / (now_sec - self._last[0])
        self._last = now_sec, hand
        size = float(np.linalg.norm(force))
        if size > MAX_FORCE_N:
            force = force * (MAX_FORCE_N / size)
        return PullForce(
            link=self.link,
            force_n=force,
            torque_nm=np.cross(hand - origin, force),
            hand_m=hand,
            target_m=target,
        )


def _point(value: ArrayLike) -> Array:
    try:
        point = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(f'a point is {value!r}; allowed: three numbers') from None
    if point.shape != (3,) or not np.isfinite(point).all() or np.abs(point).max() > _MAX_REACH_M:
        raise InvalidInputError(
            f'a point is {value!r}; allowed: three numbers, each from -{_MAX_REACH_M} to '
            f'{_MAX_REACH_M} m'
        )
    return point

"""The force at the tool that explains joint torques, and whether the arm's signs are right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from reward_learning_ros.core.errors import InvalidInputError

Jacobian = Callable[[np.ndarray], np.ndarray]
# Directions in which a newton shows as less than this in the joints are not trusted, m.
_SHORTEST_LEVER_M = 0.05
# Below this cosine force and motion say nothing of each other's sign.
_UNDECIDED_COSINE = 0.3


def force_from_torque(jacobian: np.ndarray, torque_nm: np.ndarray) -> np.ndarray:
    """Returns the force (..., 3) at the tool that explains torques best, ‖Jᵀ F − τ‖ least.

    Damped, so that near a singularity an unseen direction gets no force rather than a huge one.

    Args:
        jacobian: (..., 3, 7) linear rows of the tool's Jacobian, base frame.
        torque_nm: (..., 7) that the person causes.
    """
    normal = jacobian @ np.swapaxes(jacobian, -1, -2)
    damped = normal + _SHORTEST_LEVER_M**2 * np.eye(3)
    moment = jacobian @ np.asarray(torque_nm)[..., None]
    force: np.ndarray = np.linalg.solve(damped, moment)[..., 0]
    return force


def explained_share(
    jacobian: np.ndarray, torque_nm: np.ndarray, force_n: np.ndarray
) -> np.ndarray:
    """Returns which share of the squared torque (...) a force at the tool explains, 0 to 1.

    A push at the tool is explained; one at the elbow is not.
    """
    left = torque_nm - (np.swapaxes(jacobian, -1, -2) @ force_n[..., None])[..., 0]
    total = np.sum(torque_nm**2, axis=-1)
    share: np.ndarray = 1.0 - np.sum(left**2, axis=-1) / np.maximum(total, 1e-12)
    return np.clip(share, 0.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class SignCheck:
    """Whether forces point where the tool went.

    Attributes:
        sign: 1 if they do, -1 if they point the other way, 0 if the pushes do not tell.
        cosine: mean cosine between force and displacement, -1 to 1.
        pushes: how many pushes it rests on.
    """

    sign: int
    cosine: float
    pushes: int


def check_sign(forces_n: Sequence[np.ndarray], displacements_m: Sequence[np.ndarray]) -> SignCheck:
    """Compares the force of pushes with where the tool went: a compliant arm gives way.

    Push the arm a few times in any direction, apply the configured sign, and the answer must be 1;
    -1 means that `torque_sign` (or `wrench_sign`, whichever the force came from) is to be turned.

    Args:
        forces_n: (3,) mean force of each push, in the direction in which the person pushes.
        displacements_m: (3,) displacement of the tool by each push.
    """
    if len(forces_n) != len(displacements_m):
        raise InvalidInputError(
            f'{len(forces_n)} forces but {len(displacements_m)} displacements; allowed: as many'
        )
    cosines = []
    for force, displacement in zip(forces_n, displacements_m, strict=True):
        size = np.linalg.norm(force) * np.linalg.norm(displacement)
        if size > 0:
            cosines.append(float(np.dot(force, displacement) / size))
    mean = float(np.mean(cosines)) if cosines else 0.0
    decided = abs(mean) > _UNDECIDED_COSINE
    return SignCheck(sign=int(np.sign(mean)) if decided else 0, cosine=mean, pushes=len(cosines))

"""Thresholds that several nodes must agree on: a contact, a hold of playback, a reflex of the arm.

They come in this order: a contact is noticed far below the torque at which playback holds, and
playback holds before the arm stops in a reflex.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Torque over all joints with which a contact begins.
DETECTION_TORQUE_NM = 0.8
# External torque of each joint at which playback holds the arm.
STOP_TORQUE_NM = (25.0, 25.0, 25.0, 25.0, 9.0, 9.0, 9.0)
# External torque of each joint, and force at the tool, at which the arm stops in a reflex.
REFLEX_TORQUE_NM = (35.0, 35.0, 35.0, 35.0, 12.0, 12.0, 12.0)
REFLEX_FORCE_N = 70.0
# Farthest live shift of a plan: nobody tells playback of a larger one, and it takes none.
LARGEST_SHIFT_M = 0.6
# How long a watched node may be silent, before the session waits for it and playback holds.
WATCH_TIMEOUT_SEC = 2.5
# A vector shortened to a limit must not exceed it by a rounding error.
_ROUNDING = 1e-9


def limited(vector: NDArray[np.float64], largest: float) -> NDArray[np.float64]:
    """Return the vector, shortened to a length of `largest` if it is longer."""
    size = float(np.linalg.norm(vector))
    return vector * (largest * (1.0 - _ROUNDING) / size) if size > largest else vector

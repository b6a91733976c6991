"""θ that a study teaches."""

from __future__ import annotations

import numpy as np


def unit(*weights: float) -> np.ndarray:
    """Return weights in proportion, as a vector of length one."""
    vector = np.array(weights, dtype=np.float64)
    return np.asarray(vector / np.linalg.norm(vector))

"""Features that are not a function to compile but come from somewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from reward_learning_ros.core.compiled import Features


class FeatureSource(ABC):
    """Where a task's features come from, when they are needed."""

    @abstractmethod
    def prepare(self) -> None:
        """Load or make now what is needed, instead of when it is; may take minutes, once."""

    @abstractmethod
    def compiled(self) -> Features:
        """Return the features as kernels call them; not finite outside the trajectory space."""

    @abstractmethod
    def evaluate(self, trajectories: np.ndarray) -> np.ndarray:
        """Return finite features (…, d) of trajectories (…, n, m) that happened."""

"""The normalizer of `maximum`, found once for all recordings of one plan."""

from __future__ import annotations

from typing import Any

from reward_learning_ros.core.samplers.kernels import Space
from reward_learning_ros.core.samplers.normalizer import Maximum, Table

# It depends on task, space, domain and seed, but not on what a person did. For the life of a
# process: a study has a handful of plans, and a table is a few kilobytes.
_TABLES: dict[Any, Table] = {}


class SharedMaximum(Maximum):
    """`maximum`, with the same numbers to the last digit, for many recordings of few plans."""

    def make_table(self, space: Space, index: int) -> Table:
        """Return the best corrections of the space, as they were found before if they were."""
        problem = self._problem
        key = (
            problem.features,
            problem.domain.kind,
            (problem.domain.low.tobytes(), problem.domain.high.tobytes()),
            (problem.seed.entropy, problem.seed.spawn_key, index),
            tuple((array.shape, array.tobytes()) for array in space),
        )
        if key not in _TABLES:
            _TABLES[key] = super().make_table(space, index)
        return _TABLES[key]

"""Features read off a table: an outcome of physics, interpolated in a grid."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from reward_learning_ros.core.checks import whole_number
from reward_learning_ros.core.compiled import FEATURES_SIGNATURE, JIT_ENABLED, Features
from reward_learning_ros.core.errors import InvalidInputError


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


TABLE_TYPE = types.float64[::1]
TABLE_SIGNATURE = types.void(TABLE_TYPE, types.float64[:, ::1], types.float64[::1])

TableFeatures = Callable[[np.ndarray, np.ndarray, np.ndarray], None]


def table_kernel(function: TableFeatures) -> TableFeatures:
    """Compile a function `(table, trajectory, out)`, kept in the cache on disk."""
    compiled: TableFeatures = numba.njit(
        TABLE_SIGNATURE, cache=True, nogil=True, error_model='numpy'
    )(function)
    return compiled


@intrinsic
def _as_pointer(typing_context: Any, address: Any) -> Any:
    """Read a whole number as the address of numbers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float64)(address), generate


def bind_table(kernel: TableFeatures, table: np.ndarray) -> Features:
    """Return features that read a table (L,) of numbers.

    A table is too large to be compiled in as a constant, so its address is; the table lives as
    long as the features do and must not change.
    """
    kept = np.ascontiguousarray(table, dtype=np.float64)
    if not JIT_ENABLED:
        return lambda trajectory, out: kernel(kept, trajectory, out)
    address, length = kept.ctypes.data, len(kept)

    def features(trajectory: np.ndarray, out: np.ndarray) -> None:
        kernel(numba.carray(_as_pointer(address), (length,)), trajectory, out)

    bound: Any = numba.njit(FEATURES_SIGNATURE, error_model='numpy')(features)
    bound.table = kept
    return bound  # type: ignore[no-any-return]


# More dimensions would need more nodes than can be simulated.
MAX_DIMENSIONS = 4
# A table begins with: whether it is strict, its dimensions, and for each of them the numbers of
# `GridAxis`; then come the values, the last dimension fastest.
_STRICT, _DIMENSIONS, _FIRST_AXIS, _AXIS_WIDTH = 0, 1, 2, 5


@dataclass(frozen=True, kw_only=True)
class GridAxis:
    """One dimension of a grid: a coordinate of a waypoint at evenly spaced values."""

    waypoint: int
    axis: int
    low: float
    high: float
    count: int

    def __post_init__(self) -> None:
        whole_number(self.count, 'count', 2)
        if not self.low < self.high:
            raise InvalidInputError(
                f'a grid from {self.low} to {self.high}: the lower one must be smaller'
            )

    @property
    def nodes(self) -> np.ndarray:
        """The values (count,)."""
        return np.linspace(self.low, self.high, self.count)


def grid_trajectories(plan: np.ndarray, axes: Sequence[GridAxis]) -> np.ndarray:
    """Return the plan with every combination of nodes in it, (nodes, n, m)."""
    grids = np.meshgrid(*[axis.nodes for axis in axes], indexing='ij')
    trajectories = np.tile(plan, (grids[0].size, 1, 1))
    for axis, values in zip(axes, grids, strict=True):
        trajectories[:, axis.waypoint, axis.axis] = values.reshape(-1)
    return trajectories


class GridFeatures(FeatureSource):
    """Features that read an outcome off a grid by multilinear interpolation.

    Nothing is loaded or simulated before it is needed.
    """

    def __init__(
        self,
        axes: Sequence[GridAxis],
        load: Callable[[], np.ndarray],
        kernel: TableFeatures,
        size: int,
    ) -> None:
        """Remember where the outcomes come from.

        Args:
            axes: Of the grid.
            load: Returns the outcome (nodes,) at each node, NaN where the arm cannot go.
            kernel: Features `(table, trajectory, out)` that call `interpolate`.
            size: How many features there are.
        """
        if not 1 <= len(axes) <= MAX_DIMENSIONS:
            raise InvalidInputError(
                f'a grid of {len(axes)} dimensions; allowed: 1 to {MAX_DIMENSIONS}'
            )
        self.axes = tuple(axes)
        self._load = load
        self._kernel = kernel
        self._size = size

    @cached_property
    def outcomes(self) -> np.ndarray:
        """The outcome at each node (count of the first axis, …), NaN where the arm cannot go."""
        outcomes = np.reshape(self._load(), [axis.count for axis in self.axes])
        if not np.isfinite(outcomes).any():
            raise InvalidInputError('the arm can go to no node of the grid')
        return outcomes

    def prepare(self) -> None:
        """Load the outcomes, or simulate them."""
        _ = self.outcomes

    def compiled(self) -> Features:
        """Return the features; not finite outside the grid and where the arm cannot go."""
        return self._compiled

    def evaluate(self, trajectories: np.ndarray) -> np.ndarray:
        """Return features also of what lies outside: those of the nearest nodes inside."""
        values = np.empty((*trajectories.shape[:-2], self._size))
        for index in np.ndindex(trajectories.shape[:-2]):
            self._kernel(self._filled, np.ascontiguousarray(trajectories[index]), values[index])
        return values

    @cached_property
    def _compiled(self) -> Features:
        return bind_table(self._kernel, self._table(self.outcomes, strict=True))

    @cached_property
    def _filled(self) -> np.ndarray:
        from scipy.ndimage import distance_transform_edt

        nearest = distance_transform_edt(
            ~np.isfinite(self.outcomes), return_distances=False, return_indices=True
        )
        return self._table(self.outcomes[tuple(nearest)], strict=False)

    def _table(self, outcomes: np.ndarray, *, strict: bool) -> np.ndarray:
        head = [float(strict), float(len(self.axes))]
        for axis in self.axes:
            head += [axis.waypoint, axis.axis, axis.low, axis.high, axis.count]
        return np.concatenate([head, outcomes.reshape(-1)])


@numba.njit(
    types.float64(TABLE_TYPE, types.Array(types.float64, 2, 'C')),
    cache=True,
    nogil=True,
    error_model='numpy',
)
def interpolate(table: np.ndarray, trajectory: np.ndarray) -> float:
    """Return the outcome of a trajectory (n, m) between the nodes around it.

    A strict table gives NaN outside the grid and next to a node where the arm cannot go; another
    one gives the value at the grid's border.
    """
    dimensions = int(table[_DIMENSIONS])
    first_value = _FIRST_AXIS + _AXIS_WIDTH * dimensions
    base = 0
    # Fractions between two nodes; one for each dimension that there can be.
    f0, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0
    for dimension in range(dimensions):
        head = _FIRST_AXIS + _AXIS_WIDTH * dimension
        value = trajectory[int(table[head]), int(table[head + 1])]
        low, high, count = table[head + 2], table[head + 3], int(table[head + 4])
        place = (value - low) / (high - low) * (count - 1)
        if np.isnan(place):
            return np.nan
        if not 0.0 <= place <= count - 1:
            # Rounding alone puts nothing outside.
            if table[_STRICT] != 0.0 and not -1e-9 <= place <= count - 1 + 1e-9:
                return np.nan
            place = min(max(place, 0.0), count - 1.0)
        node = min(int(place), count - 2)
        base = base * count + node
        fraction = place - node
        if dimension == 0:
            f0 = fraction
        elif dimension == 1:
            f1 = fraction
        elif dimension == 2:
            f2 = fraction
        else:
            f3 = fraction
    total = 0.0
    for corner in range(1 << dimensions):
        weight = 1.0
        offset = 0
        stride = 1
        for back in range(dimensions):
            dimension = dimensions - 1 - back
            fraction = f0
            if dimension == 1:
                fraction = f1
            elif dimension == 2:
                fraction = f2
            elif dimension == 3:
                fraction = f3
            if corner >> dimension & 1:
                weight *= fraction
                offset += stride
            else:
                weight *= 1.0 - fraction
            stride *= int(table[_FIRST_AXIS + _AXIS_WIDTH * dimension + 4])
        # A corner without weight does not count, even where the arm cannot go.
        if weight > 0.0:
            total += weight * table[first_value + base + offset]
    return total

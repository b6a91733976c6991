"""Compiled features with a table of their own.

The samplers call features through a pointer of a fixed type, `(trajectory, out)`. A kernel that
also reads a table, `(table, trajectory, out)`, is compiled once and kept on disk; binding it to a
table compiles no more than a call with the table's address in it (about 0.1 s).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from reward_learning_ros.core.compiled import FEATURES_SIGNATURE, JIT_ENABLED, Features

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

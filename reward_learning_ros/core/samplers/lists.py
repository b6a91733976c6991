"""Typed lists for the kernels, made by functions that are compiled once and kept on disk.

The methods of `numba.typed.List` are compiled in every process anew, which takes longer than the
whole inference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numba
from numba import types
from numba.typed import List

from reward_learning_ros.core.compiled import JIT_ENABLED


def list_maker(element_type: Any) -> Callable[[Iterable[Any]], Any]:
    """Return a function that makes a typed list of elements of one type."""
    if not JIT_ENABLED:
        return list
    list_type = types.ListType(element_type)

    @numba.njit(list_type(), cache=True)
    def make_empty() -> Any:
        return List.empty_list(element_type)

    @numba.njit(types.void(list_type, element_type), cache=True)
    def append(listed: Any, element: Any) -> None:
        listed.append(element)

    def make(elements: Iterable[Any]) -> Any:
        listed = make_empty()
        for element in elements:
            append(listed, element)
        return listed

    return make

"""Typed lists for the kernels, made by functions that are compiled once and kept on disk.

The methods of `numba.typed.List` are compiled again in every process, which takes longer than the
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

    # Neither refers to the type: what a function closes over is part of the key under which it is
    # kept, and a type is another one in every process.
    @numba.njit(list_type(element_type), cache=True)
    def begin(element: Any) -> Any:
        listed = List()
        listed.append(element)
        return listed

    @numba.njit(types.void(list_type, element_type), cache=True)
    def append(listed: Any, element: Any) -> None:
        listed.append(element)

    def make(elements: Iterable[Any]) -> Any:
        listed = None
        for element in elements:
            if listed is None:
                listed = begin(element)
            else:
                append(listed, element)
        return List.empty_list(element_type) if listed is None else listed

    return make

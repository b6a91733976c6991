"""Sizes of tests with and without the compiler."""

from __future__ import annotations

from reward_learning_ros.core.compiled import JIT_ENABLED


def sized(compiled: int, interpreted: int) -> int:
    """Return a size for compiled code, or the one for NUMBA_DISABLE_JIT=1."""
    return compiled if JIT_ENABLED else interpreted

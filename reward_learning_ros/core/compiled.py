"""Numba, set up once: the signature of features and how a user's function comes to have it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from reward_learning_ros.core.cores import available_cores as available_cores
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.kernel_cache import numba

# Kernels call features and priors through a pointer of a fixed type: so a kernel is compiled once,
# whatever the task, and its machine code can be kept on disk.
FEATURES_SIGNATURE = types.void(types.float64[:, ::1], types.float64[::1])
LOG_PRIOR_SIGNATURE = types.float64(types.float64[::1])
FEATURES_TYPE = types.FunctionType(FEATURES_SIGNATURE)
LOG_PRIOR_TYPE = types.FunctionType(LOG_PRIOR_SIGNATURE)
GENERATOR_TYPE = numba.typeof(np.random.default_rng(0))
JIT_ENABLED = not numba.config.DISABLE_JIT

Features = Callable[[np.ndarray, np.ndarray], None]
LogPrior = Callable[[np.ndarray], float]


class SlowFunctionWarning(UserWarning):
    """A user's function could not be compiled and is called in plain Python."""


if JIT_ENABLED:

    @intrinsic
    def unowned(typing_context: Any, array: Any) -> Any:
        """Return an array without its owner, who must outlive it.

        A view of an array that is owned is counted, atomically, at every call that it is given to.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            found = make_array(signature.args[0])(context, builder, arguments[0])
            found.meminfo = cgutils.get_null_value(found.meminfo.type)
            found.parent = cgutils.get_null_value(found.parent.type)
            return found._getvalue()

        return array(array), generate
else:

    def unowned(array: np.ndarray) -> np.ndarray:
        """Return the array: plain Python counts owners anyway."""
        return array


def features_kernel(function: Features) -> Features:
    """Compile a function `(trajectory, out)` of this package, kept in the cache on disk."""
    if not JIT_ENABLED:
        function.is_features_kernel = True  # type: ignore[attr-defined]
        return function
    compiled: Features = numba.njit(FEATURES_SIGNATURE, cache=True, error_model='numpy')(function)
    return compiled


def compile_features(function: Callable[..., Any], size: int) -> Features:
    """Return a user's `features(trajectory) -> (size,)` in the form that kernels call.

    A function that Numba cannot compile is called back in plain Python, with a warning.
    """
    if is_compiled(function) or hasattr(function, 'is_features_kernel'):
        return function

    def in_python(trajectory: np.ndarray, out: np.ndarray) -> None:
        values = function(trajectory)
        if len(values) != size:
            raise InvalidInputError(
                f'{_name(function)} returned {len(values)} features where {size} are named'
            )
        for index in range(size):
            out[index] = values[index]

    if not JIT_ENABLED:
        return in_python
    inner = function if _is_dispatcher(function) else numba.njit(error_model='numpy')(function)

    def wrapper(trajectory: np.ndarray, out: np.ndarray) -> None:
        values = inner(trajectory)
        for index in range(size):
            out[index] = values[index]

    try:
        compiled: Features = _compile(wrapper, FEATURES_SIGNATURE)
        return compiled
    except Exception as error:  # Numba raises many kinds, and none of them may stop the user.
        _warn_slow(function, error)

    def through_python(trajectory: np.ndarray, out: np.ndarray) -> None:
        with numba.objmode():
            in_python(trajectory, out)

    called_back: Features = _compile(through_python, FEATURES_SIGNATURE)
    return called_back


def compile_log_prior(function: Callable[..., Any]) -> LogPrior:
    """Return a user's `log_prior(theta) -> float` in the form that kernels call."""
    if is_compiled(function) or not JIT_ENABLED:
        return function
    try:
        compiled: LogPrior = _compile(function, LOG_PRIOR_SIGNATURE)
        return compiled
    except Exception as error:  # as above
        _warn_slow(function, error)

    def through_python(theta: np.ndarray) -> float:
        with numba.objmode(value='float64'):
            value = float(function(theta))
        return value  # noqa: RET504 (what an objmode block gives must have a name)

    called_back: LogPrior = _compile(through_python, LOG_PRIOR_SIGNATURE)
    return called_back


def is_compiled(function: Callable[..., Any]) -> bool:
    """Tell whether a function is machine code of one fixed signature."""
    return _is_dispatcher(function) and len(function.signatures) == 1 and not function._can_compile  # type: ignore[attr-defined]


@numba.njit
def copy_vector(target: np.ndarray, source: np.ndarray) -> None:
    """Copy a vector in a kernel; compiles much faster than `a[:] = b`.

    For kernels: what Numba makes of `target[:] = source` takes seconds to compile, most of them
    for what it says of shapes that differ.
    """
    for index in range(target.shape[0]):
        target[index] = source[index]


@numba.njit
def copy_matrix(target: np.ndarray, source: np.ndarray) -> None:
    """Copy a matrix in a kernel; see `copy_vector`."""
    for row in range(target.shape[0]):
        for column in range(target.shape[1]):
            target[row, column] = source[row, column]


@numba.njit(LOG_PRIOR_SIGNATURE, cache=True)
def flat_log_prior(theta: np.ndarray) -> float:
    """Return 0: the log density of a uniform prior of θ."""
    return 0.0


def _compile(function: Callable[..., Any], signature: Any) -> Any:
    return numba.njit(signature, error_model='numpy')(function)


def _is_dispatcher(function: object) -> bool:
    return hasattr(function, 'py_func') and hasattr(function, 'signatures')


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, '__qualname__', repr(function))


def _warn_slow(function: Callable[..., Any], error: Exception) -> None:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    warnings.warn(
        f'{_name(function)} cannot be compiled ({reason}) and is called in plain Python, about a '
        'hundred times slower. Scalar Python over one trajectory compiles.',
        SlowFunctionWarning,
        stacklevel=3,
    )

"""The samplers by name: the paper's four, and summation over a table of log Z."""

from __future__ import annotations

from collections.abc import Callable

from reward_learning_ros.core.errors import UnknownNameError
from reward_learning_ros.core.samplers.base import Problem, Sampler
from reward_learning_ros.core.samplers.double_mh import DoubleMH
from reward_learning_ros.core.samplers.normalizer import Ignore, Maximum, Sampling
from reward_learning_ros.core.samplers.tabulated import Tabulated

METHODS: dict[str, Callable[[Problem], Sampler]] = {
    'ignore': Ignore,
    'sampling': Sampling,
    'maximum': Maximum,
    'double_mh': DoubleMH,
    'tabulated': Tabulated,
}


def find_method(name: str) -> Callable[[Problem], Sampler]:
    """Return the sampler of that name."""
    if name not in METHODS:
        raise UnknownNameError('method', name, METHODS)
    return METHODS[name]

"""The model of the person recommended for passes; docs/learning.md says why and what it lacks."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from reward_learning_ros.core.domain import BetaPrior, BotherPrior

# How far a hand misses what it means along each axis, for `Task.softened`.
MOTOR_NOISE_M = 0.01
# Options of `infer`. Silence says that no push was worth the bother, whatever that is. Whoever
# corrects a whole pass picks what they want rather reliably: with a smaller β every pass could be
# chance, and of some people nothing would ever be learned.
PASS_MODEL: Mapping[str, Any] = MappingProxyType(
    {'silence': 'atom', 'bother': BotherPrior(), 'beta': BetaPrior(low=5.0)}
)

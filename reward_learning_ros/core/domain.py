"""Where θ may be, and β: domains with their uniform priors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from reward_learning_ros.core.checks import finite_array, number_between, positive_number
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError

BOX, UNIT, UNIT_NONNEGATIVE = 'box', 'unit', 'unit_nonnegative'
KINDS = (BOX, UNIT, UNIT_NONNEGATIVE)


def unit_vector(*weights: float) -> np.ndarray:
    """Return weights in proportion, as a vector of length one."""
    vector = np.array(weights, dtype=np.float64)
    return np.asarray(vector / np.linalg.norm(vector))


@dataclass(frozen=True, kw_only=True, eq=False)
class ThetaDomain:
    """The set that θ lies in, with the uniform distribution on it as prior.

    Attributes:
        kind: `box`, `unit` (vectors of length one) or `unit_nonnegative`.
        size: The number of features d.
        low: (d,) lower bounds of a box; zeros by default.
        high: (d,) upper bounds of a box; ones by default.
    """

    kind: str
    size: int
    low: Any = None
    high: Any = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnknownNameError('domain of θ', self.kind, KINDS)
        if self.size < 1 or (self.kind != BOX and self.size < 2):
            raise InvalidInputError(f'a {self.kind} domain cannot have {self.size} features')
        if self.kind != BOX and (self.low is not None or self.high is not None):
            raise InvalidInputError(f'a {self.kind} domain has no bounds')
        default_low = np.zeros(self.size) if self.kind != UNIT else -np.ones(self.size)
        low = default_low if self.low is None else self.low
        high = np.ones(self.size) if self.high is None else self.high
        low = finite_array(low, 'low', (self.size,))
        high = finite_array(high, 'high', (self.size,))
        for index in np.flatnonzero(~(low < high)):
            raise InvalidInputError(
                f'bounds of θ[{index}] are {low[index]:g} and {high[index]:g}; the lower one must '
                'be smaller'
            )
        object.__setattr__(self, 'low', low)
        object.__setattr__(self, 'high', high)

    @classmethod
    def parse(cls, value: Any, size: int) -> ThetaDomain:
        """Return a domain, also from the name of its kind."""
        domain = value if isinstance(value, ThetaDomain) else cls(kind=value, size=size)
        if domain.size != size:
            raise InvalidInputError(f'the domain has {domain.size} features, the task {size}')
        return domain

    def sample(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Return `count` points (count, d) of the prior."""
        return self.from_unit_cube(rng.random((count, self.size)))

    def quasi_random(self, count: int) -> np.ndarray:
        """Return points (count, d) that fill the domain evenly, the same ones every time."""
        # Roberts' sequence: multiples of the powers of a generalised golden ratio, modulo one.
        ratio = 1.5
        for _ in range(64):
            ratio = (1.0 + ratio) ** (1.0 / (self.size + 1))
        steps = ratio ** -np.arange(1.0, self.size + 1)
        cube = (0.5 + np.arange(1, count + 1)[:, None] * steps) % 1.0
        return self.from_unit_cube(cube)

    def from_unit_cube(self, cube: np.ndarray) -> np.ndarray:
        """Map points (…, d) of the unit cube to the domain, uniform to uniform."""
        if self.kind == BOX:
            scaled: np.ndarray = self.low + (self.high - self.low) * cube
            return scaled
        normal = ndtri(np.clip(cube, 1e-12, 1.0 - 1e-12))
        if self.kind == UNIT_NONNEGATIVE:
            normal = np.abs(normal)
        length = np.linalg.norm(normal, axis=-1, keepdims=True)
        unit: np.ndarray = np.where(length > 0, normal, 1.0) / np.where(
            length > 0, length, np.sqrt(self.size)
        )
        return unit

    def contains(self, theta: np.ndarray) -> bool:
        """Tell whether θ is in the domain."""
        if self.kind == BOX:
            return bool((theta >= self.low).all() and (theta <= self.high).all())
        on_sphere = abs(float(np.linalg.norm(theta)) - 1.0) < 1e-6
        return on_sphere and (self.kind == UNIT or bool((theta >= 0).all()))

    @property
    def largest_length(self) -> float:
        """The largest length of a θ."""
        if self.kind != BOX:
            return 1.0
        return float(np.linalg.norm(np.maximum(np.abs(self.low), np.abs(self.high))))


@dataclass(frozen=True, kw_only=True)
class BetaPrior:
    """A log-uniform prior of β between two bounds; equal bounds fix it."""

    low: float = 0.1
    high: float = 50.0

    def __post_init__(self) -> None:
        positive_number(self.low, 'the lower bound of β')
        positive_number(self.high, 'the upper bound of β')
        if self.low > self.high:
            raise InvalidInputError(
                f'bounds of β are {self.low:g} and {self.high:g}; the lower one must be smaller'
            )

    @classmethod
    def parse(cls, value: Any) -> BetaPrior:
        """Return a prior of β, also from a number or the word `infer`."""
        if isinstance(value, BetaPrior):
            return value
        if isinstance(value, str):
            if value != 'infer':
                raise InvalidInputError(f"beta is {value!r}; it must be 'infer' or a number")
            return cls()
        beta = positive_number(value, 'beta')
        return cls(low=beta, high=beta)

    @property
    def is_fixed(self) -> bool:
        """Whether β is known."""
        return self.low == self.high


@dataclass(frozen=True, kw_only=True)
class BotherPrior:
    """A uniform prior of the cost of bothering κ between two bounds; equal bounds fix it.

    κ is what a push costs besides its length: the log odds of silence of a person to whom all
    trajectories are alike. At −6 they push nearly everywhere, as the paper has it; at 0 at every
    other waypoint; at 6 hardly ever, so that their silence says next to nothing.
    """

    low: float = -6.0
    high: float = 6.0

    def __post_init__(self) -> None:
        number_between(self.low, 'the lower bound of the cost of bothering', -50.0, 50.0)
        number_between(self.high, 'the upper bound of the cost of bothering', -50.0, 50.0)
        if self.low > self.high:
            raise InvalidInputError(
                f'bounds of the cost of bothering are {self.low:g} and {self.high:g}; the lower '
                'one must be smaller'
            )

    @classmethod
    def parse(cls, value: Any) -> BotherPrior:
        """Return a prior, also from a number or the word `infer`."""
        if isinstance(value, BotherPrior):
            return value
        if isinstance(value, str):
            if value != 'infer':
                raise InvalidInputError(f"bother is {value!r}; it must be 'infer' or a number")
            return cls()
        bother = number_between(value, 'bother', -50.0, 50.0)
        return cls(low=bother, high=bother)

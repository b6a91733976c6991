"""What a person gave: a plan and the corrections of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reward_learning_ros.core.checks import finite_array
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError

# Displacements below this many metres (or radians) are no correction: a tenth of the
# repeatability of the arm.
UNMOVED = 1e-5

# What is known of a waypoint of a pass: somebody pushed, nobody did, or nobody knows.
PUSHED, SILENT, UNKNOWN = 'pushed', 'silent', 'unknown'
STATES = (PUSHED, SILENT, UNKNOWN)


@dataclass(frozen=True, kw_only=True, eq=False)
class CorrectionSequence:
    """A plan and the trajectories that corrections made of it, each building on the one before.

    Attributes:
        plan: (n, m) waypoints before the first correction.
        corrected: (K, n, m) trajectories ξ_1 … ξ_K after each correction.
        profiles: (K, n) how far each correction moves each waypoint, relative to its delta; None
            means that each shifts the waypoint of its onset and all later ones alike.
        pushed: (K,) whether somebody pushed at all; None means that who moved something did. A
            correction without a push is silence: what it means is for the human model to say.
    """

    plan: np.ndarray
    corrected: np.ndarray
    profiles: np.ndarray | None = None
    pushed: np.ndarray | None = None

    def __post_init__(self) -> None:
        plan = finite_array(self.plan, 'plan', (None, None))
        if np.size(self.corrected) == 0:
            raise InvalidInputError('corrected is empty; at least one correction is needed')
        corrected = finite_array(self.corrected, 'corrected', (None, *plan.shape))
        object.__setattr__(self, 'plan', plan)
        object.__setattr__(self, 'corrected', corrected)
        if self.profiles is not None:
            profiles = finite_array(self.profiles, 'profiles', (len(corrected), len(plan)))
            if not (np.abs(profiles).max(axis=1) > 0).all():
                raise InvalidInputError('profiles holds a row of zeros; it would move nothing')
            object.__setattr__(self, 'profiles', profiles)
        if self.pushed is not None:
            pushed = np.array(self.pushed)
            if pushed.dtype != np.bool_ or pushed.shape != (len(corrected),):
                raise InvalidInputError(
                    f'pushed must be {len(corrected)} truth values, not {self.pushed!r}'
                )
            pushed.setflags(write=False)
            object.__setattr__(self, 'pushed', pushed)

    @classmethod
    def from_pass(
        cls, plan: Any, deltas: Any, states: Sequence[str] | None = None
    ) -> CorrectionSequence:
        """Make the sequence of a pass: a correction at every waypoint of which something is known.

        Args:
            plan: (n, m) waypoints.
            deltas: (k, m) shift at the last k waypoints; zero where nobody pushed.
            states: k of `pushed`, `silent` and `unknown`; by default a delta of exactly zero is
                silence. An unknown waypoint is left out: it is not silence.

        Raises:
            InvalidInputError: Nothing is known of the pass, or something was moved in silence.
        """
        waypoints = finite_array(plan, 'plan', (None, None))
        shifts = finite_array(deltas, 'deltas', (None, waypoints.shape[1]))
        moved = np.abs(shifts).max(axis=1, initial=0.0) > 0.0
        if states is None:
            states = [PUSHED if each else SILENT for each in moved]
        if len(states) != len(shifts) or len(shifts) >= len(waypoints) + 1:
            raise InvalidInputError(
                f'{len(shifts)} deltas and {len(states)} states of a plan of {len(waypoints)} '
                'waypoints; there must be as many of each, at most one for each waypoint'
            )
        for state in states:
            if state not in STATES:
                raise UnknownNameError('state of a waypoint', state, STATES)
        told = np.array(states, dtype=object)
        for index in np.flatnonzero(moved & (told != PUSHED)):
            raise InvalidInputError(
                f'deltas[{index}] is not zero, but nobody is known to have pushed there: the '
                f'waypoint is {told[index]}'
            )
        known = np.flatnonzero(told != UNKNOWN)
        if len(known) == 0:
            raise InvalidInputError('nothing is known of the pass: every waypoint is unknown')
        onsets = len(waypoints) - len(shifts) + known
        sequence = cls.from_deltas(waypoints, shifts[known], onsets.tolist())
        return replace(sequence, pushed=told[known] == PUSHED)

    @classmethod
    def from_deltas(
        cls, plan: Any, deltas: Any, onsets: Sequence[int] | None = None
    ) -> CorrectionSequence:
        """Make the sequence in which correction i shifts waypoint onset_i and all later ones.

        Args:
            plan: (n, m) waypoints.
            deltas: (K, m) shift of each correction.
            onsets: K waypoints; by default 1, 2, … as in the published study.
        """
        waypoints = finite_array(plan, 'plan', (None, None))
        if np.size(deltas) == 0:
            raise InvalidInputError('deltas is empty; at least one correction is needed')
        shifts = finite_array(deltas, 'deltas', (None, waypoints.shape[1]))
        chosen = range(1, len(shifts) + 1) if onsets is None else onsets
        profiles = tail_shifts(chosen, len(waypoints))
        if len(profiles) != len(shifts):
            raise InvalidInputError(f'{len(shifts)} deltas but {len(profiles)} onsets')
        moved = np.cumsum(profiles[:, :, None] * shifts[:, None, :], axis=0)
        return cls(plan=waypoints, corrected=waypoints + moved, profiles=profiles)

    def __len__(self) -> int:
        return len(self.corrected)

    @property
    def displacements(self) -> np.ndarray:
        """The displacement (K, n, m) of every waypoint by each correction."""
        return np.diff(self.corrected, axis=0, prepend=self.plan[None])

    @property
    def is_push(self) -> np.ndarray:
        """Whether somebody pushed (K,) at each correction."""
        if self.pushed is not None:
            return self.pushed
        return np.asarray(np.abs(self.displacements).max(axis=(1, 2)) > UNMOVED)

    def only_pushes(self) -> CorrectionSequence | None:
        """Return the sequence without its silence; None if nobody pushed at all."""
        kept = self.is_push
        if not kept.any():
            return None
        if kept.all():
            return self
        return CorrectionSequence(
            plan=self.plan,
            corrected=self.corrected[kept],
            profiles=self.resolved_profiles()[kept],
            pushed=kept[kept],
        )

    def appended(self, trajectory: Any, profile: Any = None) -> CorrectionSequence:
        """Return the sequence with one more correction, of the last trajectory."""
        corrected = np.concatenate([self.corrected, np.asarray(trajectory, dtype=float)[None]])
        profiles = None
        if profile is not None or self.profiles is not None:
            own = self.resolved_profiles()
            shape = CorrectionSequence(plan=self.plan, corrected=corrected).resolved_profiles()
            profiles = np.concatenate([own, shape[-1:] if profile is None else [profile]])
        pushed = None
        if self.pushed is not None:
            moved = np.abs(corrected[-1] - self.corrected[-1]).max() > UNMOVED
            pushed = np.append(self.pushed, moved)
        return CorrectionSequence(
            plan=self.plan, corrected=corrected, profiles=profiles, pushed=pushed
        )

    def resolved_profiles(self) -> np.ndarray:
        """Return the profiles (K, n), read off the displacements where none were given.

        A correction's onset is the first waypoint that it moves. One that moves nothing is data
        too: its onset is the waypoint after the onset before.
        """
        if self.profiles is not None:
            return self.profiles
        waypoints = len(self.plan)
        onsets = []
        before = 0
        for displacement in self.displacements:
            moved = np.flatnonzero(np.abs(displacement).max(axis=1) > UNMOVED)
            before = int(moved[0]) if len(moved) else min(before + 1, waypoints - 1)
            onsets.append(before)
        return tail_shifts(onsets, waypoints)


def tail_shifts(onsets: Sequence[int], waypoints: int) -> np.ndarray:
    """Return the profiles (K, n) that move waypoint onset_i and all later ones alike."""
    for onset in onsets:
        if not 0 <= onset < waypoints:
            raise InvalidInputError(
                f'onset {onset} is no waypoint; a plan of {waypoints} has 0 to {waypoints - 1}'
            )
    steps = np.arange(waypoints)[None, :] >= np.asarray(onsets)[:, None]
    return steps.astype(np.float64)

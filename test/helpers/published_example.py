"""A small study in the authors' layout, for tests; and theirs, where it is."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np

REAL = Path(
    os.environ.get('PUBLISHED_STUDY', Path(__file__).parents[3] / 'shared/published_study')
)


def write_trial(study, folder='Task1', participant=1, trial=1, rows=None, theta=None):
    """Write a recording: by default a steady push along y in 20 s, teaching the goal."""
    user = study / folder / 'data' / f'user{participant}'
    user.mkdir(parents=True, exist_ok=True)
    if rows is None:
        rows = pushed(participant + 10 * trial)
    if theta is None:
        theta = np.array([1.0, 0.0, 0.0, 0.0])
    (user / f'demo{trial}.pkl').write_bytes(pickle.dumps(rows))
    (user / f'theta{trial}.pkl').write_bytes(pickle.dumps(theta))
    return user


def pushed(seed, duration_sec=20.0):
    """Return rows of somebody who pushes now and then, never much."""
    rng = np.random.default_rng(seed)
    times = np.arange(0.1, duration_sec, 0.1)
    return np.column_stack([times, np.cumsum(rng.normal(0, 0.002, (len(times), 3)), axis=0)])


def write_study(study, participants=2):
    """Write three trials of Press for each participant."""
    for participant in range(1, participants + 1):
        for trial in (1, 2, 3):
            write_trial(study, participant=participant, trial=trial)
    return study

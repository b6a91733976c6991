"""Double MH on Press as one would first write it: one chain, one step at a time, in NumPy.

The same inner sampler as the compiled one, to compare with; nothing else uses it.
"""

from __future__ import annotations

import numpy as np

PLAN = np.linspace((0.35, 0.0, 0.5), (0.7, 0.3, 0.1), 8)
GOAL = np.array([0.7, 0.3, 0.1])
BUTTON = np.array([0.6, -0.1, 0.15])
OBSTACLE = np.array([0.5, 0.05])
WIDTH = 0.1


def features(trajectory: np.ndarray) -> np.ndarray:
    """Return goal, button, obstacle and length of a trajectory."""
    pressed = -0.25
    nearest = np.inf
    length = 0.0
    for i in range(1, len(trajectory)):
        if np.linalg.norm(trajectory[i] - BUTTON) < 0.05:
            pressed = 0.25
        nearest = min(nearest, np.linalg.norm(trajectory[i, :2] - OBSTACLE))
        length += np.linalg.norm(trajectory[i] - trajectory[i - 1]) ** 2
    goal = 0.25 - np.linalg.norm(trajectory[-1] - GOAL)
    return np.array([goal, pressed, 1.5 * nearest, -length])


def reward(deltas: np.ndarray, theta: np.ndarray, gamma: float) -> float:
    """Return the reward of a sequence of corrections, the later ones counting more."""
    trajectory = PLAN.copy()
    total = 0.0
    for index, delta in enumerate(deltas):
        trajectory = trajectory.copy()
        trajectory[index + 1 :] += delta
        total = gamma * total + features(trajectory) @ theta
    return total


def inner_steps(
    theta: np.ndarray, beta: float, gamma: float, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Run the inner sampler for some steps; return where it ends."""
    deltas = rng.uniform(-WIDTH, WIDTH, (7, 3))
    current = reward(deltas, theta, gamma)
    for _ in range(count):
        proposed = deltas.copy()
        choice = rng.random()
        first, last = np.sort(rng.integers(7, size=2))
        if choice < 0.40:
            proposed[first] = reflected(proposed[first] + 0.1 * rng.standard_normal(3))
        elif choice < 0.55:
            step = 0.1 * rng.standard_normal(3)
            proposed[first] += step
            proposed[last] -= step
        elif choice < 0.80:
            proposed[first : last + 1] += 0.1 * rng.standard_normal(3) / np.sqrt(last - first + 1)
        else:
            proposed[first] = rng.uniform(-WIDTH, WIDTH, 3)
        if np.abs(proposed).max() > WIDTH:
            continue
        value = reward(proposed, theta, gamma)
        if np.log(rng.random()) < beta * (value - current):
            deltas, current = proposed, value
    return deltas


def reflected(values: np.ndarray) -> np.ndarray:
    """Fold values at the bounds."""
    folded = (values + WIDTH) % (4 * WIDTH)
    return np.where(folded > 2 * WIDTH, 4 * WIDTH - folded, folded) - WIDTH

"""What was learned, in one sentence for each feature; the prior is found in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import ThetaSummary
from reward_learning_ros.session.understanding import prior_of, understood


def find_prior(task: str, on_found: Callable[[ThetaSummary], None]) -> None:
    """Find what is known of θ before a session, without keeping the caller waiting.

    Args:
        task: Name of the task; of one that is not installed here, nothing is found.
        on_found: Is told it, in another thread.
    """

    def find() -> None:
        # Heavy, and not needed before a session runs.
        from reward_learning_ros.tasks import load_task

        try:
            prior = prior_of(load_task(task))
        except RewardLearningError:
            return
        on_found(prior)

    threading.Thread(target=find, name='prior', daemon=True).start()


def sentences(prior: ThetaSummary | None, theta: ThetaSummary | None) -> tuple[str, ...]:
    """Return one sentence for each feature; empty before anything is known."""
    if theta is None:
        return ()
    if prior is None or prior.features != theta.features:
        return tuple(
            f'{name}: {mean:.2f}' for name, mean in zip(theta.features, theta.mean, strict=True)
        )
    return tuple(_sentence(prior, theta, index) for index in range(len(theta.features)))


def _sentence(prior: ThetaSummary, theta: ThetaSummary, index: int) -> str:
    one = slice(index, index + 1)
    parts = [
        ThetaSummary(
            features=(whole.features[index],),
            mean=whole.mean[one],
            sd=whole.sd[one],
            quantiles=whole.quantiles[:, one],
        )
        for whole in (prior, theta)
    ]
    claim = understood(*parts)
    name = theta.features[index]
    if claim != 'nothing yet':
        return claim
    width, before = (
        each.quantiles[2, index] - each.quantiles[0, index] for each in (theta, prior)
    )
    if width < before:
        return f'{name}: about as important as it was thought, and surer by now'
    return f'{name}: nothing learned yet'

"""The configuration of learning: all that decides what is learned from given corrections."""

from __future__ import annotations

from dataclasses import dataclass

from reward_learning_ros.arm.playback.parameters import PlaybackParameters
from reward_learning_ros.parameters import Parameters, parameter, specifications
from reward_learning_ros.parameters.inference import (
    beta_parameter,
    dependence_parameter,
    method_parameter,
)

# The arm's limits are playback's: a plan that it would refuse is not learned.
_PLAYBACK = specifications(PlaybackParameters)


@dataclass(frozen=True, kw_only=True)
class LearningParameters(Parameters):
    """What is learned, how, and inside which limits the next plan must be."""

    task: str = parameter('press', description='Name of the task')
    method: str = method_parameter()
    dependence: str = dependence_parameter()
    beta: float | None = beta_parameter()
    gamma: float = parameter(
        1.0,
        description='Discount of the rewards of earlier trajectories',
        minimum=0.0,
        maximum=1.0,
    )
    effort: float = parameter(
        1.0, description='Weight of the squared length of a correction', minimum=0.0, maximum=1e6
    )
    seed: int = parameter(0, description='Of all random numbers', minimum=0)
    target_ess: float = parameter(
        200.0,
        description='Effective draws of every weight at which sampling ends',
        minimum=100.0,
        maximum=1e6,
    )
    target_r_hat: float = parameter(
        1.02,
        description='R̂ of every weight at which sampling may end; up to 1.05 it is trusted',
        minimum=1.0,
        maximum=1.05,
    )
    max_draws: int = parameter(
        4000,
        description='Draws of each chain at which sampling ends, converged or not',
        minimum=8,
        maximum=1_000_000,
    )
    # After a few corrections the relevance is low for anybody, and the plan is still the best one
    # for what is known: it is told, but does not decide.
    min_relevance: float = parameter(
        0.0,
        description='Least probability that the features explain the corrections at all, for a '
        'plan to be shown',
        minimum=0.0,
        maximum=1.0,
    )
    prefix: str = parameter('fr3', description=_PLAYBACK['prefix'].description)
    speed_scale: float = parameter(
        _PLAYBACK['speed_scale'].default,
        description=_PLAYBACK['speed_scale'].description,
        minimum=_PLAYBACK['speed_scale'].minimum,
        maximum=_PLAYBACK['speed_scale'].maximum,
    )
    workspace_lower_m: tuple[float, ...] = parameter(
        _PLAYBACK['workspace_lower_m'].default,
        description=_PLAYBACK['workspace_lower_m'].description,
        unit='m',
    )
    workspace_upper_m: tuple[float, ...] = parameter(
        _PLAYBACK['workspace_upper_m'].default,
        description=_PLAYBACK['workspace_upper_m'].description,
        unit='m',
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # Checks the workspace too.
        self.playback()

    def playback(self) -> PlaybackParameters:
        """Return the limits as playback has them."""
        return PlaybackParameters(
            prefix=self.prefix,
            speed_scale=self.speed_scale,
            workspace_lower_m=self.workspace_lower_m,
            workspace_upper_m=self.workspace_upper_m,
        )

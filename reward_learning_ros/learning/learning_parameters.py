"""The configuration of learning: all that decides what is learned from given corrections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from reward_learning_ros.parameters import (
    Parameters,
    from_mapping,
    parameter,
    specifications,
)
from reward_learning_ros.parameters.shared import (
    AT_ONCE,
    BETWEEN_PASSES,
    PAPER,
    beta_parameter,
    dependence_parameter,
    human_model_parameter,
    method_parameter,
    motor_noise_parameter,
    replan_parameter,
    silence_parameter,
)
from reward_learning_ros.playback.configuration import PlaybackParameters

if TYPE_CHECKING:
    from reward_learning_ros.core import Task

# What the paper's model, and independent demonstrations, make of silence.
_ZERO = 'zero'
_ATOM = 'atom'
# What tells sessions that were recorded under a model of the whole pass from those before.
MODEL_KEYS = ('human_model', 'silence', 'motor_noise_m')
# The arm's limits are playback's: a plan that it would refuse is not learned.
_PLAYBACK = specifications(PlaybackParameters)


@dataclass(frozen=True, kw_only=True)
class LearningParameters(Parameters):
    """What is learned, how, and inside which limits the next plan must be."""

    task: str = parameter('press', description='Name of the task')
    method: str = method_parameter()
    dependence: str = dependence_parameter()
    beta: float | None = beta_parameter()
    human_model: str = human_model_parameter()
    silence: str = silence_parameter()
    """After construction never empty."""
    motor_noise_m: float | None = motor_noise_parameter()
    """After construction never None."""
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
        100.0,
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
        8000,
        description='Draws of each chain at which sampling ends, converged or not; from 1000 on '
        'it ends as soon as the posterior can be trusted',
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
    hand: bool = parameter(True, description=_PLAYBACK['hand'].description)
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
        self._resolve_model()
        # Checks the workspace too.
        self.playback()

    def inference_options(self) -> dict[str, Any]:
        """Return what `core.infer` is to assume of the person, and by which method."""
        options = {**self._model_options(), 'silence': self.silence}
        if self.dependence == 'independent':
            # Demonstrations, each for itself, are neither silent nor an effort.
            options.pop('alpha', None)
            if self.silence == _ATOM:
                options['silence'] = _ZERO
        if options['silence'] != _ATOM:
            options.pop('bother', None)
        if self.beta is not None:
            options['beta'] = self.beta
        return {
            **options,
            'method': self.method,
            'dependence': self.dependence,
            'gamma': self.gamma,
            'effort': self.effort,
        }

    def softened(self, task: Task) -> Task:
        """Return a task with the features of what a hand can mean; itself if it has them."""
        assert self.motor_noise_m is not None
        if task.motor_noise_m == self.motor_noise_m:
            return task
        return _softened(task, self.motor_noise_m)

    def _model_options(self) -> Mapping[str, Any]:
        from reward_learning_ros import core

        return {} if self.human_model == PAPER else core.PASS_MODEL

    def _resolve_model(self) -> None:
        """Put what the human model says where nothing else was chosen."""
        from reward_learning_ros import core

        if not self.silence:
            said = self._model_options().get('silence', _ZERO)
            object.__setattr__(self, 'silence', said)
        if self.motor_noise_m is None:
            noise_m = 0.0 if self.human_model == PAPER else core.MOTOR_NOISE_M
            object.__setattr__(self, 'motor_noise_m', noise_m)

    def playback(self) -> PlaybackParameters:
        """Return the limits as playback has them."""
        return PlaybackParameters(
            prefix=self.prefix,
            hand=self.hand,
            speed_scale=self.speed_scale,
            workspace_lower_m=self.workspace_lower_m,
            workspace_upper_m=self.workspace_upper_m,
        )


def parameters_as_recorded(mapping: Mapping[str, Any]) -> LearningParameters:
    """Return how a session learned, from the parameters of its inference in `session.yaml`.

    Sessions that were recorded before passes were data name no human model: theirs was the
    paper's, with sharp features and silence as a delta of zero.

    Args:
        mapping: the parameters; those that do not concern learning are passed over.

    Raises:
        ParameterError: A value is refused.
    """
    known = specifications(LearningParameters)
    given = {name: value for name, value in mapping.items() if name in known}
    if not any(name in given for name in MODEL_KEYS):
        given['human_model'] = PAPER
    return from_mapping(LearningParameters, given)


@lru_cache(maxsize=8)
def _softened(task: Task, motor_noise_m: float) -> Task:
    """Keep softened tasks: each compiles its features."""
    return task.softened(motor_noise_m)


__all__ = ['AT_ONCE', 'BETWEEN_PASSES', 'RewardInferenceParameters']


@dataclass(frozen=True, kw_only=True)
class RewardInferenceParameters(LearningParameters):
    """What is learned, how, and when the plan is replaced."""

    replan: str = replan_parameter()
    infers_ahead: bool = parameter(
        True,
        description='Whether it is inferred during a pass, once for all that was told, what '
        'follows if nobody pushes any more: then the next plan is there when the pass ends',
    )
    live_belief: bool = parameter(
        True,
        description='Whether θ is also published while a person pushes, from tables that a '
        'process of its own makes for each plan; what is learned and kept is the same without',
    )
    bag: str = parameter(
        '',
        description="The session's recording: if it is there already, what was learned before is "
        'taken from it',
    )

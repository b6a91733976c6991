"""What is assumed in an analysis of the published study; quick to import, for `--help`."""

from __future__ import annotations

from dataclasses import dataclass

from reward_learning_ros.parameters import Parameters, parameter

METHODS = ('double_mh', 'ignore', 'sampling', 'maximum')
DEPENDENCES = ('dependent', 'independent')


@dataclass(frozen=True, kw_only=True)
class PublishedParameters(Parameters):
    """Parameters with which the published study is inferred again.

    The defaults are the paper's model and the best of those that docs/published_study.md compares.
    """

    method: str = parameter(
        'double_mh', description='How the normalizer is dealt with', choices=METHODS
    )
    dependence: str = parameter(
        'dependent', description='Whether a correction builds on those before', choices=DEPENDENCES
    )
    beta: float | None = parameter(
        None, description='Rationality; inferred if unset', minimum=1e-3, maximum=1e4
    )
    gamma: float = parameter(
        1.0, description='Discount of earlier trajectories', minimum=0.0, maximum=1.0
    )
    effort: float = parameter(
        1.0, description='Weight of the squared length of a correction', minimum=0.0, maximum=1e6
    )
    domain: str = parameter(
        'unit_nonnegative',
        description='Where θ may be: vectors of length one without negative weights, as the '
        'participants were shown, or the box of the published samplers',
        choices=('box', 'unit', 'unit_nonnegative'),
    )
    seed: int = parameter(0, description='Of all random numbers', minimum=0)

"""A recorded session once more: its plans and corrections are played, and learned from live."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reward_learning_ros.learning.learning_parameters import (
    RewardInferenceParameters,
)
from reward_learning_ros.parameters import Parameters, from_mapping, parameter
from reward_learning_ros.session.folder import SessionFolder
from reward_learning_ros.session.node_parameters import BagPlayerParameters
from reward_learning_ros.session.session_description import NodeDescription, SessionDescription

_INFERENCE = 'reward_inference'
# Of the recorded node: its time, and where it went on from.
_NOT_REPLAYED = ('bag', 'use_sim_time')


@dataclass(frozen=True, kw_only=True)
class ReplayParameters(Parameters):
    """Which recorded session is replayed, and what is learned differently."""

    folder: str = parameter(description='Folder of the session')
    rate: float = parameter(
        1.0,
        description='Seconds of the recording per second; 0 is as fast as possible',
        minimum=0.0,
        maximum=1000.0,
    )
    play: bool = parameter(
        True, description='Whether to play the recording; otherwise `ros2 bag play` does'
    )
    method: str = parameter('', description='Sampler; empty is that of the session')
    dependence: str = parameter('', description='Kind of corrections; empty is as in the session')
    namespace: str = parameter(
        'replay',
        description='Namespace of all nodes: apart from a session that runs',
        is_namespace=True,
    )


def describe_replay(config: ReplayParameters) -> SessionDescription:
    """Return the nodes that play a session's recording and learn from it.

    Raises:
        InvalidInputError: The folder holds no session, or a parameter is refused.
    """
    folder = SessionFolder(path=Path(config.folder).absolute())
    recorded: dict[str, Any] = folder.read()['nodes'][_INFERENCE]['parameters']
    learning = {name: value for name, value in recorded.items() if name not in _NOT_REPLAYED}
    learning |= {
        name: getattr(config, name) for name in ('method', 'dependence') if getattr(config, name)
    }
    from_mapping(RewardInferenceParameters, learning)
    nodes = [
        NodeDescription(
            executable=_INFERENCE,
            name=_INFERENCE,
            namespace=config.namespace,
            parameters=learning,
        )
    ]
    if config.play:
        playing = {'bag': str(folder.bag), 'rate': config.rate}
        from_mapping(BagPlayerParameters, playing)
        nodes.append(
            NodeDescription(
                executable='bag_player',
                name='bag_player',
                namespace=config.namespace,
                parameters=playing,
                # The plans of then; those that follow from what is learned now are `plan`.
                remappings=(('plan', 'recorded/plan'),),
            )
        )
    return SessionDescription(nodes=tuple(nodes))

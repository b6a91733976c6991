"""Asks the nodes of a session, by their parameters, which session they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import GetParameters
from rclpy.node import Node

from reward_learning_ros.console.snapshot import SessionFacts
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.session.folder import SessionFolder

# Which parameters of which node.
_WANTED: Mapping[str, tuple[str, ...]] = {
    'session_conductor': ('consent', 'max_passes', 'bag'),
    'reward_inference': ('task', 'prefix', 'hand'),
}


class FactsOfSession:
    """Asks until all have answered, and again when a node was started again.

    Args:
        node: Asks.
        on_facts: Is told the facts once all are known.
    """

    def __init__(self, node: Node, on_facts: Callable[[SessionFacts], None]) -> None:
        self._on_facts = on_facts
        self._asked = {
            name: node.create_client(GetParameters, f'{name}/get_parameters') for name in _WANTED
        }
        self._known: dict[str, Any] = {}
        self._open: set[str] = set(_WANTED)

    def forget(self) -> None:
        """Ask all of them again: a node was started."""
        self._open = set(_WANTED)

    def ask(self) -> None:
        """Ask those who have not answered, if they are there."""
        for name in tuple(self._open):
            client = self._asked[name]
            if client.service_is_ready():
                request = GetParameters.Request(names=list(_WANTED[name]))
                client.call_async(request).add_done_callback(
                    lambda future, name=name: self._on_answer(name, future.result())
                )

    def _on_answer(self, name: str, response: Any) -> None:
        for wanted, value in zip(_WANTED[name], response.values, strict=False):
            self._known[wanted] = _plain(value)
        was_open = bool(self._open)
        self._open.discard(name)
        if was_open and not self._open:
            self._on_facts(_facts(self._known))


def _plain(value: Any) -> Any:
    return {
        ParameterType.PARAMETER_BOOL: value.bool_value,
        ParameterType.PARAMETER_INTEGER: value.integer_value,
        ParameterType.PARAMETER_DOUBLE: value.double_value,
        ParameterType.PARAMETER_STRING: value.string_value,
    }.get(value.type)


def _facts(known: Mapping[str, Any]) -> SessionFacts:
    bag = str(known.get('bag') or '')
    study, participant, trial = _place_of(bag)
    return SessionFacts(
        task=str(known.get('task') or ''),
        bag=bag,
        consent=str(known.get('consent') or ''),
        max_passes=int(known.get('max_passes') or 0),
        prefix=str(known.get('prefix') or 'fr3'),
        hand=known.get('hand') is not False,
        study=study,
        participant=participant,
        trial=trial,
    )


def _place_of(bag: str) -> tuple[str, str, str]:
    """Return study, participant and trial of a recording, where its folder can be read."""
    if not bag:
        return '', '', ''
    folder = SessionFolder(path=Path(bag).parent)
    try:
        config = folder.read_configuration()
    except RewardLearningError:
        return '', '', ''
    return config.study, config.participant, folder.path.name

"""What is generated from the code, by the name that a page marks it with."""

from __future__ import annotations

from collections.abc import Callable

from tools.documents import reference, states, symptoms

FUNCTIONS: dict[str, Callable[[], str]] = {
    'commands': reference.commands,
    'errors': symptoms.all_errors,
    'parameters': reference.parameters,
    'services': reference.services,
    'session-states': states.transitions,
    'symptoms': symptoms.page,
    'topics': reference.topics,
}

"""What a study's journal keeps besides what became of trials: consents, and what was answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.study.journal import Event

# What an event is about.
ENROLLED, TRIAL, CONSENTED, ANSWERED = 'enrolled', 'trial', 'consented', 'answered'


@dataclass(frozen=True, kw_only=True)
class Consent:
    """That a participant consented, never who they are.

    Attributes:
        participant: Their pseudonym.
        version: Of the document.
        sha256: Of the document's content, hexadecimal.
        time: When, ISO 8601.
    """

    participant: str
    version: str
    sha256: str
    time: str


@dataclass(frozen=True, kw_only=True)
class Answered:
    """That a questionnaire was answered; the answers are in the trial's bag.

    Attributes:
        participant: Their pseudonym.
        trial: The trial that was the last one before it.
        session_number: Of the session in whose bag the answers are.
        questionnaire: Its name.
        digest: Of its content.
        time: When it was noted, ISO 8601.
    """

    participant: str
    trial: int
    session_number: int
    questionnaire: str
    digest: str
    time: str


_Kept = TypeVar('_Kept', Consent, Answered)


def kept(kind: type[_Kept], event: Event) -> _Kept:
    """Return what is kept of an event.

    Raises:
        InvalidInputError: The event lacks something.
    """
    try:
        return kind(**{field.name: event[field.name] for field in fields(kind)})
    except KeyError as error:
        raise InvalidInputError(
            f'an event {event.get("event")!r} of the journal has no {error}'
        ) from error


def consents_in(events: Sequence[Event]) -> dict[str, Consent]:
    """Return the last consent of each participant who gave one."""
    given = (kept(Consent, event) for event in events if event.get('event') == CONSENTED)
    return {consent.participant: consent for consent in given}


def answered_in(events: Sequence[Event]) -> tuple[Answered, ...]:
    """Return which questionnaires were answered, in order."""
    return tuple(kept(Answered, event) for event in events if event.get('event') == ANSWERED)

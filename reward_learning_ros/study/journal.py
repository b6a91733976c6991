"""A journal that several processes append to: nothing is lost, whenever one of them dies.

One line of JSON for each event. A line is written and brought to the disk under a lock, and counts
once its line break is there; what a process that died left half-written is cut off by the next.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from reward_learning_ros.core.errors import InvalidInputError

Event = dict[str, Any]


class Journal:
    """An append-only file of a study's events that several processes may write."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> list[Event]:
        """Return the events so far.

        Raises:
            InvalidInputError: Somebody else wrote into the file.
        """
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InvalidInputError(f'cannot read {self._path}: {error.strerror}') from error
        return self._parse(content)

    def append(self, decide: Callable[[list[Event]], Event]) -> Event:
        """Append one event and return it, on the disk when this returns.

        Args:
            decide: Given all events so far, returns the next one or raises an error. Nobody else
                can append meanwhile, so what it decides on still holds when it is written.
        """
        with self._locked() as file:
            content = file.read()
            whole = content.rfind(b'\n') + 1
            event = decide(self._parse(content[:whole]))
            line = json.dumps(event, ensure_ascii=False, allow_nan=False).encode() + b'\n'
            if whole < len(content):
                file.truncate(whole)
            # Unbuffered, and at its end: one write of the whole line.
            if file.write(line) != len(line):
                raise OSError(f'{self._path}: the disk is full')
            os.fsync(file.fileno())
        return event

    @contextmanager
    def _locked(self) -> Iterator[Any]:
        try:
            is_new = not self._path.exists()
            with self._path.open('a+b', buffering=0) as file:
                # Given back when the file is closed, also by a process that dies.
                fcntl.flock(file, fcntl.LOCK_EX)
                if is_new:
                    sync_directory(self._path.parent)
                file.seek(0)
                yield file
        except OSError as error:
            raise InvalidInputError(f'cannot write {self._path}: {error}') from error

    def _parse(self, content: bytes) -> list[Event]:
        events = []
        # What follows the last line break is still being written, or will never be.
        for number, line in enumerate(content.split(b'\n')[:-1], 1):
            try:
                event = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InvalidInputError(
                    f'{self._path}, line {number} is not an event: {error}'
                ) from error
            if not isinstance(event, dict):
                raise InvalidInputError(f'{self._path}, line {number} is not an event')
            events.append(event)
        return events


def sync_directory(path: Path) -> None:
    """Flush a directory's entries to the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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
    """Return the record of a journal's event.

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

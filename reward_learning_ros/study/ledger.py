"""A study under way: what each participant has done, does and will do next."""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reward_learning_ros.core.errors import (
    InvalidInputError,
    RewardLearningError,
    UnknownNameError,
)
from reward_learning_ros.study.journal import (
    ANSWERED,
    CONSENTED,
    ENROLLED,
    TRIAL,
    Answered,
    Consent,
    Event,
    Journal,
    answered_in,
    consents_in,
    kept,
    sync_directory,
)
from reward_learning_ros.study.protocol import (
    Protocol,
    Trial,
    check_name,
    check_version,
    protocol_text,
    read_protocol,
)

PLANNED = 'planned'
RUNNING = 'running'
DONE = 'done'
ABORTED = 'aborted'
EXCLUDED = 'excluded'
STATES = (PLANNED, RUNNING, DONE, ABORTED, EXCLUDED)
# What may become of a trial in each state.
TRANSITIONS = {
    PLANNED: (RUNNING, EXCLUDED),
    RUNNING: (DONE, ABORTED, EXCLUDED),
    DONE: (EXCLUDED,),
    # An aborted trial is done again.
    ABORTED: (RUNNING, EXCLUDED),
    # An exclusion may turn out to be wrong.
    EXCLUDED: (PLANNED, DONE),
}
NEEDS_REASON = (ABORTED, EXCLUDED)
# The sessions of an aborted trial's repetitions: 3, 103, 203 …
ATTEMPT_STEP = 100
MAX_ATTEMPTS = 9

PROTOCOL_FILE = 'study.yaml'
JOURNAL_FILE = 'journal.jsonl'


class NothingLeftError(RewardLearningError):
    """No trial of the study is left to be started."""


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """A trial and what became of it.

    Attributes:
        trial: As planned.
        state: One of `STATES`.
        reason: Why it was aborted or excluded.
        attempts: How often it was started.
        changed: When it came into its state, ISO 8601; empty if it is as planned.
    """

    trial: Trial
    state: str = PLANNED
    reason: str = ''
    attempts: int = 0
    changed: str = ''

    @property
    def session_number(self) -> int:
        """The number of the session of its last attempt, or of the next if it is open."""
        before = self.attempts if self.is_open else max(0, self.attempts - 1)
        return self.trial.number + ATTEMPT_STEP * before

    @property
    def is_open(self) -> bool:
        """Whether it is still to be started."""
        return self.state in (PLANNED, ABORTED)


class Ledger:
    """A study's folder: its protocol, and a journal of what happened.

    All that is ever written, after the protocol, is one line of the journal at a time, decided
    under a lock: two operators at once cannot start the same trial, and no crash leaves the study
    half-changed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.protocol, self._fingerprint = read_protocol(folder / PROTOCOL_FILE)
        self._journal = Journal(folder / JOURNAL_FILE)

    @classmethod
    def create(cls, protocol: Protocol, folder: Path) -> Ledger:
        """Begin a study in a folder, which must not have one.

        Raises:
            InvalidInputError: There is a study already, or the folder cannot be written.
        """
        temporary = folder / f'.{PROTOCOL_FILE}.{os.getpid()}'
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with temporary.open('w', encoding='utf-8') as file:
                file.write(protocol_text(protocol))
                file.flush()
                os.fsync(file.fileno())
            try:
                # Unlike a renaming, a link never takes the place of another study.
                os.link(temporary, folder / PROTOCOL_FILE)
            finally:
                temporary.unlink()
            sync_directory(folder)
        except FileExistsError:
            raise InvalidInputError(f'there is a study in {folder} already') from None
        except OSError as error:
            raise InvalidInputError(f'cannot write the study {folder}: {error}') from error
        return cls(folder)

    def records(self) -> dict[str, tuple[TrialRecord, ...]]:
        """Return the trials of each participant, in the order of enrolment."""
        return self._replay(self._journal.read())

    def next(self, participant: str | None = None) -> TrialRecord:
        """Return the trial that comes next, for a participant or for anybody who is free.

        Raises:
            NothingLeftError: There is none.
            InvalidInputError: The participant is in the middle of a trial.
        """
        return _choose(self.records(), participant)

    def start(self, participant: str | None = None) -> TrialRecord:
        """Begin the trial that comes next, and return it as it is now."""

        def decide(events: list[Event]) -> Event:
            records = self._replay(events)
            chosen = _choose(records, participant).trial
            self._require_consent(events, chosen.participant)
            return self._event(records, chosen.participant, chosen.number, RUNNING, '')

        event = self._journal.append(decide)
        return self.record(event['participant'], event['trial'])

    def mark(self, participant: str, number: int, state: str, reason: str = '') -> TrialRecord:
        """Note what became of a trial, and return it as it is now.

        Raises:
            InvalidInputError: There is no such trial, or this cannot become of it.
        """

        def decide(events: list[Event]) -> Event:
            if state == RUNNING:
                self._require_consent(events, participant)
            return self._event(self._replay(events), participant, number, state, reason)

        self._journal.append(decide)
        return self.record(participant, number)

    def enrol(self, participant: str) -> tuple[TrialRecord, ...]:
        """Add a participant, and return their trials."""
        check_name('participant', participant)

        def decide(events: list[Event]) -> Event:
            if participant in self._replay(events):
                raise InvalidInputError(f'participant {participant!r} is enrolled already')
            return self._stamped({'event': ENROLLED, 'participant': participant})

        self._journal.append(decide)
        return self.records()[participant]

    def consent(self, participant: str, version: str, document: bytes) -> Consent:
        """Note that a participant consented to a document, and return what is kept of it.

        Raises:
            InvalidInputError: There is no such participant, or the study asks for another version.
        """
        check_version(version)
        wanted = self.protocol.informed_consent
        if wanted and version != wanted:
            raise InvalidInputError(f'version is {version!r}; the study asks for {wanted!r}')

        def decide(events: list[Event]) -> Event:
            self._require_participant(events, participant)
            return self._stamped(
                {
                    'event': CONSENTED,
                    'participant': participant,
                    'version': version,
                    'sha256': hashlib.sha256(document).hexdigest(),
                }
            )

        self._journal.append(decide)
        return self.consents()[participant]

    def consents(self) -> dict[str, Consent]:
        """Return the last consent of each participant who gave one."""
        return consents_in(self._journal.read())

    def note_answered(self, record: TrialRecord, questionnaire: str, digest: str) -> Answered:
        """Note that the answers to a questionnaire are in the bag of a trial."""
        trial = record.trial

        def decide(events: list[Event]) -> Event:
            self._require_participant(events, trial.participant)
            return self._stamped(
                {
                    'event': ANSWERED,
                    'participant': trial.participant,
                    'trial': trial.number,
                    'session_number': record.session_number,
                    'questionnaire': questionnaire,
                    'digest': digest,
                }
            )

        return kept(Answered, self._journal.append(decide))

    def answered(self) -> tuple[Answered, ...]:
        """Return which questionnaires were answered, in order."""
        return answered_in(self._journal.read())

    def participant_records(self, participant: str) -> tuple[TrialRecord, ...]:
        """Return the trials of one participant.

        Raises:
            UnknownNameError: There is no such participant.
        """
        records = self.records()
        if participant not in records:
            raise UnknownNameError('participant', participant, records)
        return records[participant]

    def record(self, participant: str, number: int) -> TrialRecord:
        """Return one trial as it is now."""
        return _find(self.records(), participant, number)

    def _require_participant(self, events: Sequence[Event], participant: str) -> None:
        records = self._replay(events)
        if participant not in records:
            raise UnknownNameError('participant', participant, records)

    def _require_consent(self, events: Sequence[Event], participant: str) -> None:
        """Refuse a trial of somebody who has not consented to what the study asks for."""
        self._require_participant(events, participant)
        wanted = self.protocol.informed_consent
        given = consents_in(events).get(participant)
        if wanted and (given is None or given.version != wanted):
            raise InvalidInputError(
                f'{participant} has not consented to version {wanted!r} of the study; note it '
                'with `reward_learning study consent`'
            )

    def _event(
        self,
        records: dict[str, tuple[TrialRecord, ...]],
        participant: str,
        number: int,
        state: str,
        reason: str,
    ) -> Event:
        before = _find(records, participant, number)
        if state not in STATES:
            raise UnknownNameError('state', state, STATES)
        name = f'trial {number} of {participant}'
        if state not in TRANSITIONS[before.state]:
            raise InvalidInputError(
                f'{name} is {before.state}; it can become '
                f'{" or ".join(TRANSITIONS[before.state])}, not {state}'
            )
        if state == DONE and not before.attempts:
            raise InvalidInputError(f'{name} was never started; it cannot be done')
        if state in NEEDS_REASON and not reason.strip():
            raise InvalidInputError(f'{name} cannot be {state} without a reason')
        if state == RUNNING:
            running = [each for each in records[participant] if each.state == RUNNING]
            if running:
                raise InvalidInputError(_is_running(running[0]))
            if before.attempts >= MAX_ATTEMPTS:
                raise InvalidInputError(f'{name} was started {before.attempts} times already')
        return self._stamped(
            {
                'event': TRIAL,
                'participant': participant,
                'trial': number,
                'state': state,
                'reason': reason.strip(),
            }
        )

    def _stamped(self, event: Event) -> Event:
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec='seconds')
        return {'time': now, **event, 'protocol': self._fingerprint}

    def _replay(self, events: Sequence[Event]) -> dict[str, tuple[TrialRecord, ...]]:
        """Return where the events lead."""
        records = {
            name: self._planned(name, place)
            for place, name in enumerate(self.protocol.participants)
        }
        for line, event in enumerate(events, 1):
            if event.get('protocol') != self._fingerprint:
                raise InvalidInputError(
                    f'{self.folder / PROTOCOL_FILE} was changed after the study had begun; the '
                    'orders of its trials no longer hold: put it back as it was'
                )
            try:
                participant = event['participant']
                if event['event'] in (CONSENTED, ANSWERED):
                    continue
                if event['event'] == ENROLLED:
                    records[participant] = self._planned(participant, len(records))
                    continue
                index = event['trial'] - 1
                before = records[participant][index]
                after = replace(
                    before,
                    state=event['state'],
                    reason=event['reason'],
                    attempts=before.attempts + (event['state'] == RUNNING),
                    changed=event['time'],
                )
            except (KeyError, IndexError, TypeError) as error:
                raise InvalidInputError(
                    f'{self.folder / JOURNAL_FILE}, line {line} does not fit the study: {error!r}'
                ) from error
            own = records[participant]
            records[participant] = (*own[:index], after, *own[index + 1 :])
        return records

    def _planned(self, participant: str, place: int) -> tuple[TrialRecord, ...]:
        return tuple(
            TrialRecord(trial=trial) for trial in self.protocol.trials(participant, place)
        )


def _choose(records: dict[str, tuple[TrialRecord, ...]], participant: str | None) -> TrialRecord:
    if participant is not None:
        if participant not in records:
            raise UnknownNameError('participant', participant, records)
        for record in records[participant]:
            if record.state == RUNNING:
                raise InvalidInputError(_is_running(record))
    for name, trials in records.items():
        if participant not in (None, name) or any(each.state == RUNNING for each in trials):
            continue
        for record in trials:
            if record.is_open:
                return record
    whose = 'of the study' if participant is None else f'of {participant}'
    busy = any(each.state == RUNNING for trials in records.values() for each in trials)
    if participant is None and busy:
        raise NothingLeftError('nothing to start: all that is left is running')
    raise NothingLeftError(f'nothing is left: all trials {whose} are done or excluded')


def _find(
    records: dict[str, tuple[TrialRecord, ...]], participant: str, number: int
) -> TrialRecord:
    if participant not in records:
        raise UnknownNameError('participant', participant, records)
    for record in records[participant]:
        if record.trial.number == number:
            return record
    raise InvalidInputError(
        f'{participant} has no trial {number}; allowed: 1 to {len(records[participant])}'
    )


def _is_running(record: TrialRecord) -> str:
    trial = record.trial
    return f'trial {trial.number} of {trial.participant} is running; mark it done or aborted first'

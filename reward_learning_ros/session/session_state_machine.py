"""What a session does next: a table of states and events, and consent; no ROS.

The arm moves only by consent. A consent is given for one motion (begin a pass, go on after a hold,
go home) in the situation that it answers, and is used at once: playback is asked, and whether it
grants, refuses or does not answer in time, the consent is gone. Nothing keeps one for later.

Where `consent` is `none`, as in a simulated session, the session gives each consent itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.core.text import without_numbers
from reward_learning_ros.interface import (
    PlaybackState,
    PlaybackStatus,
    SessionEnd,
    SessionState,
    SessionStatus,
)
from reward_learning_ros.interface.plan import NO_PLAN
from reward_learning_ros.session.node_parameters import (
    FIRST_PASS,
    NO_CONSENT,
    SessionConductorParameters,
)
from reward_learning_ros.session.session_transitions import (
    STANDS,
    TRANSITIONS,
    Action,
    Event,
)

# How long playback may take to answer, and then to be seen moving.
ANSWER_TIMEOUT_SEC = 2.0
# Before a session that consents by itself does so again after a refusal.
_OWN_CONSENT_PERIOD_SEC = 1.0
# Before playback that does not stop is asked again.
_STOP_PERIOD_SEC = 1.0
# Playback misses the same nodes, and holds then, which keeps the pass. If it still moves the arm
# after so long, it is asked to stop.
_OWN_HOLD_SEC = 0.5
_PLAYBACK = 'trajectory_playback'
_TO_COME = 'the plan of the next pass is still to come'


class SessionRefusedError(RewardLearningError):
    """The session does not do what it is asked to; says why."""


_S, _E = SessionState, Event
# States in which a consent is being used, and those in which the arm was not yet seen to move.
ASKING = (_S.STARTING, _S.RESUMING, _S.SENDING_HOME)
_UNSEEN = (_S.DEPARTING, _S.RETURNING)
_ENDING = (_S.STOPPING, _S.CONCLUDING)
# What another session machine was in the middle of, when it ended before its session did.
_IN_PASS = (_S.DEPARTING, _S.PLAYING, _S.HOLDING, _S.RESUMING)
_HELD = (PlaybackState.FAULT, PlaybackState.PAUSED)
_OWN_CONSENTS = {_S.READY: _E.BEGIN, _S.AWAY: _E.HOME, _S.HOLDING: _E.CONTINUE}


@dataclass(frozen=True, kw_only=True)
class SessionView:
    """What the session state machine knows of its nodes at one moment.

    Attributes:
        playback: what playback does; None before it was heard.
        missing: nodes that were not heard lately.
        corrections: at how many waypoints somebody pushed.
        is_inferring: whether the plan of the next pass is still to come.
        is_pushing: whether somebody pushes now.
        recording_fault: why what happens now may not be recorded, in words; empty if it is.
    """

    playback: PlaybackStatus | None = None
    missing: tuple[str, ...] = ()
    corrections: int = 0
    is_inferring: bool = False
    is_pushing: bool = False
    recording_fault: str = ''


@dataclass(frozen=True, kw_only=True)
class Request:
    """A numbered request to playback for one action.

    Attributes:
        number: tells this request from those before it.
        action: what is asked for.
    """

    number: int
    action: Action


class SessionMachine:
    """The state machine of a session: takes events and consents, asks playback for motions.

    Attributes:
        state: where in the table it is.
        status: what it does, as it is published.
        is_covered: whether the consent to the first pass still covers the next ones.

    Args:
        config: When to go on, and when to end.
        before: What the session did last, if another machine began it. No consent outlives that.
    """

    def __init__(
        self, config: SessionConductorParameters, before: SessionStatus | None = None
    ) -> None:
        self._config = config
        self.state = _S.WAITING
        if before is not None and before.state in _IN_PASS:
            self.state = _S.HOLDING
        self.status = SessionStatus(state=self.state)
        if before is not None:
            self.status = replace(before, state=self.state, end=None)
        self._view = SessionView()
        self._passes = self.status.passes
        # As many were made before, though nobody may have told of them yet.
        self._corrections_before = self.status.corrections
        # Unknown of a pass that another machine began: it does not count as a quiet one.
        self._corrections_before_pass = -1
        self._was_pushed = False
        self._end: SessionEnd | None = None
        # The latest request, and when playback must have answered it or be seen to move.
        self._request = Request(number=0, action=Action.STOP)
        self._deadline_sec = 0.0
        # Why playback did not do what was consented to last.
        self._refusal = ''
        self._next_own_sec = 0.0
        self._next_stop_sec = 0.0
        # Since when the arm has moved while a node is missing; None if it does not.
        self._unwatched_sec: float | None = None
        # Whether the pass was given up for the way home.
        self._is_pass_over = False
        self.is_covered = False
        # Since when nothing has changed about which consent is wanted, and nothing forbade it.
        self._since_sec = -float('inf')

    def look(self, view: SessionView, now_sec: float) -> Request | None:
        """Take note of what is seen, and return what to ask playback for, if anything."""
        if self.state is _S.ENDED:
            return None
        before = self.state
        self._view = replace(view, corrections=max(view.corrections, self._corrections_before))
        self._was_pushed |= view.is_pushing
        if self._is_last_correction_made():
            self._decide_end(SessionEnd.MAX_CORRECTIONS, _E.LIMIT)
        seen = self._seen()
        if seen is _E.HELD or (seen not in (_E.MOVING, _E.GOING_HOME) and self._obstacle()):
            self.is_covered = False
        self._happen(seen)
        if self.state in (*ASKING, *_UNSEEN) and now_sec >= self._deadline_sec:
            self._refusal = 'it did not answer in time, or did not move'
            self.is_covered = False
            self._happen(_E.TIMEOUT)
        if self.state is not before or self._obstacle():
            self._since_sec = now_sec
        request = None
        if self._must_stop(seen, now_sec):
            request = self._ask_to_stop(now_sec)
        elif self._may_consent(now_sec):
            request = self.consent(_OWN_CONSENTS[self.state], now_sec)
        self._publish()
        return request

    def consent(self, event: Event, now_sec: float, *, asked_sec: float | None = None) -> Request:
        """Use a consent: return what to ask playback for, now.

        Args:
            event: BEGIN, CONTINUE or HOME.
            now_sec: on a clock that never jumps.
            asked_sec: when it was given, on the same clock; by default now.

        Raises:
            SessionRefusedError: It does not answer the present situation; says why.
        """
        if (self.state, event) not in TRANSITIONS:
            raise SessionRefusedError(f'no {event.value} now: {self._situation()}')
        obstacle = self._obstacle()
        if obstacle and event is not _E.BEGIN:
            raise SessionRefusedError(f'no {event.value} now: {obstacle}')
        if asked_sec is not None and asked_sec < self._since_sec:
            raise SessionRefusedError(
                f'no {event.value} now: this was asked before {self._situation()}; ask again'
            )
        action = {_E.BEGIN: Action.START, _E.HOME: Action.HOME}.get(event)
        if action is None:
            if self._must_begin_again() and self._view.is_inferring:
                raise SessionRefusedError(f'no {event.value} now: {_TO_COME}')
            action = Action.START if self._must_begin_again() else Action.RESUME
        # Whatever takes consents away takes it too, also before playback has answered.
        self.is_covered |= event is _E.BEGIN
        self._happen(event)
        self._next_own_sec = now_sec + _OWN_CONSENT_PERIOD_SEC
        self._deadline_sec = now_sec + ANSWER_TIMEOUT_SEC
        self._request = Request(number=self._request.number + 1, action=action)
        self._publish()
        return self._request

    def answer(self, request: Request, refusal: str, now_sec: float) -> Request | None:
        """Take note of playback's answer.

        Args:
            request: what was asked for.
            refusal: why playback refused it, empty if it granted it.
            now_sec: on a clock that never jumps.

        Returns:
            What to ask playback for then, if anything.
        """
        if request.action is Action.STOP:
            return None
        granted = not refusal
        if request is not self._request or self.state not in ASKING:
            # Nobody waits for this motion any more: it stops at once, whatever was asked last.
            return Request(number=self._request.number, action=Action.STOP) if granted else None
        begins_pass = self.state is _S.STARTING
        # Playback that knows no more of a way home begins a pass.
        begins_pass |= request.action is Action.START and self._is_pass_over
        self._refusal = refusal
        self._happen(_E.GRANTED if granted else _E.REFUSED)
        self._deadline_sec = now_sec + ANSWER_TIMEOUT_SEC
        if granted and begins_pass:
            self._begin_pass()
        elif not granted:
            self.is_covered = False
        self._publish()
        return None

    def hand_over(self) -> Request | None:
        """Let another operator take over: no consent of the one before is left.

        Returns:
            What to ask playback for then, if anything: a motion that nobody saw yet stops.
        """
        self.is_covered = False
        is_unseen = self.state in _UNSEEN
        if is_unseen or self.state in ASKING:
            self._happen(_E.TIMEOUT)
        self._publish()
        return Request(number=self._request.number, action=Action.STOP) if is_unseen else None

    @property
    def is_arm_moving(self) -> bool:
        """Whether playback moves the arm. What it told last ends at rest before it is missed."""
        view = self._view
        return (
            view.playback is not None
            and view.playback.state.is_moving
            and _PLAYBACK not in view.missing
        )

    def accept(self) -> None:
        """Take the plan that is shown as what the person wants.

        Raises:
            SessionRefusedError: Nothing was shown yet.
        """
        if self._passes == 0:
            raise SessionRefusedError('there is nothing to accept: no pass has begun')
        # What was told of the pass under way is still learned from.
        self._decide_end(SessionEnd.ACCEPTED, _E.LIMIT)

    def finish(self) -> None:
        """End the session, accepted or not."""
        self._decide_end(SessionEnd.FINISHED, _E.END)

    def _seen(self) -> Event:
        """Return what is seen, the first of the list that is true."""
        view, playback = self._view, self._view.playback
        if view.missing:
            return _E.UNWATCHED if self.is_arm_moving else _E.LOST
        if playback is not None and playback.state.is_moving:
            is_homing = playback.state is PlaybackState.HOMING
            return _E.GOING_HOME if is_homing else _E.MOVING
        if playback is None or playback.plan_stamp_ns == 0:
            return _E.LOST
        if self.state is _S.CONCLUDING and view.is_inferring:
            # What is learned from the last correction is waited for, also while playback holds.
            return _E.BUSY
        if playback.state in _HELD:
            return _E.HELD
        if playback.state is PlaybackState.FINISHED and self.state in (_S.PLAYING, _S.HOLDING):
            return _E.FINISHED
        if view.is_pushing or view.is_inferring:
            return _E.BUSY
        if view.recording_fault and self.state not in _ENDING:
            # A pass that is not recorded is neither begun nor judged; who ends the session may.
            return _E.BUSY
        if playback.is_too_far:
            return _E.TOO_FAR
        return _E.NOT_READY if playback.not_ready else _E.READY

    def _happen(self, event: Event) -> None:
        """Go where the table says, and do what goes with it."""
        before = self.state
        after = TRANSITIONS.get((before, event), before)
        is_in_pass = before in _IN_PASS and not self._is_pass_over
        if event is _E.MOVING and after is _S.PLAYING and not is_in_pass:
            # Somebody asked playback for it without asking the session.
            self._begin_pass()
        if after in (_S.RETURNING, _S.HOMING):
            self._is_pass_over = True
        if before is _S.HOLDING and self._is_pass_over and event in STANDS:
            after = _S.WAITING
        if before is _S.INFERRING and after is _S.WAITING:
            after = self._judge()
        self.state = after

    def _judge(self) -> SessionState:
        """Return where a pass leads that is over, and from which all is learned."""
        has_corrected = self._view.corrections != self._corrections_before_pass
        if self._config.quiet_pass_accepts and not has_corrected and not self._was_pushed:
            self._end = SessionEnd.ACCEPTED
        elif self._passes >= self._config.max_passes:
            self._end = SessionEnd.MAX_PASSES
        return _S.WAITING if self._end is None else _S.ENDED

    def _begin_pass(self) -> None:
        self._passes += 1
        self._is_pass_over = False
        self._corrections_before_pass = self._view.corrections
        self._was_pushed = False

    def _may_consent(self, now_sec: float) -> bool:
        """Tell whether the session gives the consent that is wanted now itself."""
        if self.state not in _OWN_CONSENTS or now_sec < self._next_own_sec:
            return False
        if self._config.consent == FIRST_PASS:
            return self.is_covered and self.state is _S.READY
        if self._config.consent != NO_CONSENT or self._obstacle():
            return False
        if self.state is _S.HOLDING and self._must_begin_again() and self._view.is_inferring:
            return False
        # Somebody paused it, and will resume it.
        playback = self._view.playback
        return playback is not None and playback.state is not PlaybackState.PAUSED

    def _must_stop(self, seen: Event, now_sec: float) -> bool:
        """Tell whether the arm moves and must not."""
        if seen is not _E.UNWATCHED:
            self._unwatched_sec = None
        elif self._unwatched_sec is None:
            self._unwatched_sec = now_sec
        if self.state in _ENDING:
            return seen in (_E.MOVING, _E.GOING_HOME, _E.UNWATCHED)
        return self._unwatched_sec is not None and now_sec - self._unwatched_sec >= _OWN_HOLD_SEC

    def _must_begin_again(self) -> bool:
        """Tell whether the pass was given up: stopped, or playback was restarted.

        Then the next one takes another plan, since one that was played is not played again.
        """
        return self._view.playback is None or self._view.playback.state not in _HELD

    def _ask_to_stop(self, now_sec: float) -> Request | None:
        if now_sec < self._next_stop_sec:
            return None
        self._next_stop_sec = now_sec + _STOP_PERIOD_SEC
        return Request(number=self._request.number, action=Action.STOP)

    def _is_last_correction_made(self) -> bool:
        limit = self._config.max_corrections
        return bool(limit) and self._end is None and self._view.corrections >= limit

    def _decide_end(self, end: SessionEnd, event: Event) -> None:
        if self._end is None:
            self._end = end
        self._happen(event)
        self._publish()

    def _obstacle(self) -> str:
        """Return what forbids that the arm moves, in words; empty if nothing does."""
        view, playback = self._view, self._view.playback
        if view.missing:
            return f'waiting for {", ".join(view.missing)}'
        if playback is None:
            return 'waiting for playback'
        if playback.plan_stamp_ns == 0:
            refused = '' if playback.not_ready == NO_PLAN else playback.not_ready
            return f'waiting for a plan: {refused}' if refused else 'waiting for a plan'
        if view.recording_fault:
            return _recording_fails(view.recording_fault)
        return '' if playback.is_too_far else playback.not_ready

    def _situation(self) -> str:
        """Return the present state in words, with its reason."""
        reason = self._reason()
        return f'the session is {self.state.text}' + (f': {reason}' if reason else '')

    def _reason(self) -> str:
        view, playback = self._view, self._view.playback
        if self.state is _S.READY:
            return '' if self._config.consent == NO_CONSENT else 'session/begin begins the pass'
        if self.state is _S.AWAY:
            return 'too far from the start of the plan; session/home sends the arm home'
        if self.state is _S.INFERRING and view.is_pushing:
            return 'somebody pushes the arm'
        if self.state is _S.HOLDING and not view.missing and playback is not None:
            if playback.state is PlaybackState.FAULT:
                failing = _recording_fails(view.recording_fault)
                return '; '.join(filter(None, (playback.fault, failing)))
            if playback.state is PlaybackState.PAUSED:
                return 'paused'
            where = 'on the way home' if self._is_pass_over else 'in the middle of a pass'
            return f'playback is {playback.state.value} {where}'
        if self.state in (_S.WAITING, _S.HOLDING, _S.INFERRING):
            return self._obstacle()
        # Said at once; the pass that is under way goes on to its end.
        return '' if self.state is _S.ENDED else _recording_fails(view.recording_fault)

    def _publish(self) -> None:
        reason = self._reason()
        if self._refusal and self.state in _OWN_CONSENTS:
            reason = f'{reason}; last time playback refused: {self._refusal}'.lstrip('; ')
        if without_numbers(reason) == without_numbers(self.status.reason):
            # How old a message is changes all the time, and nobody wants to read it each time.
            reason = self.status.reason
        self.status = SessionStatus(
            state=self.state,
            passes=self._passes,
            corrections=max(self._view.corrections, self._corrections_before),
            end=self._end if self.state is _S.ENDED else None,
            reason=reason,
        )


def _recording_fails(fault: str) -> str:
    return f'the recording fails, so no pass begins: {fault}' if fault else ''

"""What a session does next: pass after pass, until the plan is accepted or a limit is reached.

No ROS: what is known comes from outside, and what to do goes there.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import (
    PlaybackState,
    PlaybackStatus,
    SessionEnd,
    SessionState,
    SessionStatus,
)
from reward_learning_ros.nodes.session_conductor_parameters import SessionConductorParameters

_MOVING = (PlaybackState.HOMING, PlaybackState.PLAYING)
_IN_PASS = (SessionState.PLAYING, SessionState.HOLDING)
# Decisions after which an arm that was asked to go home, and was not seen going, is there already.
_HOME_PATIENCE = 20
# State, reason, what to ask for, how it ended.
_Step = tuple[SessionState, str, 'Action | None', 'SessionEnd | None']


class ConductorRefusedError(RewardLearningError):
    """The conductor does not do what it is asked to; says why."""


class Action(enum.Enum):
    """What playback is to be asked for."""

    START = 'start'
    STOP = 'stop'
    RESUME = 'resume'
    HOME = 'home'


@dataclass(frozen=True, kw_only=True)
class SessionView:
    """What is known about the session.

    Attributes:
        playback: what playback does; None before it was heard.
        missing: nodes that were not heard lately.
        corrections: how many were made.
        is_inferring: whether something can still be learned from them.
        is_pushing: whether one is being made.
    """

    playback: PlaybackStatus | None = None
    missing: tuple[str, ...] = ()
    corrections: int = 0
    is_inferring: bool = False
    is_pushing: bool = False


class Conductor:
    """Decides what a session does next.

    Attributes:
        status: what it does.

    Args:
        config: When to go on, and when to end.
        before: What it did last, if another conductor began the session.
    """

    def __init__(
        self, config: SessionConductorParameters, before: SessionStatus | None = None
    ) -> None:
        self._config = config
        self.status = SessionStatus(state=SessionState.WAITING) if before is None else before
        self._passes = self.status.passes
        # As many were made before, though nobody may have told of them yet.
        self._corrections_before = self.status.corrections
        self._wanted_end: SessionEnd | None = None
        self._may_go_on = False
        # Between the start of a pass and its end, also while the arm holds on the way.
        self._is_in_pass = self.status.state in _IN_PASS
        # Whether playback was seen moving since; until then it may not have said so yet.
        self._was_seen_moving = self._is_in_pass
        # Unknown of a pass that another conductor began: it does not count as a quiet one.
        self._corrections_before_pass = -1
        # Whether somebody pushed in this pass, even if no correction came of it.
        self._was_pushed = False
        # From where the arm is, the plan cannot be started: it goes home first.
        self._is_too_far = False
        # How often it was looked since it was asked to go home; None if it does not go there.
        self._looks_on_way_home: int | None = None

    def accept(self) -> None:
        """Take the plan that is shown as what the person wants.

        Raises:
            ConductorRefusedError: Nothing was shown yet.
        """
        if self._passes == 0:
            raise ConductorRefusedError('there is nothing to accept: no pass has begun')
        self._end(SessionEnd.ACCEPTED)

    def finish(self) -> None:
        """End the session, accepted or not."""
        self._end(SessionEnd.FINISHED)

    def go_on(self) -> None:
        """Let the arm move again after it held.

        Raises:
            ConductorRefusedError: It does not hold.
        """
        if self.status.state is not SessionState.HOLDING:
            raise ConductorRefusedError(f'the session is {self.status.state.value}, not holding')
        self._may_go_on = True

    def is_too_far(self) -> None:
        """Take note that playback does not start, because the arm is far from the plan."""
        self._is_too_far = True

    def went_home(self) -> None:
        """Take note that playback lets the arm go home."""
        self._is_too_far = False
        self._looks_on_way_home = 0

    def started(self) -> None:
        """Take note that playback began a pass, or goes on."""
        self._may_go_on = False
        if self._looks_on_way_home is not None:
            return
        self._was_seen_moving = False
        if not self._is_in_pass:
            self._is_in_pass = True
            self._passes += 1
            self._corrections_before_pass = self.status.corrections
            self._was_pushed = False

    def decide(self, view: SessionView) -> Action | None:
        """Take note of what is known, and return what to ask playback for, if anything."""
        if self.status.state is SessionState.ENDED:
            return None
        self._was_pushed |= view.is_pushing
        count = max(view.corrections, self._corrections_before)
        state, reason, action, end = self._next(replace(view, corrections=count))
        self.status = SessionStatus(
            state=state,
            passes=self._passes,
            corrections=count,
            end=end,
            reason=reason,
        )
        return action

    def _next(self, view: SessionView) -> _Step:
        playback = view.playback
        is_moving = playback is not None and playback.state in _MOVING
        limit = self._config.max_corrections
        if limit and view.corrections >= limit and self._wanted_end is None:
            if view.is_inferring:
                # What is learned from the last one is waited for, and no further one is taken.
                action = Action.STOP if is_moving else None
                return SessionState.INFERRING, '', action, None
            self._end(SessionEnd.MAX_CORRECTIONS)
        if self._wanted_end is not None:
            if is_moving:
                return SessionState.PLAYING, 'ending', Action.STOP, None
            return SessionState.ENDED, '', None, self._wanted_end
        if view.missing or playback is None or playback.plan_stamp_ns == 0:
            return self._waiting(view)
        if self._is_on_way_home(playback):
            return SessionState.WAITING, 'the arm goes home', None, None
        if is_moving:
            if not self._is_in_pass:
                # Not started here: by an operator, or by a conductor before this one.
                self.started()
            self._was_seen_moving = True
            return SessionState.PLAYING, '', None, None
        if playback.state is PlaybackState.FINISHED:
            return self._between_passes(view)
        return self._at_rest(playback)

    def _waiting(self, view: SessionView) -> _Step:
        if view.missing:
            reason = f'waiting for {", ".join(view.missing)}'
        elif view.playback is None:
            reason = 'waiting for playback'
        else:
            reason = 'waiting for a plan'
        state = SessionState.HOLDING if self._is_in_pass else SessionState.WAITING
        return state, reason, None, None

    def _between_passes(self, view: SessionView) -> _Step:
        if self._is_in_pass and not self._was_seen_moving:
            return SessionState.PLAYING, '', None, None
        if view.is_pushing:
            return SessionState.PLAYING, 'somebody pushes the arm', None, None
        if view.is_inferring:
            return SessionState.INFERRING, '', None, None
        has_corrected = view.corrections != self._corrections_before_pass
        was_quiet = self._is_in_pass and not has_corrected and not self._was_pushed
        self._is_in_pass = False
        if was_quiet and self._config.quiet_pass_accepts:
            self._end(SessionEnd.ACCEPTED)
        elif self._passes >= self._config.max_passes:
            self._end(SessionEnd.MAX_PASSES)
        if self._wanted_end is not None:
            return SessionState.ENDED, '', None, self._wanted_end
        return SessionState.PLAYING, '', self._begin_pass, None

    @property
    def _begin_pass(self) -> Action:
        return Action.HOME if self._is_too_far else Action.START

    def _is_on_way_home(self, playback: PlaybackStatus) -> bool:
        """Tell whether the arm goes home; one that holds on the way is not said to."""
        looks = self._looks_on_way_home
        if looks is None or playback.state in (PlaybackState.FAULT, PlaybackState.PAUSED):
            return False
        if playback.state is PlaybackState.HOMING:
            self._looks_on_way_home = _HOME_PATIENCE
            return True
        if looks < _HOME_PATIENCE:
            self._looks_on_way_home = looks + 1
            return True
        self._looks_on_way_home = None
        return False

    def _at_rest(self, playback: PlaybackStatus) -> _Step:
        """Decide where the arm stands: before the first pass, or held on the way."""
        action, reason = self._begin_pass, ''
        if playback.state is PlaybackState.FAULT:
            action, reason = Action.RESUME, playback.fault
        elif playback.state is PlaybackState.PAUSED:
            # Somebody paused it, and will resume it.
            return SessionState.HOLDING, 'paused', None, None
        elif self._is_in_pass:
            reason = f'playback is {playback.state.value} in the middle of a pass'
        if reason and not (self._config.recovers or self._may_go_on):
            return SessionState.HOLDING, reason, None, None
        state = SessionState.HOLDING if reason else SessionState.WAITING
        return state, reason, action, None

    def _end(self, end: SessionEnd) -> None:
        if self._wanted_end is None:
            self._wanted_end = end

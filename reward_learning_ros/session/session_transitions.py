"""The states of a session, the events between them, and the table of where each leads."""

from __future__ import annotations

import enum

from reward_learning_ros.interface import SessionState


class Action(enum.Enum):
    """A request to playback: start, resume, home or stop."""

    START = 'start'
    RESUME = 'resume'
    HOME = 'home'
    STOP = 'stop'


class Event(enum.Enum):
    """What happens to a session; its value says it in words."""

    # What is seen of the nodes and the arm: one of these at each look.
    LOST = 'a node or the plan is missing; the arm stands'
    UNWATCHED = 'a node is missing while the arm moves'
    HELD = 'playback holds the arm on its way'
    MOVING = 'the arm moves to a plan, or along it'
    GOING_HOME = 'the arm moves home'
    FINISHED = 'playback has come to the end of the plan'
    BUSY = 'the arm stands; somebody pushes it, inference is not done, or recording fails'
    TOO_FAR = 'the arm stands too far from the start of the plan'
    NOT_READY = 'the arm stands; playback would refuse to start'
    READY = 'the arm stands; playback would start'
    # What an operator asks for. The first three are consents.
    BEGIN = 'consent to a pass'
    CONTINUE = 'consent to going on'
    HOME = 'consent to going home'
    END = 'the session is to end'
    LIMIT = 'nothing more is to be corrected'
    # What playback makes of a consent.
    GRANTED = 'playback grants it'
    REFUSED = 'playback refuses it'
    TIMEOUT = 'playback does not answer, or does not move'


_S, _E = SessionState, Event
_ACTIVE = tuple(state for state in _S if state not in (_S.STOPPING, _S.CONCLUDING, _S.ENDED))

# What is seen of an arm that stands, and that playback does not hold on its way.
STANDS = (_E.BUSY, _E.NOT_READY, _E.TOO_FAR, _E.READY)

# From which state which event leads where. A consent that is not in here is refused; any other
# event that is not in here changes nothing.
TRANSITIONS: dict[tuple[SessionState, Event], SessionState] = {
    (_S.WAITING, _E.READY): _S.READY,
    (_S.WAITING, _E.TOO_FAR): _S.AWAY,
    (_S.WAITING, _E.MOVING): _S.PLAYING,
    (_S.WAITING, _E.HELD): _S.HOLDING,
    (_S.READY, _E.BEGIN): _S.STARTING,
    (_S.READY, _E.LOST): _S.WAITING,
    (_S.READY, _E.UNWATCHED): _S.WAITING,
    (_S.READY, _E.BUSY): _S.WAITING,
    (_S.READY, _E.NOT_READY): _S.WAITING,
    (_S.READY, _E.TOO_FAR): _S.AWAY,
    (_S.READY, _E.MOVING): _S.PLAYING,
    (_S.READY, _E.HELD): _S.HOLDING,
    (_S.STARTING, _E.GRANTED): _S.DEPARTING,
    (_S.STARTING, _E.REFUSED): _S.WAITING,
    (_S.STARTING, _E.TIMEOUT): _S.WAITING,
    (_S.DEPARTING, _E.MOVING): _S.PLAYING,
    (_S.DEPARTING, _E.HELD): _S.HOLDING,
    (_S.DEPARTING, _E.LOST): _S.HOLDING,
    (_S.DEPARTING, _E.UNWATCHED): _S.HOLDING,
    (_S.DEPARTING, _E.TIMEOUT): _S.HOLDING,
    (_S.PLAYING, _E.FINISHED): _S.INFERRING,
    (_S.PLAYING, _E.HELD): _S.HOLDING,
    (_S.PLAYING, _E.LOST): _S.HOLDING,
    (_S.PLAYING, _E.UNWATCHED): _S.HOLDING,
    (_S.PLAYING, _E.BUSY): _S.HOLDING,
    (_S.PLAYING, _E.NOT_READY): _S.HOLDING,
    (_S.PLAYING, _E.TOO_FAR): _S.HOLDING,
    (_S.PLAYING, _E.READY): _S.HOLDING,
    (_S.HOLDING, _E.CONTINUE): _S.RESUMING,
    (_S.HOLDING, _E.HOME): _S.SENDING_HOME,
    (_S.HOLDING, _E.MOVING): _S.PLAYING,
    (_S.HOLDING, _E.FINISHED): _S.INFERRING,
    # Where it was on its way home, and playback knows of that no more: see `_happen`.
    (_S.RESUMING, _E.GRANTED): _S.DEPARTING,
    (_S.RESUMING, _E.REFUSED): _S.HOLDING,
    (_S.RESUMING, _E.TIMEOUT): _S.HOLDING,
    # A pass that is over becomes what its outcome makes of it: see `_judge`.
    (_S.INFERRING, _E.READY): _S.WAITING,
    (_S.INFERRING, _E.NOT_READY): _S.WAITING,
    (_S.INFERRING, _E.TOO_FAR): _S.WAITING,
    (_S.INFERRING, _E.MOVING): _S.PLAYING,
    (_S.INFERRING, _E.HELD): _S.HOLDING,
    (_S.AWAY, _E.HOME): _S.SENDING_HOME,
    (_S.AWAY, _E.READY): _S.READY,
    (_S.AWAY, _E.LOST): _S.WAITING,
    (_S.AWAY, _E.UNWATCHED): _S.WAITING,
    (_S.AWAY, _E.BUSY): _S.WAITING,
    (_S.AWAY, _E.NOT_READY): _S.WAITING,
    (_S.AWAY, _E.MOVING): _S.PLAYING,
    (_S.AWAY, _E.HELD): _S.HOLDING,
    (_S.SENDING_HOME, _E.GRANTED): _S.RETURNING,
    (_S.SENDING_HOME, _E.REFUSED): _S.AWAY,
    (_S.SENDING_HOME, _E.TIMEOUT): _S.AWAY,
    (_S.RETURNING, _E.MOVING): _S.PLAYING,
    (_S.RETURNING, _E.HELD): _S.HOLDING,
    # It was at home already, or is there so soon that nobody saw it move.
    (_S.RETURNING, _E.TIMEOUT): _S.WAITING,
    (_S.HOMING, _E.MOVING): _S.PLAYING,
    (_S.HOMING, _E.HELD): _S.HOLDING,
    (_S.HOMING, _E.LOST): _S.WAITING,
    (_S.HOMING, _E.BUSY): _S.WAITING,
    (_S.HOMING, _E.NOT_READY): _S.WAITING,
    (_S.HOMING, _E.TOO_FAR): _S.WAITING,
    (_S.HOMING, _E.READY): _S.WAITING,
    # An operator may also have asked playback for it; it is no pass.
    **{
        (state, _E.GOING_HOME): _S.HOMING
        for state in _ACTIVE
        if state not in (_S.STARTING, _S.RESUMING, _S.SENDING_HOME, _S.HOMING)
    },
    # Whatever it does, it can be ended. What is learned from the last correction is waited for.
    **{(state, _E.END): _S.STOPPING for state in _ACTIVE},
    (_S.CONCLUDING, _E.END): _S.STOPPING,
    **{(state, _E.LIMIT): _S.CONCLUDING for state in _ACTIVE},
    **{
        (_S.STOPPING, event): _S.ENDED
        for event in (_E.LOST, _E.HELD, _E.BUSY, _E.NOT_READY, _E.TOO_FAR, _E.READY)
    },
    **{
        (_S.CONCLUDING, event): _S.ENDED for event in (_E.HELD, _E.NOT_READY, _E.TOO_FAR, _E.READY)
    },
}

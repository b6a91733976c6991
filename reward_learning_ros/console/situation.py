"""What a snapshot means to those who look at it: one state, what is possible, how well it goes."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from reward_learning_ros.console.snapshot import SILENT_SEC, Snapshot
from reward_learning_ros.core.text import counted
from reward_learning_ros.interface import PlaybackState, SessionEnd, SessionState

CONDUCTOR = 'session_conductor'
ARM = 'arm'
# The arm says a thousand times a second where it is.
_ARM_SILENT_SEC = 1.0
# What a node takes to start on a busy machine, and is heard again.
_RESTART_SEC = 20.0
# A node that was away for so long is of an earlier session.
FORGOTTEN_SEC = 60.0

# A posterior is trusted by what its chains say of each other (Vehtari et al. 2021).
_MAX_R_HAT = 1.05
_MIN_ESS = 100.0
# A person who waits longer between two passes loses the thread.
_SLOW_SEC = 8.0

_IN_MOTION = (SessionState.DEPARTING, SessionState.PLAYING, SessionState.RETURNING)
_ENDING = (SessionState.STOPPING, SessionState.CONCLUDING)
_ENDS = {
    SessionEnd.ACCEPTED: 'the plan was accepted',
    SessionEnd.MAX_PASSES: 'all passes were shown',
    SessionEnd.MAX_CORRECTIONS: 'enough was corrected',
    SessionEnd.FINISHED: 'the operator ended it',
}


class Light(enum.Enum):
    """The state of a session, each with a colour of its own."""

    SILENT = 'silent'
    WAITING = 'waiting'
    READY = 'ready'
    MOVING = 'moving'
    PUSHED = 'pushed'
    HELD = 'held'
    INFERRING = 'inferring'
    ENDED = 'ended'


@dataclass(frozen=True, kw_only=True)
class Headline:
    """The state of a session in one line, with its light.

    Attributes:
        light: its colour.
        title: what is going on, in a few words.
        detail: why, or what is waited for; may be empty.
    """

    light: Light
    title: str
    detail: str = ''


class Act(enum.Enum):
    """What an operator can ask for; the value is the service in lower case."""

    BEGIN = 'session/begin'
    PAUSE = 'playback/pause'
    CONTINUE = 'session/continue'
    HOME = 'session/home'
    ACCEPT = 'session/accept'
    UNDO = 'inference/undo'
    FINISH = 'session/finish'
    STOP = 'playback/stop'
    RECOVER = 'session/recover'
    HAND_OVER = 'session/hand_over'
    ZERO = 'recorder/zero'


@dataclass(frozen=True, kw_only=True)
class Possibility:
    """Whether a request is possible now, and why not.

    Attributes:
        act: what.
        obstacle: why not; empty if it can.
    """

    act: Act
    obstacle: str = ''


class Grade(enum.Enum):
    """Grades of a judgement, from good to bad."""

    GOOD = 'good'
    FAIR = 'fair'
    BAD = 'bad'
    UNKNOWN = 'unknown'


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """One judgement about a session, such as on its posterior: a grade and a text."""

    name: str
    grade: Grade
    text: str


def headline(snapshot: Snapshot, now_sec: float) -> Headline:
    """Return the state of the session; the first of these that is true."""
    session = snapshot.session
    if session is None:
        return Headline(
            light=Light.SILENT,
            title='No session',
            detail='nothing is heard of a session in this ROS domain',
        )
    if session.state is SessionState.ENDED:
        end = _ENDS.get(session.end, '') if session.end is not None else ''
        return Headline(light=Light.ENDED, title='The session has ended', detail=end)
    if (silence := _silence(snapshot, now_sec)) is not None:
        return silence
    if (stopped := _arm_obstacle(snapshot)) is not None:
        return Headline(light=Light.HELD, title='The arm has stopped', detail=stopped)
    if session.state is SessionState.HOLDING:
        return Headline(light=Light.HELD, title='The arm holds', detail=session.reason)
    if session.state in _ENDING:
        return Headline(light=Light.WAITING, title='The session ends', detail=session.reason)
    if snapshot.recorder is not None and snapshot.recorder.in_contact:
        return Headline(
            light=Light.PUSHED, title='Somebody pushes the arm', detail=_progress(snapshot)
        )
    if session.state in (*_IN_MOTION, SessionState.HOMING):
        return Headline(light=Light.MOVING, title=_motion(snapshot), detail=_progress(snapshot))
    if session.state is SessionState.INFERRING:
        return Headline(
            light=Light.INFERRING,
            title='Learning from the pass',
            detail=session.reason or 'the next plan is on its way',
        )
    if session.state is SessionState.READY:
        return Headline(
            light=Light.READY,
            title=f'Ready for pass {session.passes + 1}',
            detail='' if snapshot.facts.consent == 'none' else 'the arm waits for your consent',
        )
    if session.state is SessionState.AWAY:
        return Headline(
            light=Light.WAITING, title='The arm must go home first', detail=session.reason
        )
    titles = {
        SessionState.STARTING: 'Playback is asked to begin',
        SessionState.RESUMING: 'Playback is asked to go on',
        SessionState.SENDING_HOME: 'Playback is asked to go home',
    }
    return Headline(
        light=Light.WAITING, title=titles.get(session.state, 'Waiting'), detail=session.reason
    )


def possibilities(snapshot: Snapshot, now_sec: float) -> dict[Act, Possibility]:
    """Return for each act whether it can be asked for now, and why not."""
    return {act: Possibility(act=act, obstacle=_obstacle(snapshot, act, now_sec)) for act in Act}


def node_judgements(snapshot: Snapshot, now_sec: float) -> tuple[Judgement, ...]:
    """Return for each node of the session whether it is alive."""
    return tuple(
        Judgement(name=name, grade=Grade.BAD, text=f'silent for {age_sec:.0f} s')
        if _is_long(name, age_sec)
        else Judgement(name=name, grade=Grade.GOOD, text='alive')
        for name, age_sec in sorted(_ages_sec(snapshot, now_sec).items())
    )


def inference_judgements(snapshot: Snapshot) -> tuple[Judgement, ...]:
    """Return how far θ can be trusted, and how long the inference took."""
    status = snapshot.inference
    if status is None or not status.quality:
        return (
            Judgement(name='Posterior', grade=Grade.UNKNOWN, text='nothing was learned yet'),
            Judgement(name='Latency', grade=Grade.UNKNOWN, text='no inference yet'),
        )
    r_hat = _number(status.quality.get('max_r_hat'))
    ess = _number(status.quality.get('min_ess_bulk'))
    took_sec = _number(status.quality.get('duration_sec'))
    return (_posterior(status.fault, status.reasons, r_hat, ess), _latency(took_sec))


def _posterior(
    fault: str, reasons: tuple[str, ...], r_hat: float | None, ess: float | None
) -> Judgement:
    numbers = ', '.join(
        text
        for text in (
            '' if r_hat is None else f'R̂ {r_hat:.3f}',
            '' if ess is None else f'{ess:.0f} effective draws',
        )
        if text
    )
    if fault:
        return Judgement(name='Posterior', grade=Grade.BAD, text=fault)
    if reasons:
        return Judgement(name='Posterior', grade=Grade.BAD, text='; '.join(reasons))
    if (r_hat is not None and not r_hat <= _MAX_R_HAT) or (
        ess is not None and not ess >= _MIN_ESS
    ):
        return Judgement(name='Posterior', grade=Grade.FAIR, text=f'rough: {numbers}')
    return Judgement(name='Posterior', grade=Grade.GOOD, text=f'trusted: {numbers}')


def _latency(took_sec: float | None) -> Judgement:
    if took_sec is None:
        return Judgement(name='Latency', grade=Grade.UNKNOWN, text='not told')
    grade = Grade.GOOD if took_sec <= _SLOW_SEC else Grade.FAIR
    return Judgement(name='Latency', grade=grade, text=f'inferred in {took_sec:.1f} s')


def _number(text: str | None) -> float | None:
    try:
        number = float(text or '')
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _ages_sec(snapshot: Snapshot, now_sec: float) -> dict[str, float]:
    """Return how long ago each node was heard, and the arm, which has no heartbeat but a state."""
    ages = {name: now_sec - heard_sec for name, heard_sec in snapshot.beats.items()}
    if snapshot.arm_heard_sec is not None:
        ages[ARM] = now_sec - snapshot.arm_heard_sec
    return {name: age_sec for name, age_sec in ages.items() if age_sec <= FORGOTTEN_SEC}


def _is_silent(snapshot: Snapshot, node: str, now_sec: float) -> bool:
    return node in snapshot.beats and now_sec - snapshot.beats[node] > SILENT_SEC


def _is_long(name: str, age_sec: float) -> bool:
    return age_sec > (_ARM_SILENT_SEC if name == ARM else SILENT_SEC)


def _silence(snapshot: Snapshot, now_sec: float) -> Headline | None:
    """Return which nodes died or hang, and what becomes of it; None if all are heard."""
    ages = _ages_sec(snapshot, now_sec)
    if _is_silent(snapshot, CONDUCTOR, now_sec):
        # Without it there is no session: it is not forgotten.
        ages[CONDUCTOR] = now_sec - snapshot.beats[CONDUCTOR]
    silent = sorted(name for name, age_sec in ages.items() if _is_long(name, age_sec))
    if not silent:
        return None
    if len(silent) == len(ages):
        return Headline(
            light=Light.HELD,
            title='The session is silent',
            detail='none of its nodes is heard: it was killed, or the network is gone. '
            '`reward_learning session --resume FOLDER` goes on with it',
        )
    names = ' and '.join(silent)
    if min(ages[name] for name in silent) < _RESTART_SEC:
        what_next = 'the session starts again what died, and the arm holds until then'
    else:
        what_next = 'it does not come back: its log, in the folder of the session, says why'
    return Headline(light=Light.HELD, title=f'{names} died or hangs', detail=what_next)


def _arm_obstacle(snapshot: Snapshot) -> str | None:
    """Return why the arm follows no commands; None if it does, or nothing is known of it."""
    arm = snapshot.arm
    return None if arm is None or not arm.level.value else arm.message


def _motion(snapshot: Snapshot) -> str:
    session, playback = snapshot.session, snapshot.playback
    state = None if playback is None else playback.state
    if state is PlaybackState.HOMING:
        return 'The arm goes home'
    if state is PlaybackState.APPROACHING:
        return 'The arm goes to the start of the plan'
    number = 0 if session is None else session.passes
    return f'Pass {number}: the arm shows its plan'


def _progress(snapshot: Snapshot) -> str:
    playback = snapshot.playback
    if playback is None or playback.state is not PlaybackState.PLAYING:
        return ''
    return f'{playback.progress * 100.0:.0f} % of the plan'


def _obstacle(snapshot: Snapshot, act: Act, now_sec: float) -> str:
    session, playback = snapshot.session, snapshot.playback
    if session is None:
        return 'no session'
    if session.state is SessionState.ENDED:
        return 'the session has ended'
    if _is_silent(snapshot, CONDUCTOR, now_sec) and act.value.startswith('session/'):
        return 'the session is silent'
    state = session.state.text
    if act is Act.BEGIN:
        if session.state is SessionState.READY:
            return ''
        return _because(f'the session is {state}', session.reason)
    if act is Act.CONTINUE:
        return '' if session.state is SessionState.HOLDING else 'the arm is not held'
    if act is Act.HOME:
        is_away = session.state in (SessionState.AWAY, SessionState.HOLDING)
        return '' if is_away else 'the arm needs not go home'
    if act is Act.ACCEPT:
        return '' if session.passes else 'no pass was shown yet'
    if act is Act.UNDO:
        has_learned = snapshot.inference is not None and snapshot.inference.corrections_ns
        return '' if has_learned else 'nothing was learned yet'
    if act in (Act.PAUSE, Act.STOP):
        is_moving = playback is not None and playback.state.is_moving
        is_paused = playback is not None and playback.state is PlaybackState.PAUSED
        if is_moving or (act is Act.STOP and is_paused):
            return ''
        return 'the arm does not move'
    if act is Act.ZERO:
        is_felt = snapshot.recorder is not None and snapshot.recorder.in_contact
        if playback is not None and playback.state.is_moving:
            return 'the arm moves'
        return '' if is_felt else 'no push is felt'
    if act is Act.RECOVER:
        return '' if _arm_obstacle(snapshot) is not None else 'the arm has not stopped itself'
    return ''


def _because(text: str, reason: str) -> str:
    return f'{text}: {reason}' if reason else text


def passes_text(snapshot: Snapshot) -> str:
    """Return the progress of the session as a text."""
    session = snapshot.session
    if session is None:
        return ''
    of = f' of at most {snapshot.facts.max_passes}' if snapshot.facts.max_passes else ''
    return f'pass {session.passes}{of}, pushed at {counted(session.corrections, "waypoint")}'

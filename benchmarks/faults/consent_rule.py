"""Which of the measured motions of an arm nobody consented to; no ROS.

A consent lets the arm move from when it is asked for, unless it is not used: if the arm rests for
`MAX_REST_SEC`, it is gone. Whatever takes consents away (a stop, a reflex, a killed node, a hold
of playback, the end of a pass) takes those that were given before it. A motion under way may then
go on for as long as that needs to become known, `unnoticed_sec`, and the arm to brake,
`braking_sec`. Once the arm has rested after it became known, it has braked: a motion from rest is
another one. A motion while
somebody pushes the arm, and as long as it then swings, is that person's. Gaps of the arm's time,
in which its process was not let run, do not count as braking or swinging.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

# Playback may take 2 s to answer, 2 s to be seen moving, and 3 s to settle where a plan begins.
MAX_REST_SEC = 7.0
# On a busy machine the clock of the simulated arm may be so far behind the wall's.
CLOCK_LAG_SEC = 0.1
# After a hand let go, a compliant arm swings for so long.
SWING_SEC = 1.0
# An arm that swings stands still for less than this where it turns.
RESTED_SEC = 0.3


@dataclass(frozen=True, kw_only=True)
class Withdrawal:
    """Something that takes consents away.

    Attributes:
        time_sec: when.
        kind: what, in words.
        braking_sec: how long a motion that is under way may go on once it is known.
        unnoticed_sec: how long nobody need know of it.
    """

    time_sec: float
    kind: str
    braking_sec: float
    unnoticed_sec: float = 0.0


@dataclass(frozen=True, kw_only=True)
class UnwantedMotion:
    """A motion that nobody consented to.

    Attributes:
        begin_sec, end_sec: from when to when it was measured.
        max_speed_rad_s: of its fastest joint.
        after: what took the last consent away, in words.
    """

    begin_sec: float
    end_sec: float
    max_speed_rad_s: float
    after: str


@dataclass(kw_only=True)
class ConsentRule:
    """Judges the measured speeds of an arm, in the order of their times.

    Attributes:
        moving_rad_s: what is faster than this is a motion.
        max_gap_sec: between two measured times; a longer one is a gap of the arm's time.
        consents_sec: when consents were given, rising.
        withdrawals: what took them away, in any order.
        pushes_sec: when somebody pushed the arm, rising.
        unwanted: the motions without consent that were found.
    """

    moving_rad_s: float
    max_gap_sec: float
    consents_sec: list[float] = field(default_factory=list)
    withdrawals: list[Withdrawal] = field(default_factory=list)
    pushes_sec: list[float] = field(default_factory=list)
    unwanted: list[UnwantedMotion] = field(default_factory=list)
    # When the arm was last seen moving by consent.
    _moved_sec: float = -float('inf')
    # Since when the arm moves, or moved last, without a rest; and when it was last seen moving.
    _set_off_sec: float = -float('inf')
    _seen_moving_sec: float = -float('inf')
    # When gaps ended, and how much time all of them took by then.
    _gap_ends_sec: list[float] = field(default_factory=list)
    _gaps_sec: list[float] = field(default_factory=lambda: [0.0])
    _last_sec: float | None = None

    def judge(self, times_sec: list[float], speeds_rad_s: list[float]) -> list[UnwantedMotion]:
        """Judge what was measured since the last call; return the motions without consent.

        All consents and withdrawals up to the last of the times must be known by now.
        """
        found: list[UnwantedMotion] = []
        self.withdrawals.sort(key=_time_of)
        self._note_gaps(times_sec)
        for time_sec, speed in zip(times_sec, speeds_rad_s, strict=True):
            if speed <= self.moving_rad_s:
                continue
            rested_sec = time_sec - self._seen_moving_sec
            if rested_sec - self.left_out_sec(self._seen_moving_sec, time_sec) >= RESTED_SEC:
                self._set_off_sec = time_sec
            self._seen_moving_sec = time_sec
            if self._is_pushed(time_sec):
                continue
            after = self._violation(time_sec)
            if not after:
                self._moved_sec = time_sec
            elif found and time_sec - found[-1].end_sec < SWING_SEC:
                last = found[-1]
                found[-1] = UnwantedMotion(
                    begin_sec=last.begin_sec,
                    end_sec=time_sec,
                    max_speed_rad_s=max(last.max_speed_rad_s, speed),
                    after=last.after,
                )
            else:
                found.append(
                    UnwantedMotion(
                        begin_sec=time_sec, end_sec=time_sec, max_speed_rad_s=speed, after=after
                    )
                )
        self.unwanted += found
        return found

    def _note_gaps(self, times_sec: list[float]) -> None:
        for time_sec in times_sec:
            gone_sec = 0.0 if self._last_sec is None else time_sec - self._last_sec
            if gone_sec > self.max_gap_sec:
                self._gap_ends_sec.append(time_sec)
                self._gaps_sec.append(self._gaps_sec[-1] + gone_sec)
            self._last_sec = time_sec

    def left_out_sec(self, begin_sec: float, end_sec: float) -> float:
        """Return how long the gaps are that ended between two times."""
        first = bisect_right(self._gap_ends_sec, begin_sec)
        last = bisect_right(self._gap_ends_sec, end_sec)
        return self._gaps_sec[last] - self._gaps_sec[first]

    def _is_pushed(self, time_sec: float) -> bool:
        index = bisect_right(self.pushes_sec, time_sec + CLOCK_LAG_SEC)
        if index == 0:
            return False
        pushed_sec = self.pushes_sec[index - 1]
        swung_sec = time_sec - pushed_sec - self.left_out_sec(pushed_sec, time_sec)
        return swung_sec < SWING_SEC

    def _violation(self, time_sec: float) -> str:
        """Say why a motion at a time has no consent; empty if it has one."""
        index = bisect_right(self.consents_sec, time_sec + CLOCK_LAG_SEC)
        if index == 0:
            return 'no consent was ever given'
        given_sec = self.consents_sec[index - 1]
        first = bisect_left(self.withdrawals, given_sec, key=_time_of)
        for withdrawal in self.withdrawals[first:]:
            known_sec = withdrawal.time_sec + withdrawal.unnoticed_sec
            if time_sec <= known_sec:
                continue
            gone_sec = time_sec - known_sec - self.left_out_sec(known_sec, time_sec)
            sets_off = self._set_off_sec > known_sec + CLOCK_LAG_SEC
            if sets_off or gone_sec > withdrawal.braking_sec:
                return f'{withdrawal.kind}, {time_sec - withdrawal.time_sec:.2f} s before'
        if time_sec - max(given_sec, self._moved_sec) > MAX_REST_SEC:
            return f'a consent that was not used for {time_sec - given_sec:.1f} s'
        return ''

    def longest_motions(
        self, times_sec: list[float], speeds_rad_s: list[float]
    ) -> dict[str, float]:
        """Return by kind how long the arm moved at most after a withdrawal, in seconds.

        Counted until the next consent or push, without gaps; of times that were judged.
        """
        longest: dict[str, float] = {}
        for withdrawal in self.withdrawals:
            began = bisect_right(times_sec, withdrawal.time_sec)
            until_sec = min(
                (
                    time
                    for time in (*self.consents_sec, *self.pushes_sec)
                    if time > withdrawal.time_sec
                ),
                default=float('inf'),
            )
            last_sec = withdrawal.time_sec
            for index in range(began, len(times_sec)):
                time_sec = times_sec[index]
                if time_sec >= until_sec or time_sec > last_sec + SWING_SEC:
                    break
                if speeds_rad_s[index] > self.moving_rad_s:
                    last_sec = time_sec
            moved_sec = last_sec - withdrawal.time_sec
            moved_sec -= self.left_out_sec(withdrawal.time_sec, last_sec)
            longest[withdrawal.kind] = max(longest.get(withdrawal.kind, 0.0), moved_sec)
        return longest


def _time_of(withdrawal: Withdrawal) -> float:
    return withdrawal.time_sec

"""Which requests to move are too old to be a consent: of before a sleep, or before a stop."""

from __future__ import annotations

from collections.abc import Callable

# A request that is older than this waited while who serves it, or the whole machine, was asleep,
# and who sent it may have given up since.
MAX_REQUEST_AGE_SEC = 1.0
# Where the middleware does not tell how old a request is, none is granted for so long after a
# sleep or a stop: those of before may still be waiting.
_WAKING_SEC = 1.0


class RequestAges:
    """Distinguishes a request that somebody makes now from one that waited in a queue."""

    def __init__(self, *, max_gap_sec: float, clock: Callable[[], float]) -> None:
        """Begin awake.

        Args:
            max_gap_sec: a longer time between two calls of `stay_awake` is a sleep.
            clock: seconds that never jump.
        """
        self._max_gap_sec = max_gap_sec
        self._clock = clock
        self._awake_sec = clock()
        self._woke_sec = -float('inf')
        self._withdrawn_sec = -float('inf')
        self._are_known = True

    def stay_awake(self) -> None:
        """Take note that playback is awake; to be called again and again."""
        now_sec = self._clock()
        if now_sec - self._awake_sec > self._max_gap_sec:
            self._woke_sec = now_sec
        self._awake_sec = now_sec

    def withdraw(self) -> None:
        """Take note that something takes consents away: none that was sent before is left."""
        self._withdrawn_sec = self._clock()

    def refusal(self, age_sec: float | None) -> str | None:
        """Say why a request is no consent, None if it is one.

        Args:
            age_sec: how long ago it was sent; None if that is not known.
        """
        if age_sec is None:
            self._are_known = False
            return self.refuses_all()
        if age_sec > MAX_REQUEST_AGE_SEC:
            return (
                f'this was asked {age_sec:.2f} s ago; allowed: {MAX_REQUEST_AGE_SEC:.2f}; '
                'ask again'
            )
        sent_sec = self._clock() - age_sec
        if sent_sec < self._woke_sec:
            # What came between, such as a stop that was pressed and released, nobody here saw.
            return 'this was asked during a sleep; ask again'
        if sent_sec < self._withdrawn_sec:
            return 'this was asked before the arm was stopped; ask again'
        if age_sec < -MAX_REQUEST_AGE_SEC:
            return (
                f'the clock of who asks is {-age_sec:.2f} s ahead; '
                f'allowed: {MAX_REQUEST_AGE_SEC:.2f}; synchronize the clocks'
            )
        return None

    def refuses_all(self) -> str | None:
        """Say why every request is refused now, None if none is for being old."""
        last_sec = max(self._woke_sec, self._withdrawn_sec)
        if self._are_known or self._clock() >= last_sec + _WAKING_SEC:
            return None
        what = 'asleep' if self._woke_sec >= self._withdrawn_sec else 'stopped'
        return f'it was {what} a moment ago: ask again in a second'

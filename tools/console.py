"""How the tools speak to the person who started them."""

import os
import sys
import time
from typing import List, Tuple

PREFIX = '[environment] '


class ProblemError(Exception):
    """Something is wrong that only the user can mend; the message says how."""


def say(text: str) -> None:
    """Print one line about what is happening, apart from the command's own output."""
    print(PREFIX + text, file=sys.stderr, flush=True)


class Steps:
    """Where a longer work is, in one line: rewritten on a terminal, now and then in a log."""

    log_period_sec = 15.0

    def __init__(self, typical_sec: List[Tuple[str, float]]) -> None:
        """Take the steps in their order, each with what it takes on an ordinary machine."""
        self._typical_sec = typical_sec
        self._index = -1
        self._started_sec = time.monotonic()
        self._logged_sec = 0.0
        self._terminal = sys.stderr.isatty()

    def begin(self) -> None:
        """Go on to the next step."""
        self._index += 1
        self._logged_sec = 0.0
        self.update(0.0)

    def update(self, share: float, detail: str = '') -> None:
        """Show how much of this step is done (0 to 1), and what that is in words."""
        now_sec = time.monotonic()
        name = self._typical_sec[self._index][0]
        line = f'step {self._index + 1} of {len(self._typical_sec)}: {name}'
        line += f' ({detail})' if detail else ''
        line += ', ' + in_words(self.left_sec(now_sec - self._started_sec, share))
        if self._terminal:
            sys.stderr.write('\r\033[K' + (PREFIX + line)[: _columns() - 1])
            sys.stderr.flush()
        elif not self._logged_sec or now_sec - self._logged_sec >= self.log_period_sec:
            self._logged_sec = now_sec
            say(line)

    def left_sec(self, elapsed_sec: float, share: float) -> float:
        """Return how long the rest will take if it goes on as it went so far."""
        times_sec = [time_sec for _, time_sec in self._typical_sec]
        done_sec = sum(times_sec[: self._index]) + min(share, 1.0) * times_sec[self._index]
        # The beginning says little: it counts as if three ordinary seconds had gone before.
        pace = (elapsed_sec + 3.0) / (done_sec + 3.0)
        return (sum(times_sec) - done_sec) * pace

    def close(self) -> None:
        """Leave the terminal's line empty."""
        if self._terminal:
            sys.stderr.write('\r\033[K')
            sys.stderr.flush()


def _columns() -> int:
    """Return how many characters go into a line; a longer one could not be rewritten."""
    try:
        # A pseudo-terminal may not know its width, and says 0.
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        return 80


def in_words(left_sec: float) -> str:
    """Return how long something will still take, no more exactly than can be known."""
    if left_sec < 10.0:
        return 'a few seconds left'
    if left_sec < 90.0:
        return f'about {5 * round(left_sec / 5.0)} s left'
    return f'about {round(left_sec / 60.0)} min left'

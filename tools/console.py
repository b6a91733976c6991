"""How the tools speak to the person who started them."""

import sys


class ProblemError(Exception):
    """Something is wrong that only the user can mend; the message says how."""


def say(text: str) -> None:
    """Print one line about what is happening, apart from the command's own output."""
    print('[environment] ' + text, file=sys.stderr, flush=True)


class Progress:
    """One line of progress: rewritten in place on a terminal, now and then in a log."""

    log_period_sec = 20.0

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._last_logged_sec = 0.0

    def update(self, elapsed_sec: float, text: str) -> None:
        """Show how long the work has been going on, and what it does now."""
        line = f'[environment]   {elapsed_sec:3.0f} s  {text}'
        if self._terminal:
            sys.stderr.write('\r\033[K' + line[:79])
            sys.stderr.flush()
        elif elapsed_sec - self._last_logged_sec >= self.log_period_sec:
            self._last_logged_sec = elapsed_sec
            print(line[:99], file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the terminal's line empty."""
        if self._terminal:
            sys.stderr.write('\r\033[K')
            sys.stderr.flush()

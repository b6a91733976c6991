"""What a session looks like on a terminal, and as plain lines where there is none."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from reward_learning_ros.core.text import counted, without_numbers
from reward_learning_ros.interface import PlaybackStatus, SessionState, SessionStatus, ThetaSummary

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_BAR_WIDTH = 30
# A session that starts, or that infers, waits for less.
_LONG_WAIT_SEC = 30.0


@dataclass(frozen=True, kw_only=True)
class SessionProgress:
    """The statuses that the terminal shows.

    Attributes:
        session: what the session does; None before it was heard.
        playback: what playback does; likewise.
        theta: what was learned; likewise.
        recording_warning: what the recorder warns of; empty if it does not.
    """

    session: SessionStatus | None = None
    playback: PlaybackStatus | None = None
    theta: ThetaSummary | None = None
    recording_warning: str = ''


class SessionTerminal:
    """Shows a session while it runs; to be used as a context.

    On a terminal it is a picture that changes; elsewhere, a line for each change of state.
    """

    def __init__(
        self,
        console: Console,
        title: str,
        logs: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare to show a session.

        Args:
            console: Where to.
            title: What it is.
            logs: Folder of what its nodes say, for who waits long; None if there is none.
            clock: A steady clock, in seconds.
        """
        from rich.live import Live

        self._console = console
        self._title = title
        self._logs = logs
        self._clock = clock
        # What is waited for, since when; None once that was said.
        self._wait = ''
        self._wait_since_sec: float | None = None
        self._line = ''
        self._warning = ''
        self._live = (
            Live(console=console, refresh_per_second=8, transient=True)
            if console.is_terminal
            else None
        )

    def __enter__(self) -> SessionTerminal:
        """Begin to show."""
        if self._live is not None:
            self._live.start()
        else:
            self._console.print(self._title, highlight=False)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def show(self, progress: SessionProgress) -> None:
        """Show how far the session is; each warning once."""
        warning = progress.recording_warning
        if without_numbers(warning) != without_numbers(self._warning):
            self._warning = warning
            if warning:
                self.say(f'warning: {warning}')
        self._tell_long_wait(progress.session)
        if self._live is not None:
            self._live.update(self._picture(progress))
            return
        line = state_line(progress)
        if line != self._line:
            self._line = line
            self.say(line)

    def _tell_long_wait(self, session: SessionStatus | None) -> None:
        """Say once of each thing that is waited for long, and where to look."""
        waits = session is None or session.state is SessionState.WAITING
        reason = 'the nodes to start' if session is None else session.reason
        wait = without_numbers(reason) if waits else ''
        if wait != self._wait:
            self._wait, self._wait_since_sec = wait, self._clock() if wait else None
        since_sec = self._wait_since_sec
        if since_sec is not None and self._clock() - since_sec > _LONG_WAIT_SEC:
            self._wait_since_sec = None
            where = '' if self._logs is None else f'; what the nodes say is in {self._logs}'
            self.say(f'still waiting after {_LONG_WAIT_SEC:.0f} s: {reason}{where}')

    def _picture(self, progress: SessionProgress) -> RenderableType:
        from rich.console import Group
        from rich.panel import Panel
        from rich.text import Text

        parts: list[RenderableType] = [Text(state_line(progress))]
        if progress.playback is not None:
            filled = round(progress.playback.progress * _BAR_WIDTH)
            bar = '━' * filled + '─' * (_BAR_WIDTH - filled)
            parts.append(Text(f'{bar} {progress.playback.state.value}'))
        if progress.theta is not None:
            parts.append(_table(progress.theta))
        return Panel(Group(*parts), title=self._title, expand=False)


def state_line(progress: SessionProgress) -> str:
    """Return the state of a session in one line; changes only when it is worth a line."""
    session = progress.session
    if session is None:
        return 'starting'
    text = (
        f'{session.state.value}, pass {session.passes}, '
        f'{counted(session.corrections, "correction")}'
    )
    if session.end is not None:
        text += f', {session.end.value}'
    return f'{text}: {session.reason}' if session.reason else text


def operating_lines(
    *, is_simulated_arm: bool, needs_consent: bool, namespace: str = ''
) -> list[str]:
    """Return how a person takes part in a session, where no program does."""
    option = f' --namespace {namespace}' if namespace else ''
    call = 'reward_learning call'
    lines = ['A person corrects. From another terminal:']
    if needs_consent:
        lines.append(
            f'  {call} begin{option}    lets the arm begin a pass; continue, after a hold'
        )
    if is_simulated_arm:
        lines.append(
            f'  reward_learning push --force 20 0 0 --seconds 2{option}    pushes the tool: '
            'newtons along x, y, z of the base'
        )
    return [
        *lines,
        f'  {call} accept{option}    takes the plan that is shown; undo forgets the last pass',
        f'  {call} finish{option}    ends the session; {call} --help lists what else there is',
    ]


def pass_line(
    number: int,
    *,
    pushes: int,
    understood: str,
    regret: float | None = None,
    unasked_regret: float | None = None,
) -> str:
    """Return in one line what a pass came to; Regret only where it is known."""
    text = f'pass {number}: {counted(pushes, "push", "pushes")}, understood: {understood}'
    if regret is None:
        return text
    unasked = '' if unasked_regret is None else f' (unasked {unasked_regret:.4f})'
    return f'{text}; Regret {regret:.4f}{unasked}'


def summary_lines(summary: Mapping[str, Any]) -> list[str]:
    """Return what a session came to, as `summary.json` has it, in lines."""
    end = (summary['end'] or 'interrupted').replace('_', ' ')
    lines = [
        f'{end} after {counted(summary["corrections"], "correction")} in '
        f'{counted(summary["passes"], "pass", "passes")}'
    ]
    for number, each in enumerate(summary['by_pass'], 1):
        line = pass_line(
            number,
            pushes=each['pushes'],
            understood=each['understood'],
            regret=each['regret'],
            unasked_regret=summary['unasked_regret'],
        )
        lines.append(line if each['active'] else f'{line} (undone)')
    lines += _theta_lines(summary)
    if summary['trusted'] is not None:
        lines.append(f'posterior: {"trusted" if summary["trusted"] else "not trusted"}')
        lines += [f'  {reason}' for reason in summary['warnings']]
    if summary['regret'] is not None:
        lines.append(
            f'Regret {summary["regret"]:.4f}, unasked {summary["unasked_regret"]:.4f}, of the '
            f'initial plan {summary["initial_regret"]:.4f}'
        )
    if summary['error'] is not None:
        lines.append(f'Error {summary["error"]:.3f}, unasked {summary["unasked_error"]:.3f}')
    return lines


def _theta_lines(summary: Mapping[str, Any]) -> list[str]:
    """Return a table of θ: the prior's interval, the posterior's, and its mean."""
    if not summary['theta']:
        return []
    rows = [('θ', 'prior', 'posterior', 'mean')]
    for name, weight in summary['theta'].items():
        before, after = (
            '{:.2f} to {:.2f}'.format(*each['interval'])
            for each in (summary['prior'][name], weight)
        )
        rows.append((name, before, after, f'{weight["mean"]:.3f}'))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        f'  {name:{widths[0]}}  {before:>{widths[1]}}  {"→" if index else " "}  '
        f'{after:>{widths[2]}}  {mean:>{widths[3]}}'
        for index, (name, before, after, mean) in enumerate(rows)
    ]


def _table(theta: ThetaSummary) -> RenderableType:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ('θ', 'mean', '90 % interval'):
        table.add_column(title, justify='left' if title == 'θ' else 'right')
    low, _, high = theta.quantiles
    for name, mean, lower, upper in zip(theta.features, theta.mean, low, high, strict=True):
        table.add_row(name, f'{mean:.3f}', f'{lower:.3f} to {upper:.3f}')
    return table

"""Stills of the console: a person pulls the simulated arm, and what the pages show of it.

python -m tools.console_stills FOLDER
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from tools.chromium import chromium
from tools.console_session import await_port, console_session

PULL, OPERATOR, PARTICIPANT = 'console_pull', 'console_operator', 'console_participant'
SUFFIX = '.png'
_SESSION = ('--participant-model', 'human', '--seed', '3')
_SIZE = {'width': 1280, 'height': 800}
_DEADLINE_MS = 120_000.0
_ARM = "document.querySelector('.rl-arm')"
# Where the mouse is, in pixels from the tool: to the left and down, to the button.
_AWAY = (-70, 30)
# When the arm is taken, and when it is let go, in per cent of the plan.
_FROM, _TO = 30, 80
_AT_PLAN = (
    "(share) => parseInt(document.querySelector('.rl-banner-detail').textContent || '0') >= share"
)


def take(folder: Path) -> None:
    """Run a session, teach the arm by mouse, and write the pictures."""
    with (
        tempfile.TemporaryDirectory() as work,
        console_session(Path(work), *_SESSION) as session,
        chromium() as browser,
    ):
        await_port(session.operator)
        context = browser.new_context(viewport=_SIZE)
        context.set_default_timeout(_DEADLINE_MS)
        page, other = context.new_page(), browser.new_context(viewport=_SIZE).new_page()
        page.goto(session.operator)
        page.click('[data-act=begin]:not([disabled])')
        page.wait_for_function(_AT_PLAN, arg=_FROM)
        mouse = page.mouse
        mouse.move(*_tool(page))
        mouse.down()
        is_taken = False
        while not page.evaluate(_AT_PLAN, _TO):
            x, y = _tool(page)
            mouse.move(x + _AWAY[0], y + _AWAY[1])
            if not is_taken and page.is_visible('.rl-banner[data-light=pushed]'):
                is_taken = True
                _write(page, folder / f'{PULL}{SUFFIX}')
        mouse.up()
        if not is_taken:
            raise SystemExit('the pull was not felt: this machine was too busy, try again')
        page.wait_for_selector('[data-act=begin]:not([disabled])')
        mouse.move(10, 10)
        _write(page, folder / f'{OPERATOR}{SUFFIX}')
        other.goto(session.participant)
        other.wait_for_selector('.rl-banner[data-light=ready]')
        _write(other, folder / f'{PARTICIPANT}{SUFFIX}')


def _tool(page: Any) -> tuple[float, float]:
    """Return where the tool is on the screen, as of the next frame that is drawn."""
    x, y = page.evaluate(
        f'() => new Promise((done) => requestAnimationFrame(() => done({_ARM}.toolOnScreen())))'
    )
    return x, y


def _write(page: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path)


def main(arguments: list[str] | None = None) -> int:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').split('\n')[0])
    parser.add_argument('folder', type=Path)
    folder = parser.parse_args(arguments).folder
    take(folder)
    for name in (PULL, OPERATOR, PARTICIPANT):
        print(f'{folder / name}{SUFFIX}: {(folder / (name + SUFFIX)).stat().st_size / 1e3:.0f} kB')
    return 0


if __name__ == '__main__':
    sys.exit(main())

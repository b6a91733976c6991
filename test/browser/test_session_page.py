"""A session by clicking: the arm is pulled and learns; console and nodes that die beside it."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass

import pytest
from helpers.console_page import DEADLINE_SEC, open_page, running_console

NODES = (
    'correction_recorder',
    'reward_inference',
    'session_conductor',
    'session_recorder',
    'simulated_arm',
    'trajectory_playback',
)
ARM = "document.querySelector('.rl-arm')"


@dataclass
class Visit:
    """A page on which a session was started.

    Attributes:
        console: that serves it.
        page: that is open.
    """

    console: object
    page: object

    def can(self, act):
        """Wait until something can be asked for."""
        self.page.wait_for_selector(f'[data-act={act}]:not([disabled])')

    def click(self, act):
        """Ask for something as soon as it is possible."""
        self.page.click(f'[data-act={act}]:not([disabled])')

    def say_nobody_pushes(self):
        """Deny that somebody pushes, if the arm still feels it at rest, as an operator would."""
        self.page.wait_for_selector(
            '[data-act=begin]:not([disabled]), [data-act=zero]:not([disabled])'
        )
        self.page.evaluate("document.querySelector('[data-act=zero]').click()")

    @property
    def theta(self):
        """What the page says of θ."""
        return self.page.locator('[data-theta]').all_inner_texts()

    def path(self, name):
        """The points of a path that is drawn."""
        return self.page.evaluate(f"{ARM}.pathShown('{name}')")

    def pull_until(self, is_enough, by=(0, -30)):
        """Pull the tool with the mouse until a condition of the page is true."""
        mouse = self.page.mouse
        mouse.move(*self._tool())
        mouse.down()
        deadline = time.monotonic() + DEADLINE_SEC
        while not self.page.evaluate(is_enough):
            assert time.monotonic() < deadline, self.page.inner_text('.rl-banner')
            # The arm moves on, and the hand goes with it.
            x, y = self._tool()
            mouse.move(x + by[0], y + by[1])
        mouse.up()

    def _tool(self):
        # As of the next frame that is drawn: nothing newer can be seen.
        return self.page.evaluate(
            f'() => new Promise((done) => requestAnimationFrame(() => done({ARM}.toolOnScreen())))'
        )


@pytest.fixture(scope='module')
def visit(chromium, tmp_path_factory):
    """A session with the simulated arm, on the page, that waits for consent."""
    folder = tmp_path_factory.mktemp('session')
    with running_console(folder) as console, open_page(chromium) as page:
        page.goto(console.address)
        # In simulated time, at the pace of a hand: on a busy machine it is slower, and no fault.
        console.begin(
            *('session', '--task', 'quick', '--participant-model', 'human'),
            *('--consent', 'every_pass', '--no-realtime', '--speed', '1'),
            *('--sessions', str(console.sessions)),
        )
        found = Visit(console=console, page=page)
        found.can('begin')
        yield found


@dataclass
class Taught:
    """What the page showed before and after a pass in which the arm was pulled."""

    theta: tuple[list[str], list[str]]
    plan: tuple[list[list[float]], list[list[float]]]
    previous: list[list[float]]


@pytest.fixture(scope='module')
def taught(visit):
    """What a pass changed in which the arm was pulled with the mouse."""
    visit.page.wait_for_selector('[data-theta]')
    before = visit.theta, visit.path('plan')
    visit.click('begin')
    visit.page.wait_for_function(
        "parseInt(document.querySelector('.rl-banner-detail').textContent) >= 20"
    )
    visit.pull_until("/pushed at [1-9]/.test(document.querySelector('.rl-banner').textContent)")
    visit.say_nobody_pushes()
    visit.can('begin')
    after = visit.theta, visit.path('plan')
    return Taught(
        theta=(before[0], after[0]),
        plan=(before[1], after[1]),
        previous=visit.path('previous'),
    )


def test_the_arm_that_is_pulled_learns_and_shows_another_plan(taught):
    before, after = taught.theta
    assert before
    assert after != before
    assert taught.plan[0] != taught.plan[1]
    assert taught.previous == taught.plan[0]


def test_a_console_that_was_killed_shows_again_what_was_learned(visit, taught):
    visit.page.evaluate('window.isOld = true')
    visit.console.end(signal.SIGKILL)
    visit.console.start()
    visit.page.wait_for_function('!window.isOld')
    visit.can('begin')
    visit.page.wait_for_function(f"{ARM}.pathShown('previous').length > 0")
    assert visit.theta == taught.theta[1]
    assert visit.path('previous') == taught.previous


@pytest.mark.parametrize('node', NODES)
def test_a_node_that_dies_is_named_and_comes_back(visit, taught, node):
    visit.can('begin')
    visit.console.kill(node)
    if node == 'simulated_arm':
        visit.page.wait_for_selector('.rl-banner[data-light=held]:has-text("arm died or hangs")')
    else:
        # Some are back before anybody misses them; the log tells it for certain.
        visit.page.wait_for_selector(f'.rl-event:has-text("{node}"):has-text("started again")')
    # It is ready again, and nobody did anything.
    visit.can('begin')
    assert visit.page.errors == []

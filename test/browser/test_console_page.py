"""The console in a real browser: who gets in, what is shown, who is in control."""

from __future__ import annotations

import signal

import pytest

NASTY = '<script>document.title="taken"</script><img src=x onerror=alert(1)>'
SIZES = {'phone': (390, 844), 'laptop': (1440, 900), 'projector': (1920, 1080)}


def test_without_the_token_there_is_no_page_and_with_it_there_is(console, page):
    assert page.goto(console.root).status == 403
    assert page.goto(console.address).status == 200
    assert 'token' not in page.url
    assert page.goto(f'{console.root}/study').status == 200


def test_the_participants_address_opens_no_other_page(console, page):
    assert page.goto(console.participant).status == 200
    assert page.query_selector('[data-act]') is None
    assert page.goto(console.root).status == 403


def test_another_page_cannot_reach_the_socket(console, page, chromium):
    page.goto(console.address)
    socket_address = page.evaluate(
        '() => `ws://${location.host}/_nicegui_ws/socket.io/?EIO=4&transport=websocket`'
    )
    opened = """(address) => new Promise((resolve) => {
        const socket = new WebSocket(address);
        socket.onopen = () => resolve(true);
        socket.onerror = () => resolve(false);
    })"""
    assert page.evaluate(opened, socket_address)
    # The same browser, with the same cookies, on a page of somebody else.
    foreign = page.context.new_page()
    foreign.route('http://evil.example/', lambda route: route.fulfill(body='<p>here</p>'))
    foreign.goto('http://evil.example/')
    assert not foreign.evaluate(opened, socket_address)


def test_without_a_session_the_page_says_so_and_asks_nobody_outside(console, page):
    page.goto(console.address)
    page.wait_for_selector('[data-act=start]')
    assert page.get_attribute('.rl-banner', 'data-light') == 'silent'
    page.wait_for_selector('.rl-arm canvas')
    assert page.errors == []
    assert page.foreign == []


@pytest.mark.parametrize('size', SIZES)
def test_nothing_sticks_out_of_a_window(console, page, size):
    width, height = SIZES[size]
    page.set_viewport_size({'width': width, 'height': height})
    for path in ('/', '/study', '/participant'):
        page.goto(console.address if path == '/' else console.root + path)
        page.wait_for_load_state('networkidle')
        assert page.evaluate('document.documentElement.scrollWidth') <= width


def test_ctrl_c_ends_it_with_a_page_open(console, page):
    page.goto(console.address)
    page.wait_for_selector('[data-act=start]')
    # The middleware and NiceGUI need a moment each; five seconds are promised.
    assert console.end(signal.SIGINT) < 5.0
    assert console.process.returncode == 0


def test_an_open_page_goes_on_after_the_console_was_killed_and_started_again(console, page):
    page.goto(console.address)
    page.wait_for_selector('[data-act=start]')
    page.evaluate('window.isOld = true')
    console.end(signal.SIGKILL)
    console.start()
    page.wait_for_function('!window.isOld')
    page.wait_for_selector('[data-act=start]:not([disabled])')


def test_of_two_operators_one_is_in_control_and_the_other_takes_over(console, page, chromium):
    page.goto(console.address)
    page.wait_for_selector('[data-act=start]:not([disabled])')
    other = page.context.new_page()
    other.set_default_timeout(60_000.0)
    other.goto(console.address)
    other.wait_for_selector('text=operator 1 is in control')
    assert other.is_disabled('[data-act=start]')
    other.click('text=Take control')
    other.wait_for_selector('[data-act=start]:not([disabled])')
    page.wait_for_selector('text=operator 2 is in control')


def test_a_study_is_shown_as_text_whatever_it_is_called(console, page):
    console.run(
        'study', 'new', 'tiny', '--sessions', str(console.sessions), '--tasks', 'press',
        '--participants', '2', '--participant-model', 'human',
    )  # fmt: skip
    console.run(
        'study', 'mark', 'tiny', 'p01', '1', 'excluded', '--reason', NASTY,
        '--sessions', str(console.sessions),
    )  # fmt: skip
    page.goto(console.address)
    page.goto(f'{console.root}/study')
    page.wait_for_selector('text=excluded: <script>')
    assert page.title() == 'Study'
    assert page.errors == []

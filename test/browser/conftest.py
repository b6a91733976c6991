"""A console of its own for each test, and a page of Chromium that opens it."""

from __future__ import annotations

import pytest
from helpers.console_page import open_page, running_console

import tools.chromium


def pytest_collection_modifyitems(items):
    for item in items:
        if 'browser' not in item.path.parts:
            continue
        item.add_marker(pytest.mark.browser)
        item.add_marker(pytest.mark.timeout(600))
        if tools.chromium.CHROMIUM is None:
            reason = 'there is no Chromium: `apt-get install chromium`'
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def console(tmp_path):
    with running_console(tmp_path) as made:
        yield made


@pytest.fixture(scope='module')
def chromium():
    # While Playwright is open its event loop runs in this thread, and no other one can: it must be
    # closed before the same process runs other tests.
    with tools.chromium.chromium() as browser:
        yield browser


@pytest.fixture
def page(chromium):
    with open_page(chromium) as opened:
        yield opened

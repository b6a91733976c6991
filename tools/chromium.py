"""Debian's Chromium, driven by Playwright: for tests, measurements and pictures of the console."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from typing import Any

CHROMIUM = shutil.which('chromium') or shutil.which('chromium-browser')
_FLAGS = (
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--use-angle=swiftshader',
    '--enable-unsafe-swiftshader',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
)


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """Start a browser that asks nobody outside; end it afterwards."""
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        raise SystemExit('there is no Chromium: sudo apt install chromium')
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_FLAGS))
        try:
            yield browser
        finally:
            browser.close()

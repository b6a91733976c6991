"""A study from the page alone: each trial is started, ended and marked, then all is analysed."""

from __future__ import annotations

import itertools
import json

import pytest

PARTICIPANTS, TRIALS = ('p01', 'p02'), (1, 2)


@pytest.fixture
def study(console):
    """A study of two participants and two conditions, with people that are simulated."""
    console.run(
        'study', 'new', 'tiny', '--sessions', str(console.sessions), '--tasks', 'quick',
        '--participants', str(len(PARTICIPANTS)),
    )  # fmt: skip
    return console.sessions / 'tiny'


def test_a_study_is_run_and_analysed_without_a_terminal(console, page, study):
    page.goto(console.address)
    for participant, trial in itertools.product(PARTICIPANTS, TRIALS):
        page.click('text=Study')
        page.locator('.q-select').nth(1).click()
        page.click(f'.q-item:has-text("{participant}")')
        row = f'[data-trial="{trial}"]'
        page.click(f'{row} [data-act=start-trial]:not([disabled])')
        # It is the page of the session now. One pass is enough.
        page.wait_for_selector(f'.rl-who:has-text("tiny / {participant}")')
        page.wait_for_selector('.rl-banner[data-light=inferring]')
        page.click('[data-act=accept]:not([disabled])')
        # A dialog that is still being drawn can be answered.
        page.dispatch_event('text=Yes', 'click')
        page.wait_for_selector('.rl-banner[data-light=ended]')
        page.click('text=Study')
        page.locator('.q-select').nth(1).click()
        page.click(f'.q-item:has-text("{participant}")')
        page.click(f'{row} [data-act=mark-done]:not([disabled])')
        page.wait_for_selector(f'{row}:has-text("done")')
    page.click('[data-act=analyse]:not([disabled])')
    page.wait_for_selector('text=Open the report')
    results = json.loads((study / 'analysis' / 'results.json').read_text())
    assert results
    assert page.goto(f'{console.root}/study/report?study=tiny').status == 200
    assert page.errors == []

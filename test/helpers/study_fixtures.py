"""What the tests of studies and reports share."""

from __future__ import annotations

import html.parser
import re
from pathlib import Path

import numpy as np
import pytest

from reward_learning_ros import core
from reward_learning_ros.core.kernel_cache import cache_folders
from reward_learning_ros.study.protocol import Condition, Goal, Protocol

_VOID = {'meta', 'br', 'hr', 'img', 'link', 'input'}


def small_protocol(participants: int = 4, **changes) -> Protocol:
    """Return a study of two tasks and two conditions."""
    return Protocol(
        **{
            'name': 'pilot',
            'goals': (Goal(task='press', preset='goal'), Goal(task='reach')),
            'conditions': (
                Condition(name='dependent'),
                Condition(name='independent', dependence='independent'),
            ),
            'participants': tuple(f'p{number:02d}' for number in range(1, participants + 1)),
            **changes,
        }
    )


def made_up_posterior(task: core.Task, seed: int = 0, beta: float | None = None) -> core.Posterior:
    """Return a posterior without the seconds that sampling takes."""
    rng = np.random.default_rng(seed)
    chains = np.abs(rng.normal(0.5, 0.1, (4, 200, task.size)))
    betas = np.full((4, 200), beta) if beta else np.exp(rng.normal(2.0, 0.3, (4, 200)))
    return core.Posterior(
        chains=chains,
        beta_chains=betas,
        feature_names=task.feature_names,
        method='double_mh',
        sampling={'inner_acceptance': 0.42, 'outer_acceptance': 0.3},
    )


def keep_libraries_in(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Leave the user's libraries alone; but let what tests start find what is compiled."""
    kernels = next(place for place in cache_folders() if place.name == 'kernels')
    kernels.mkdir(parents=True, exist_ok=True)
    (folder / 'reward_learning_ros').mkdir(parents=True)
    (folder / 'reward_learning_ros' / 'kernels').symlink_to(kernels)
    patch.setenv('XDG_CACHE_HOME', str(folder))


class Page(html.parser.HTMLParser):
    """Reads a page, and knows whether every element that is opened is closed in its place."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.tags: list[str] = []
        self.identities: list[str] = []
        self.references: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f'never closed: {self.open}'

    def handle_starttag(self, tag, attrs):
        self._note(tag, attrs)
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self._note(tag, attrs)

    def handle_endtag(self, tag):
        assert self.open, f'</{tag}> closes nothing'
        assert self.open.pop() == tag

    def handle_data(self, data):
        if 'style' not in self.open:
            self.words.append(data)

    def _note(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name == 'id':
                self.identities.append(value)
            if name == 'href':
                self.references.append(value)
            self.references += re.findall(r'url\(([^)]*)\)', value or '')

    @property
    def text(self) -> str:
        """All words of the page, with single spaces."""
        return ' '.join(' '.join(self.words).split())


def read_page(text: str) -> Page:
    """Return a page, after looking whether it is whole and needs nothing but itself."""
    page = Page(text)
    assert page.tags[:2] == ['html', 'head']
    assert not {'script', 'link', 'iframe', 'img'} & set(page.tags)
    assert not re.search(r'https?:|@import|src=', text)
    assert all(reference.startswith('#') for reference in page.references)
    assert len(page.identities) == len(set(page.identities))
    assert {reference[1:] for reference in page.references} <= set(page.identities)
    return page

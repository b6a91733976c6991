"""What all pages share: style, header, banner, and texts that are never read as HTML."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from nicegui import ui

from reward_learning_ros.console.situation import Headline, Judgement, Light

ASSETS = Path(__file__).parent / 'assets'
_PAGES = (
    ('Session', '/'),
    ('Study', '/study'),
    ('Recordings', '/recordings'),
    ('Participant', '/participant'),
)


def begin_page(title: str, *, here: str = '', has_menu: bool = True) -> ui.element:
    """Set the style of a page and its header; return the header."""
    ui.page_title(title)
    ui.colors(primary='#1d4ed8')
    ui.add_css(ASSETS / 'console.css')
    with ui.element('header').classes('rl-header') as header:
        text('reward learning', 'rl-brand')
        if has_menu:
            for label, target in _PAGES:
                link = ui.link(label, target)
                if target == here:
                    link.classes('rl-here').props('aria-current=page')
        ui.element('div').classes('rl-spacer')
    return header


def text(words: str, classes: str = 'rl-text') -> ui.label:
    """Show words as they are: what others wrote is text, never HTML or Markdown."""
    return ui.label(words).classes(classes)


def card(title: str = '', classes: str = '') -> ui.element:
    """Return a card, with a title if it is given."""
    made = ui.element('section').classes(f'rl-card {classes}')
    if title:
        with made:
            text(title, 'rl-title')
    return made


def plain_button(words: str, on_click: Callable[[], Any], classes: str = '') -> ui.button:
    """Return a button in one of our own colours, so that one that is disabled is plainly grey."""
    button = ui.button(words, color=None, on_click=on_click)
    return button.props('unelevated no-caps').classes(f'rl-btn {classes}')


class Banner:
    """The state of the session in one line and one colour."""

    def __init__(self) -> None:
        self._light: Light | None = None
        # Read out when it changes.
        with ui.element('div').classes('rl-banner').props('role=status aria-live=polite') as box:
            self._box = box
            self._title = text('', 'rl-banner-title')
            self._detail = text('', 'rl-banner-detail')
            self._count = text('', 'rl-banner-count')

    def show(self, headline: Headline, count: str = '') -> None:
        """Show a state."""
        if headline.light is not self._light:
            if self._light is not None:
                self._box.classes(remove=f'rl-{self._light.value}')
            self._box.classes(add=f'rl-{headline.light.value}')
            self._box.props(f'data-light={headline.light.value}')
            self._light = headline.light
        self._title.set_text(headline.title)
        self._detail.set_text(headline.detail)
        self._count.set_text(count)


class Lights:
    """A list of judgements, each a coloured light with a text."""

    def __init__(self) -> None:
        self._box = ui.element('div').classes('rl-lights')
        self._shown: tuple[Judgement, ...] = ()

    def show(self, judgements: tuple[Judgement, ...]) -> None:
        """Show them; nothing is sent if they are the same."""
        if judgements == self._shown:
            return
        self._shown = judgements
        self._box.clear()
        with self._box:
            for each in judgements:
                with ui.element('div').classes('rl-light'):
                    ui.element('span').classes(f'rl-lamp rl-{each.grade.value}')
                    text(each.name, 'rl-soft')
                    text(each.text, 'rl-text')

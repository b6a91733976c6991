"""Which of several open pages of operators is in control; the others watch."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class ControlDesk:
    """The pages that are open, by their ids, and the one that may act.

    Attributes:
        controller: id of the page that is in control; empty if none is.
    """

    controller: str = ''
    _numbers: dict[str, int] = field(default_factory=dict)
    _next: int = 1

    def join(self, page: str) -> None:
        """Add a page; the first takes control, and so does the next after all have left."""
        if page not in self._numbers:
            self._numbers[page] = self._next
            self._next += 1
        if not self.controller:
            self.controller = page

    def leave(self, page: str) -> None:
        """Take a page away; its control goes to the only page left, or waits to be taken."""
        self._numbers.pop(page, None)
        if self.controller == page:
            self.controller = next(iter(self._numbers)) if len(self._numbers) == 1 else ''
        if not self._numbers:
            self._next = 1

    def take(self, page: str) -> bool:
        """Give control to a page; return whether another one had it."""
        had_another = self.controller not in ('', page)
        if page in self._numbers:
            self.controller = page
        return had_another

    def obstacle(self, page: str) -> str:
        """Return why a page may not act, empty if it may."""
        if self.controller == page:
            return ''
        if not self.controller:
            return 'nobody is in control: take it first'
        return f'operator {self._numbers[self.controller]} is in control'

    def text(self, page: str) -> str:
        """Return who is here and who is in control, as this page reads it."""
        if len(self._numbers) <= 1 and self.controller == page:
            return 'you are in control'
        mine = f'you are operator {self._numbers.get(page, 0)} of {len(self._numbers)}'
        return f'{mine}; {self.obstacle(page) or "you are in control"}'

"""Draw the states of a session into docs/session.md, from the table that the code uses.

python -m tools.session_diagram
"""

from __future__ import annotations

import sys

from reward_learning_ros.interface import SessionState
from reward_learning_ros.session.session_transitions import TRANSITIONS, Event
from tools.pins import ROOT

PAGE = ROOT / 'docs' / 'session.md'
BEGIN, END = '<!-- from the code: begin -->\n', '<!-- from the code: end -->\n'
# That these lead away from every state is said in words; drawn, they would hide the rest.
_FROM_EVERYWHERE = (Event.END, Event.LIMIT)


def diagram() -> str:
    """Return the diagram and the table of events, as Markdown."""
    arrows: dict[tuple[SessionState, SessionState], list[str]] = {}
    for (before, event), after in TRANSITIONS.items():
        if event not in _FROM_EVERYWHERE:
            arrows.setdefault((before, after), []).append(event.name)
    lines = ['```mermaid', 'stateDiagram-v2', f'    [*] --> {SessionState.WAITING.name}']
    for (before, after), events in arrows.items():
        lines.append(f'    {before.name} --> {after.name}: {", ".join(events)}')
    lines += [f'    {SessionState.ENDED.name} --> [*]', '```', '']
    lines += ['| event | what happens |', '| --- | --- |']
    lines += [f'| `{event.name}` | {event.value} |' for event in Event]
    return '\n'.join(lines) + '\n'


def page_with(text: str) -> str:
    """Return the page with its diagram drawn again."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + diagram() + END + after


def main() -> int:
    """Write the page."""
    PAGE.write_text(page_with(PAGE.read_text(encoding='utf-8')), encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())

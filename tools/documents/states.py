"""The states of a session as a table, from the code."""

from __future__ import annotations


def transitions() -> str:
    """Return what leads from each state to which other, as a Markdown table."""
    from reward_learning_ros.session.session_transitions import TRANSITIONS, Event

    lines = ['| from | event | to |', '| --- | --- | --- |']
    arrows: dict[tuple[str, str], list[str]] = {}
    for (before, event), after in TRANSITIONS.items():
        if event not in (Event.END, Event.LIMIT):
            arrows.setdefault((before.name, after.name), []).append(event.name)
    for (start, end), events in arrows.items():
        lines.append(f'| {start} | {", ".join(events)} | {end} |')
    return '\n'.join(lines) + '\n'

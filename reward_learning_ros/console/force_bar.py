"""The force on the arm, as a bar under it and as an arrow at the tool."""

from __future__ import annotations

import numpy as np
from nicegui import ui

from reward_learning_ros.arm.chain import LinkFrames
from reward_learning_ros.console.arm_view import ArmView
from reward_learning_ros.console.layout import text
from reward_learning_ros.console.pull import PullForce
from reward_learning_ros.console.snapshot import Snapshot

# Of the bar: harder than the mouse pulls, as hands do.
_FULL_FORCE_N = 60.0


class ForceBar:
    """What somebody does to the arm: the mouse of a page, or a hand that the recorder feels."""

    def __init__(self, arm: ArmView) -> None:
        self._arm = arm
        self._is_bold = False
        with ui.element('div').classes('rl-force'):
            text('force on the arm', '')
            with ui.element('div').classes('rl-bar'):
                self._bar = ui.element('div').classes('rl-bar-fill')
            self._number = text('–', 'rl-number').props('data-force')

    def show(
        self, snapshot: Snapshot, frames: LinkFrames, pulled: PullForce | None = None
    ) -> None:
        """Show the force of a moment; nothing is sent if nothing changed."""
        is_pushed = snapshot.recorder is not None and snapshot.recorder.in_contact
        if pulled is not None:
            self._arm.show_force(pulled.hand_m, pulled.target_m, pulled.force_n, is_pulled=True)
            force_n = float(np.linalg.norm(pulled.force_n))
        elif snapshot.force_n is None or snapshot.joints_rad is None:
            return
        else:
            force_n = float(np.linalg.norm(snapshot.force_n))
            if not is_pushed:
                # An arm that nobody touches tells a force too: its bias.
                self._arm.show_force(None, None, None)
            else:
                tool = frames.poses(snapshot.joints_rad)[frames.names[-1]][:3, 3]
                self._arm.show_force(tool, None, snapshot.force_n)
        if (is_pushed or pulled is not None) is not self._is_bold:
            self._is_bold = not self._is_bold
            self._bar.classes(toggle='rl-bar-pushed')
        words = f'{force_n:.0f} N'
        if words != self._number.text:
            self._number.set_text(words)
            share = min(force_n / _FULL_FORCE_N, 1.0)
            self._bar.style(f'transform: scaleX({share:.3f})')

"""The arm in 3D: its links are drawn from our own description, and the page can pull them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from nicegui import ui
from nicegui.element import Element

# Registers the bundle with three.js that this component imports; it is part of NiceGUI's wheel.
from nicegui.elements.scene import Scene  # noqa: F401
from nicegui.events import GenericEventArguments

from reward_learning_ros.arm.chain import transform_of
from reward_learning_ros.arm.description import ArmDescription, Capsule, Cuboid, Origin, Shape
from reward_learning_ros.console.layout import text
from reward_learning_ros.console.snapshot import Drawing
from reward_learning_ros.interface import Plan

# Below this the eye sees no difference, and nothing is sent.
_SAME_RAD = 2e-4
_SAME_N = 0.2
_LEGEND = (
    ('plan now', '#2563eb'),
    ('plan before', '#94a3b8'),
    ('what they have in mind', '#16a34a'),
    ('corrections', '#dc2626'),
    ('force', '#d97706'),
)


class ArmView(Element, component='assets/arm_view.js'):  # type: ignore[call-arg]  # not seen
    """The scene around the arm; each `show_…` sends only what changed.

    Args:
        description: The arm.
        on_pull: Called with what the mouse does (`grab`, `drag` or `release`) and its details;
            None if this page may not pull.
    """

    def __init__(
        self,
        description: ArmDescription,
        on_pull: Callable[[str, dict[str, Any]], None] | None = None,
    ) -> None:
        super().__init__()
        self._props['arm'] = arm_for_page(description)
        self._props['pullable'] = on_pull is not None
        self._shown: dict[str, Any] = {}
        if on_pull is not None:

            def handle(event: GenericEventArguments) -> None:
                if isinstance(event.args, dict):
                    on_pull(str(event.args.get('what', '')), event.args)

            self.on('pull', handle)
        # A page that was away shows all of it again.
        self.on('ready', self._show_again)

    def show_joints(self, joints_rad: tuple[float, ...] | None) -> None:
        """Move the arm there."""
        before = self._shown.get('joints')
        if joints_rad is None or (
            before is not None and np.abs(np.subtract(before, joints_rad)).max() < _SAME_RAD
        ):
            return
        self._show('joints', [round(angle, 4) for angle in joints_rad])

    def show_path(self, name: str, plan: Plan | None, *, key: object = None) -> None:
        """Draw a path under a name: `plan`, `previous` or `ideal`."""
        key = (None if plan is None else plan.stamp_ns) if key is None else key
        if self._shown.get(f'key of {name}') == key:
            return
        self._shown[f'key of {name}'] = key
        points = [] if plan is None else np.round(plan.positions, 4).tolist()
        self._show('path', points, name)

    def show_drawing(self, drawing: Drawing) -> None:
        """Draw scene and corrections."""
        if self._shown.get('drawing of') is drawing:
            return
        self._shown['drawing of'] = drawing
        objects = [
            {
                'shape': each.shape,
                'position': each.position_m,
                'quaternion': each.quaternion,
                'size': each.size_m,
                'color': each.color,
            }
            for each in drawing.objects
        ]
        self._show('objects', objects)
        self._show('arrows', [[*start, *end] for start, end in drawing.arrows])

    def show_force(
        self, hand_m: Any, target_m: Any, force_n: Any, *, is_pulled: bool = False
    ) -> None:
        """Draw a force at a point, and the spring to the mouse if there is one."""
        before = self._shown.get('force of')
        now = None if hand_m is None else (*map(float, hand_m), *map(float, force_n))
        if now is None and before is None:
            return
        if (
            now is not None
            and before is not None
            and np.abs(np.subtract(before, now)).max() < _SAME_N / 100.0
        ):
            return
        self._shown['force of'] = now
        if now is None:
            self._show('force', None)
            return
        self._show(
            'force',
            {
                'hand': np.round(hand_m, 4).tolist(),
                'force': np.round(force_n, 2).tolist(),
                'target': None if target_m is None else np.round(target_m, 4).tolist(),
                'pulled': is_pulled,
            },
        )

    def allow_pull(self, is_allowed: bool) -> None:
        """Let the mouse take the arm, or not."""
        if self._shown.get('pullable') != is_allowed:
            self._show('pullable', is_allowed)

    def _show(self, what: str, value: Any, name: str = '') -> None:
        self._shown[what + name] = value
        self.run_method('show', what, value, name)

    def _show_again(self) -> None:
        for what in ('joints', 'objects', 'arrows', 'pullable'):
            if what in self._shown:
                self.run_method('show', what, self._shown[what], '')
        for name in ('plan', 'previous', 'ideal'):
            if f'path{name}' in self._shown:
                self.run_method('show', 'path', self._shown[f'path{name}'], name)


def build_legend() -> None:
    """Say what the colours of lines and arrows mean."""
    with ui.element('div').classes('rl-legend'):
        for words, color in _LEGEND:
            with ui.element('span').classes('rl-key'):
                ui.element('span').classes('rl-swatch').style(f'background: {color}')
                text(words, '')


def arm_for_page(description: ArmDescription) -> dict[str, Any]:
    """Return an arm as the page draws it: links in a chain, each with its shapes."""
    links = [
        {
            'frame': joint.link_name,
            'origin': _matrix(joint.origin),
            'turns': True,
            'shapes': [_shape(shape) for shape in joint.shapes],
        }
        for joint in description.joints
    ]
    links.append(
        {
            'frame': description.flange_frame,
            'origin': _matrix(description.flange_origin),
            'turns': False,
            'shapes': [],
        }
    )
    if description.hand is not None:
        links.append(
            {
                'frame': description.hand.link_name,
                'origin': _matrix(description.hand.origin),
                'turns': False,
                'shapes': [_shape(shape) for shape in description.hand.shapes],
            }
        )
        links.append(
            {
                'frame': description.hand.tool_frame,
                'origin': _matrix(description.hand.tool_origin),
                'turns': False,
                'shapes': [],
            }
        )
    return {
        'base': [_shape(shape) for shape in description.base_shapes],
        'links': links,
        'home': list(description.home_rad),
    }


def _matrix(origin: Origin) -> list[float]:
    """Return a transform as three.js reads it: 16 numbers, column by column."""
    return [float(value) for value in np.round(transform_of(origin), 9).T.ravel()]


def _shape(shape: Shape) -> dict[str, Any]:
    if isinstance(shape, Capsule):
        return {'start': shape.start_m, 'end': shape.end_m, 'radius': shape.radius_m}
    assert isinstance(shape, Cuboid)
    return {'centre': shape.centre_m, 'size': [2.0 * half for half in shape.half_size_m]}

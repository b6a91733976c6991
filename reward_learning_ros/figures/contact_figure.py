"""The figure of a contact calibration: torques and bias of every joint, and what was a contact."""

from __future__ import annotations

from pathlib import Path

from reward_learning_ros.figures.figure_style import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    new_figure,
    publication_style,
    save_figure,
)
from reward_learning_ros.sensing.contact_calibration import ContactCalibration


def draw_contact_calibration(calibration: ContactCalibration, path: Path) -> None:
    """Draw torque, bias, residual, thresholds and contacts over time.

    Args:
        calibration: what is drawn.
        path: of the figure, PNG, SVG or PDF.
    """
    joints = calibration.torque_nm.shape[1]
    parameters, time_sec = calibration.parameters, calibration.time_sec
    with publication_style():
        figure, grid = new_figure(height_in=9.0, rows=joints + 1)
        *panels, last = grid[:, 0].tolist()
        for joint, panel in enumerate(panels):
            panel.plot(time_sec, calibration.torque_nm[:, joint], color=GREY, label='torque')
            panel.plot(time_sec, calibration.bias_nm[:, joint], color=BLUE, label='bias')
            panel.set_ylabel(f'{joint + 1}, N·m')
        panels[0].set_title('External torque of each joint and its bias; contacts are shaded')
        panels[0].legend(loc='upper right', ncols=2)
        last.plot(time_sec, calibration.statistic, color=BLACK)
        last.axhline(parameters.on_threshold, color=ORANGE, label='begins above')
        last.axhline(parameters.off_threshold, color=ORANGE, linestyle='--', label='ends below')
        last.set_yscale('log')
        last.set_ylabel('residual, sd')
        last.set_xlabel('time, s')
        last.legend(loc='upper right', ncols=2)
        for panel in (*panels, last):
            panel.set_xlim(time_sec[0], time_sec[-1])
            for start_sec, end_sec in calibration.spans_sec:
                panel.axvspan(start_sec, end_sec, color=ORANGE, alpha=0.25, linewidth=0)
        save_figure(figure, path)

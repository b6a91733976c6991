"""What the doctor finds in a recording of a running arm: noise, bias, thresholds, contacts."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from reward_learning_ros.cli._findings import Finding
from reward_learning_ros.cli._recorded import progress_bar

NAME = 'contact thresholds'
# Starting Python, finding the arm on a busy machine.
_START_SEC = 90.0


def contact_findings(
    namespace: str, seconds: float, figure: Path
) -> tuple[list[Finding], dict[str, Any]]:
    """Record a running arm, draw what was recorded, and judge the thresholds by it.

    Args:
        namespace: of the arm.
        seconds: how long.
        figure: where the figure is written.

    Returns:
        The findings, and the numbers behind them.
    """
    import numpy as np

    from reward_learning_ros.arm.kinematics import Kinematics
    from reward_learning_ros.core.errors import RewardLearningError
    from reward_learning_ros.figures.contact_figure import draw_contact_calibration
    from reward_learning_ros.sensing.contact_calibration import calibrate_contacts
    from reward_learning_ros.sensing.samples import SampleBlock

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'samples.npz'
        told, failure = _record(namespace, seconds, path)
        if failure:
            return [_blocking(failure)], {}
        with np.load(path) as arrays:
            block = SampleBlock(**arrays)
    try:
        calibration = calibrate_contacts(block, jacobian=Kinematics().jacobian)
        draw_contact_calibration(calibration, figure)
    except RewardLearningError as error:
        return [_blocking(str(error))], {}
    source, settled_sec = told['source'], told['settled_sec']
    numbers = {
        'source': source,
        'settled_sec': settled_sec,
        'rate_hz': calibration.rate_hz,
        'noise_nm': calibration.noise_nm.tolist(),
        'bias_range_nm': calibration.bias_range_nm.tolist(),
        'quiet_statistic': calibration.quiet_statistic,
        'on_threshold': calibration.parameters.on_threshold,
        'least_torque_nm': calibration.least_torque_nm,
        'least_force_n': calibration.least_force_n,
        'contacts': [
            {
                'start_sec': start,
                'end_sec': end,
                'peak_torque_nm': contact.peak_torque_nm,
                'peak_statistic': contact.peak_statistic,
            }
            for (start, end), contact in zip(
                calibration.spans_sec, calibration.contacts, strict=True
            )
        ],
        'figure': str(figure),
    }
    force = calibration.least_force_n
    findings = [
        Finding(
            name='torques come from',
            found=f'{source}, {calibration.rate_hz:.0f} Hz, recorded from {settled_sec:.1f} s '
            'after they were first heard',
        ),
        Finding(name='torque noise', found=_per_joint(calibration.noise_nm)),
        Finding(name='bias over the poses', found=_per_joint(calibration.bias_range_nm)),
        Finding(
            name=NAME,
            found=f'quiet torques reach {calibration.quiet_statistic:.1f} of '
            f'{calibration.parameters.on_threshold:.1f} sd; a contact begins at '
            f'{calibration.least_torque_nm:.1f} N·m'
            + ('' if force is None else f', a push of at most {force:.1f} N'),
            advice=calibration.advice(),
        ),
        Finding(
            name='contacts in the recording', found=f'{len(calibration.contacts)}; see {figure}'
        ),
    ]
    return findings, numbers


def _record(namespace: str, seconds: float, path: Path) -> tuple[dict[str, Any], str]:
    """Return what is told of the samples that were written to a file, and why there are none."""
    process = subprocess.Popen(
        [
            *(sys.executable, '-m', 'reward_learning_ros.nodes.sample_recording'),
            *(namespace, str(seconds), str(path)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline_sec = time.monotonic() + seconds + _START_SEC
    total = math.ceil(seconds)
    with progress_bar('recording the arm, seconds', total=total) as step:
        for passed in itertools.count():
            try:
                output, errors = process.communicate(timeout=1.0)
                break
            except subprocess.TimeoutExpired:
                # The arm may have to be found first.
                if passed < total - 1:
                    step()
            if time.monotonic() > deadline_sec:
                process.kill()
                process.communicate()
                return {}, 'the recording hangs'
    lines = output.splitlines()
    if process.returncode or not lines:
        log_tail = errors.strip().splitlines()[-1:] or ['it said nothing']
        return {}, log_tail[0]
    told: dict[str, Any] = json.loads(lines[-1])
    if told['source'] is None:
        return told, 'no torques were heard'
    if told['settled_sec'] is None:
        missing = ', '.join(told['missing']) or 'a source that stays'
        return told, f'torques came from {told["source"]}, but not {missing}'
    return told, ''


def _per_joint(values: Any) -> str:
    return ' '.join(f'{value:.2f}' for value in values) + ' N·m'


def _blocking(found: str) -> Finding:
    return Finding(
        name=NAME,
        found=found,
        advice='start the arm (`simulated_arm`, or franka_ros2) first',
        blocks=True,
    )

"""The doctor looks at an arm before anyone moves it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from helpers.arm_process import DEADLINE_SEC, running_arm
from helpers.domains import claimed_domain

from reward_learning_ros.nodes import names

pytestmark = pytest.mark.timeout(600)


def findings_of(environment):
    """Return the doctor's findings by name, and its exit code."""
    command = 'from reward_learning_ros.cli.main import main; raise SystemExit(main())'
    options = ['doctor', '--arm', 'franka', '--json', '--seconds', '4.0']
    process = subprocess.run(
        [sys.executable, '-c', command, *options],
        env=environment,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SEC,
    )
    assert process.stdout, process.stderr
    found = json.loads(process.stdout)['findings']
    return {finding['name']: finding for finding in found}, process.returncode


def test_preflight_is_part_of_the_doctor_for_a_franka():
    with claimed_domain() as domain_id:
        environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain_id)}
        without, code = findings_of(environment)
        assert code == 1
        assert without['command topic']['blocks']
        assert without[f'/{names.CURRENT_POSE_TOPIC}']['state'] == 'missing'
        with running_arm(environment):
            found, _ = findings_of(environment)
        # Rates depend on what else the machine does; whether the arm listens does not.
        assert not found['command topic']['blocks']
        assert not found['torque thresholds']['blocks']
        assert 'stiffness' in ' '.join(found)

"""The doctor records a running arm and judges the contact thresholds by it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from helpers.arm_process import DEADLINE_SEC, running_arm
from helpers.domains import claimed_domain

pytestmark = pytest.mark.timeout(600)


def test_the_doctor_records_an_arm_and_draws_what_it_felt(tmp_path):
    with claimed_domain() as domain_id:
        environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain_id)}
        figure = tmp_path / 'contacts.png'
        command = 'from reward_learning_ros.cli.main import main; raise SystemExit(main())'
        options = ('--json', '--seconds', '0.1', '--record', '4', '--figure', str(figure))
        # A doctor is called to an arm that runs.
        with running_arm(environment, convenience_publish_rate=250):
            process = subprocess.run(
                [sys.executable, '-c', command, 'doctor', *options],
                env=environment,
                capture_output=True,
                text=True,
                timeout=DEADLINE_SEC,
            )
    assert process.stdout, process.stderr
    report = json.loads(process.stdout)
    numbers = report['contacts']
    assert 'franka_robot_state_broadcaster' in numbers['source']
    assert len(numbers['noise_nm']) == 7
    assert numbers['settled_sec'] > 0.0
    assert 0.0 < numbers['quiet_statistic'] < numbers['on_threshold']
    assert numbers['contacts'] == []
    assert figure.read_bytes().startswith(b'\x89PNG')
    found = {finding['name']: finding for finding in report['findings']}
    assert not found['contact thresholds']['blocks']

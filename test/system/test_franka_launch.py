"""A real arm is brought up in its order: thresholds first, then the controller, or not at all."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from helpers.domains import claimed_domain
from helpers.franka_services import require_types

from tools.pins import ROOT

pytestmark = [pytest.mark.fetched, pytest.mark.timeout(300)]

# In the place of franka_bringup: the services of an arm, without the arm.
BRINGUP = """
import sys
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess
from launch.substitutions import LaunchConfiguration

ARGUMENTS = ('robot_ip', 'robot_type', 'arm_prefix', 'namespace', 'load_gripper',
             'use_fake_hardware', 'controllers_yaml')

def generate_launch_description():
    given = map(LaunchConfiguration, ('namespace', 'controllers_yaml'))
    command = [sys.executable, SERVICES, *given]
    return LaunchDescription([
        *(DeclareLaunchArgument(name) for name in ARGUMENTS),
        ExecuteProcess(cmd=command, output='screen'),
    ])
"""
SERVICES = """
import sys
import rclpy
from helpers.franka_services import CONTROLLER, FrankaServices
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor

context = Context()
rclpy.init(args=[], context=context)
node = FrankaServices(context, sys.argv[1])
node.controllers[CONTROLLER] = STATE
print('joints of', [line.split('-')[1].strip() for line in open(sys.argv[2]) if '- ' in line][0],
      flush=True)
executor = SingleThreadedExecutor(context=context)
executor.add_node(node)
while context.ok():
    executor.spin_once(timeout_sec=0.1)
    if node.thresholds is not None:
        print('thresholds', *node.thresholds.upper_torque_thresholds_nominal, flush=True)
        node.thresholds = None
"""
# Activated, the arm would be ready: the launch has done its work.
SPAWNER = """
import os, signal, sys
print('spawner', *sys.argv[1:], flush=True)
os.kill(os.getppid(), signal.SIGINT)
"""
LAUNCH = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

given = dict(word.split(':=') for word in sys.argv[2:])
service = LaunchService(argv=[])
service.include_launch_description(LaunchDescription([
    IncludeLaunchDescription(
        PythonLaunchDescriptionSource(sys.argv[1]), launch_arguments=given.items()
    )
]))
raise SystemExit(service.run())
"""


@pytest.fixture
def bring_up(tmp_path):
    """Return a function that launches with a controller in some state, and gives the output."""
    require_types()
    pytest.importorskip('launch_ros', reason='launch and launch_ros are not installed')
    index = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    for package in ('franka_bringup', 'controller_manager'):
        (index / package).touch()
    share = tmp_path / 'share' / 'franka_bringup'
    (share / 'launch').mkdir(parents=True)
    (share / 'package.xml').write_text('<package><version>3.4.0</version></package>')
    (tmp_path / 'share' / 'controller_manager').mkdir()
    services = tmp_path / 'services.py'
    launch_file = share / 'launch' / 'franka.launch.py'
    launch_file.write_text(f'SERVICES = {str(services)!r}\n{BRINGUP}')
    spawner = tmp_path / 'lib' / 'controller_manager' / 'spawner'
    spawner.parent.mkdir(parents=True)
    spawner.write_text(f'#!{sys.executable}\n{SPAWNER}')
    spawner.chmod(0o755)

    def launch(state, *arguments):
        services.write_text(f'STATE = {state!r}\n{SERVICES}')
        with claimed_domain() as domain_id:
            environment = {
                **os.environ,
                'ROS_DOMAIN_ID': str(domain_id),
                'AMENT_PREFIX_PATH': f'{tmp_path}:{os.environ["AMENT_PREFIX_PATH"]}',
                'PYTHONPATH': f'{ROOT / "test"}:{os.environ.get("PYTHONPATH", "")}',
            }
            process = subprocess.run(
                [
                    *(sys.executable, '-c', LAUNCH, str(ROOT / 'launch' / 'franka.launch.py')),
                    *('robot_ip:=10.0.0.2', 'playback:=false', *arguments),
                ],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=200,
            )
        return process.stdout

    return launch


def test_the_controller_is_activated_after_the_thresholds(bring_up):
    output = bring_up(
        'inactive',
        'robot_type:=fr3v2',
        'namespace:=lab',
        'reflex_torque_nm:=30 30 30 30 11 11 11',
    )
    assert 'joints of fr3v2_joint1' in output
    set_at = output.find('thresholds 30.0 30.0 30.0 30.0 11.0 11.0 11.0')
    assert 0 <= set_at < output.find('spawner fr3_arm_controller'), output
    assert '__ns:=/lab' in output


def test_without_thresholds_the_controller_stays_inactive(bring_up):
    output = bring_up('active')
    assert 'takes collision thresholds only while idle' in output
    assert 'spawner fr3_arm_controller' not in output


def test_a_threshold_beyond_the_arm_starts_nothing(bring_up):
    output = bring_up('inactive', 'reflex_torque_nm:=200 30 30 30 11 11 11')
    assert 'reflex_torque_nm' in output
    assert 'joints of' not in output

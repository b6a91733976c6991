"""What the doctor makes of what it finds."""

from __future__ import annotations

import pytest

from reward_learning_ros.cli import _findings as findings
from reward_learning_ros.cli.doctor import DoctorParameters, examine, print_findings, verdict
from reward_learning_ros.core.errors import STAMP, install_command
from reward_learning_ros.session import supervisor
from tools import pins, recipe

EVERYTHING = lambda package: True  # noqa: E731
NOTHING = lambda package: False  # noqa: E731
TYPE = 'sensor_msgs/msg/JointState'


def all_but(*missing):
    return lambda package: package not in missing


def topic(**changes):
    return {
        'topic': '/arm/torques',
        'expected_type': TYPE,
        'required': True,
        'types': [TYPE],
        'publishers': 1,
        'reliability': ['best_effort'],
        'durability': ['volatile'],
        'rate_hz': 1000.0,
        **changes,
    }


def only(found):
    (finding,) = found
    return finding


@pytest.mark.parametrize(
    ('version', 'blocks'),
    [((3, 9, 1), True), ((3, 10, 0), False), ((3, 13, 9), False), ((3, 14, 0), True)],
)
def test_only_a_supported_python_will_do(version, blocks):
    finding = findings.python_finding(version)
    assert finding.blocks == blocks
    assert bool(finding.advice) == blocks
    assert '.'.join(map(str, version)) in finding.found


def test_without_rclpy_nothing_starts():
    finding = findings.ros_finding({}, NOTHING)
    assert finding.blocks
    assert 'setup.bash' in finding.advice


def test_a_sourced_ros_is_told_from_the_wheels(monkeypatch):
    monkeypatch.setattr(findings, 'wheel_distribution', lambda: '')
    assert findings.ros_finding({'ROS_DISTRO': 'humble'}, EVERYTHING).found == 'humble (sourced)'
    unknown = findings.ros_finding({'ROS_DISTRO': 'iron'}, EVERYTHING)
    assert (unknown.state, 'jazzy' in unknown.advice) == ('note', True)
    monkeypatch.setattr(findings, 'wheel_distribution', lambda: 'kilted')
    assert findings.ros_finding({}, EVERYTHING).found == 'kilted (wheels)'


@pytest.mark.parametrize('package', findings.MESSAGE_PACKAGES)
def test_each_message_package_is_needed(package):
    first, *_ = findings.message_findings('simulated', all_but(package))
    assert first.blocks
    assert package in first.found
    assert f'ros-$ROS_DISTRO-{package.replace("_", "-")}' in first.advice


@pytest.mark.parametrize('package', ['franka_msgs', 'controller_manager_msgs'])
@pytest.mark.parametrize(('arm', 'state'), [('simulated', 'note'), ('franka', 'missing')])
def test_messages_of_the_arm_are_required_with_a_real_one(package, arm, state):
    found = {item.name: item for item in findings.message_findings(arm, all_but(package))}
    assert found['message packages'].state == 'ok'
    assert found.pop(package).state == state
    assert {item.state for item in found.values()} == {'ok'}


def test_the_release_of_franka_ros2_is_told_with_a_real_arm_only(monkeypatch):
    def installed(release):
        monkeypatch.setattr(supervisor, 'installed_release', lambda: release)
        return findings.franka_finding('franka')

    assert findings.franka_finding('simulated') is None
    assert installed((3, 2, 0)).state == 'ok'
    assert installed(None).state == 'note'
    old = installed((3, 1, 1))
    assert old.blocks
    assert 'v3.2.0' in old.found


@pytest.mark.parametrize('package', findings.PYTHON_PACKAGES)
def test_each_python_package_is_needed(package):
    assert findings.package_findings('franka', all_but(package))[0].blocks


@pytest.mark.parametrize(('package', 'extra', '_'), findings.OPTIONAL_PACKAGES)
def test_an_optional_package_names_its_extra(package, extra, _):
    found = {item.name: item for item in findings.package_findings('franka', all_but(package))}
    finding = found[f'{package} [{extra}]']
    assert finding.state == 'note'
    assert install_command(extra) in finding.advice


def test_an_environment_of_make_names_the_layer_that_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr('sys.prefix', str(tmp_path))
    assert install_command('study') == "pip install 'reward_learning_ros[study]'"
    (tmp_path / STAMP).touch()
    assert install_command('study') == 'make environment WITH=study'
    # The layers of the tools, and the name of their stamp.
    assert STAMP == recipe.STAMP
    for _, extra, _ in findings.OPTIONAL_PACKAGES:
        assert install_command(extra).split('=')[1] in pins.LAYERS


def test_the_simulated_arm_needs_mujoco_and_the_real_one_does_not():
    for arm, blocks in (('simulated', True), ('franka', False)):
        found = findings.package_findings(arm, all_but('mujoco'))
        assert any(finding.blocks for finding in found) == blocks


def test_a_small_machine_is_noted_not_refused():
    found = findings.machine_findings(cores=1, memory_gb=0.5)
    assert [finding.state for finding in found] == ['note', 'note']
    found = findings.machine_findings(cores=2, memory_gb=8.0)
    assert [finding.state for finding in found] == ['ok', 'ok']


def test_memory_is_unknown_where_the_system_does_not_tell(tmp_path):
    assert findings.available_memory_gb(tmp_path / 'absent') is None
    path = tmp_path / 'meminfo'
    path.write_text('MemTotal: 9 kB\nMemAvailable:    2097152 kB\n')
    assert findings.available_memory_gb(path) == 2.0


@pytest.mark.parametrize(
    ('environment', 'domain', 'reach', 'states'),
    [
        ({}, '0', 'SUBNET (default)', ['ok', 'note']),
        (
            {'ROS_DOMAIN_ID': '7', 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'},
            '7',
            'LOCALHOST',
            ['ok', 'ok'],
        ),
        ({'ROS_LOCALHOST_ONLY': '1'}, '0', 'LOCALHOST', ['ok', 'ok']),
        (
            {'ROS_DISTRO': 'humble', 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'},
            '0',
            'SUBNET (Humble',
            ['ok', 'note'],
        ),
        ({'ROS_DOMAIN_ID': '233'}, '233', 'SUBNET', ['missing', 'note']),
        ({'ROS_DOMAIN_ID': 'x'}, 'x', 'SUBNET', ['missing', 'note']),
    ],
)
def test_domain_and_reach_are_told(environment, domain, reach, states):
    first, second = findings.network_findings(environment)
    assert first.found == domain
    assert second.found.startswith(reach)
    assert [first.state, second.state] == states


def test_topics_are_not_needed_without_a_real_arm():
    silent = topic(publishers=0, types=[], rate_hz=0.0)
    finding = only(findings.topic_findings([silent], arm='simulated', namespace=''))
    assert finding.state == 'ok'


def test_a_healthy_topic_tells_type_qos_and_rate():
    finding = only(findings.topic_findings([topic()], arm='franka', namespace='arm'))
    assert finding.state == 'ok'
    assert finding.found == f'{TYPE}, best effort, volatile, 1000 Hz'


@pytest.mark.parametrize(
    ('changes', 'advice'),
    [
        ({'publishers': 0, 'types': [], 'rate_hz': 0.0}, 'franka_bringup'),
        ({'types': ['std_msgs/msg/String'], 'rate_hz': None}, f'must be {TYPE}'),
        ({'rate_hz': 0.0}, 'nothing arrives'),
        ({'publishers': 2}, 'stop all but one'),
    ],
)
def test_a_sick_topic_blocks_only_a_session_that_needs_it(changes, advice):
    for arm, required, blocks in (
        ('franka', True, True),
        ('franka', False, False),
        ('simulated', True, False),
    ):
        sick = topic(required=required, **changes)
        finding = only(findings.topic_findings([sick], arm=arm, namespace=''))
        assert finding.blocks == blocks
        if blocks:
            assert advice in finding.advice


def test_no_node_no_session():
    config = DoctorParameters()
    found = examine(config, None, 'no such middleware')
    broken = next(finding for finding in found if finding.name == 'middleware')
    assert broken.blocks
    assert 'no such middleware' in broken.found
    assert 'cannot start: ' in verdict(config.arm, found)
    assert 'middleware' in verdict(config.arm, found)


def test_plain_text_has_every_finding_and_its_advice(capsys):
    found = [
        findings.Finding(name='one [sim]', found='here'),
        findings.Finding(name='two', found='gone', advice='get it', blocks=True),
    ]
    print_findings(found)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [
        ['ok', 'one', '[sim]', 'here'],
        ['MISSING', 'two', 'gone'],
        ['->', 'get', 'it'],
    ]


def test_a_terminal_gets_a_table_with_the_same(capsys, monkeypatch):
    monkeypatch.setattr('sys.stdout.isatty', lambda: True)
    print_findings([findings.Finding(name='one [sim]', found='here', advice='get it')])
    output = capsys.readouterr().out
    for text in ('note', 'one [sim]', 'here', 'get it', 'what to do'):
        assert text in output

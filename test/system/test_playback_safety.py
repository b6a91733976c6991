"""Processes of the arm and of playback, and what is left when one of them is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from helpers.arm_ros import line_plan
from helpers.domains import claimed_domain
from helpers.ros import PrivateRos
from nav_msgs.msg import Path
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from reward_learning_ros.arm.description import franka_arm
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.interface import Plan, PlaybackState, playback_status_from_message
from reward_learning_ros.nodes import arm_names, names
from reward_learning_ros.nodes.conversions import plan_to_message
from reward_learning_ros.nodes.polling import SAMPLES_QOS
from reward_learning_ros.playback.requests import MAX_REQUEST_AGE_SEC
from tools.repeat import busy

pytestmark = pytest.mark.timeout(600)

DEADLINE_SEC = 90.0
REPLACED_PLANS = 20
# Between two reports that are no farther apart than this, the set-point moves as its velocities
# say, to within a tenth of a millimetre.
MAX_GAP_NS = 25_000_000
# Reports of the set-point come a hundred times a second, and the plans take many seconds.
MIN_JUDGED = 100
ARM_PRIORITY = 40


class Session:
    """Both processes in real time, and an operator."""

    def __init__(self, domain_id: int) -> None:
        self._domain_id = domain_id
        self.processes: dict[str, subprocess.Popen] = {}
        self.ros = PrivateRos(domain_id)
        self.operator = self.ros.create_node('operator')
        self.status = None
        self.desired = None
        self.reports: list[JointState] = []
        self.operator.create_subscription(
            DiagnosticStatus, names.PLAYBACK_STATUS_TOPIC, self._on_status, names.LATCHED_QOS
        )
        self.operator.create_subscription(
            JointState, names.DESIRED_JOINT_STATES_TOPIC, self._on_desired, SAMPLES_QOS
        )
        self._plans = self.operator.create_publisher(Path, names.PLAN_TOPIC, names.LATCHED_QOS)

    def _on_status(self, message) -> None:
        self.status = playback_status_from_message(message)

    def _on_desired(self, message) -> None:
        self.desired = message
        self.reports.append(message)

    def launch(self, module: str, **parameters: object) -> None:
        arguments = [part for name in parameters for part in ('-p', f'{name}:={parameters[name]}')]
        self.processes[module] = subprocess.Popen(
            [
                sys.executable,
                '-m',
                f'reward_learning_ros.nodes.{module}',
                '--ros-args',
                *arguments,
            ],
            env={**os.environ, 'ROS_DOMAIN_ID': str(self._domain_id)},
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_until(self, condition) -> None:
        try:
            self.ros.wait_until(condition, DEADLINE_SEC)
        except TimeoutError as error:
            raise TimeoutError(f'{error}; {self.status}') from None

    def call(self, service: str):
        client = self.operator.create_client(Trigger, service)
        return self.ros.call(client, Trigger.Request(), DEADLINE_SEC)

    def bring_up(self, **arm: object) -> None:
        """Start both processes."""
        # A real arm has a computer of its own: where it may, the simulated one does not wait.
        self.launch(
            'simulated_arm',
            convenience_publish_rate=100,
            realtime_priority=ARM_PRIORITY,
            **arm,
        )
        self.launch('trajectory_playback')
        self.wait_until(lambda: self.desired is not None and self.status is not None)

    def give_plan(self, **options: object) -> Plan:
        plan = line_plan(self.operator.get_clock().now().nanoseconds, **options)
        self._plans.publish(plan_to_message(plan))
        return plan

    def get_ready(self, **arm: object) -> None:
        """Start both processes, and give them a slow plan."""
        self.bring_up(**arm)
        plan = self.give_plan(duration_sec=30.0)
        self.wait_until(lambda: self.status.plan_stamp_ns == plan.stamp_ns)
        self.wait_until(lambda: self.status.not_ready == '')

    def start(self, **arm: object) -> None:
        """Get a slow plan going."""
        self.get_ready(**arm)
        self.play()
        self.wait_until(lambda: self.status.progress > 0.01)

    def play(self, service: str = names.PLAYBACK_START_SERVICE) -> None:
        """Wait until playback is ready, and let it play."""
        self.wait_until(lambda: self.status.not_ready == '')
        response = self.call(service)
        assert response.success, response.message
        # Near its end, a plan may be finished before that is heard.
        played = (PlaybackState.PLAYING, PlaybackState.FINISHED)
        self.wait_until(lambda: self.status.state in played)

    def wait_for(self, seconds: float) -> None:
        """Wait until the arm tells of a time that is so far in the future."""
        end_ns = self.operator.get_clock().now().nanoseconds + round(seconds * 1e9)

        def is_over() -> bool:
            stamp = self.desired.header.stamp
            return stamp.sec * 10**9 + stamp.nanosec > end_ns

        self.wait_until(is_over)

    def largest_step_m(self) -> float:
        """Return the largest jump of the set-point: by how much more it moved than it should."""
        times_ns = np.array(
            [r.header.stamp.sec * 10**9 + r.header.stamp.nanosec for r in self.reports]
        )
        positions = np.array([report.position for report in self.reports])
        velocities = np.array([report.velocity for report in self.reports])
        gaps_ns = np.diff(times_ns)
        moved = (velocities[1:] + velocities[:-1]) / 2 * gaps_ns[:, None] / 1e9
        tool_poses = Kinematics(description=franka_arm()).tool_poses
        jumps = tool_poses(positions[1:])[0] - tool_poses(positions[:-1] + moved)[0]
        is_near = (gaps_ns > 0) & (gaps_ns <= MAX_GAP_NS)
        # Enough to judge by, however many the busy machine left out.
        assert np.count_nonzero(is_near) >= MIN_JUDGED
        return float(np.linalg.norm(jumps[is_near], axis=1).max())

    def is_moving(self) -> bool:
        return bool(np.any(self.desired.velocity))

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.communicate()
        self.ros.close()


def require_realtime_priority():
    """Skip where the simulated arm must wait for others, as no real one does."""
    program = f'import os; os.sched_setscheduler(0, os.SCHED_RR, os.sched_param({ARM_PRIORITY}))'
    tried = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f'no real-time priority for the arm: {tried.stderr.splitlines()[-1]}')


@pytest.fixture
def session():
    with claimed_domain() as domain_id:
        session = Session(domain_id)
        yield session
        session.close()


@pytest.mark.parametrize('asleep_sec', [0.6, MAX_REQUEST_AGE_SEC + 0.5])
def test_a_start_that_waited_while_playback_slept_does_not_move_the_arm(session, asleep_sec):
    session.get_ready()
    held = list(session.desired.position)
    client = session.operator.create_client(Trigger, names.PLAYBACK_START_SERVICE)
    session.wait_until(client.service_is_ready)
    session.processes['trajectory_playback'].send_signal(signal.SIGSTOP)
    request = client.call_async(Trigger.Request())
    session.wait_for(asleep_sec)
    assert not request.done()
    session.processes['trajectory_playback'].send_signal(signal.SIGCONT)
    session.wait_until(request.done)
    assert not request.result().success
    assert 'ask again' in request.result().message
    woken_ns = session.operator.get_clock().now().nanoseconds
    session.wait_for(1.0)
    session.wait_until(lambda: session.status.stamp_ns > woken_ns)
    assert session.status.state is PlaybackState.IDLE
    assert list(session.desired.position) == held
    # Asked again, it moves: the sleep itself forbids nothing.
    session.wait_until(lambda: session.status.not_ready == '')
    response = session.call(names.PLAYBACK_START_SERVICE)
    assert response.success, response.message
    session.wait_until(session.is_moving)


def test_an_arm_that_falls_silent_after_a_stop_moves_only_when_it_is_asked_again(session):
    session.start(silent_after_stop=True)
    stop = session.operator.create_client(SetBool, arm_names.USER_STOP_SERVICE)
    assert session.ros.call(stop, SetBool.Request(data=True), DEADLINE_SEC).success
    session.wait_until(lambda: session.status.state is PlaybackState.FAULT)
    assert 'old' in session.status.fault
    assert session.ros.call(stop, SetBool.Request(data=False), DEADLINE_SEC).success
    session.reports.clear()
    until_sec = time.monotonic() + 1.0
    session.wait_until(lambda: time.monotonic() > until_sec)
    assert session.reports == [], 'nothing is heard before the recovery'
    assert not session.call(names.PLAYBACK_RESUME_SERVICE).success
    assert session.call(arm_names.ERROR_RECOVERY_SERVICE).success
    session.wait_until(lambda: session.status.not_ready == '')
    session.wait_for(2.0)
    assert not any(any(report.velocity) for report in session.reports), 'nobody asked for it'
    session.play(names.PLAYBACK_RESUME_SERVICE)
    session.wait_until(session.is_moving)


def test_plans_that_replace_each_other_on_a_busy_machine_are_played_as_named(session):
    require_realtime_priority()
    session.start()
    with busy(2):
        replace_plans(session)


def replace_plans(session):
    rng = np.random.default_rng(16)
    session.reports.clear()
    for index in range(REPLACED_PLANS):
        end = rng.uniform((0.5, -0.2, 0.25), (0.6, 0.3, 0.4))
        is_last = index == REPLACED_PLANS - 1
        plan = session.give_plan(end=tuple(end), duration_sec=6.0 if is_last else 60.0)
        session.wait_for(rng.uniform(0.0, 0.4))
        assert session.status.faults == 0, session.status.last_fault
        if session.status.state is PlaybackState.FINISHED:
            # This machine is very busy.
            session.play()
        if index % 4 == 3:
            pause(session)
    session.wait_until(lambda: session.status.state is PlaybackState.FINISHED)
    assert session.status.plan_stamp_ns == plan.stamp_ns
    assert session.status.faults == 0, session.status.last_fault
    assert session.largest_step_m() < 1e-3
    session.wait_until(lambda: not session.is_moving())
    tool = Kinematics(description=franka_arm()).tool_poses(np.array(session.desired.position))[0]
    np.testing.assert_allclose(tool, plan.positions[-1], atol=1e-3)


def pause(session):
    """Pause and go on; only a plan that came to its end meanwhile cannot be paused."""
    asked_ns = session.operator.get_clock().now().nanoseconds
    response = session.call(names.PLAYBACK_PAUSE_SERVICE)
    if not response.success:
        session.wait_until(lambda: session.status.stamp_ns > asked_ns)
        assert session.status.state is PlaybackState.FINISHED, response.message
        return
    session.wait_until(lambda: session.status.state is PlaybackState.PAUSED)
    session.play(names.PLAYBACK_RESUME_SERVICE)


def test_a_killed_arm_makes_playback_say_so(session):
    session.start()
    session.processes['simulated_arm'].send_signal(signal.SIGKILL)
    session.wait_until(lambda: session.status.state is PlaybackState.FAULT)
    # Which of them is missed first is chance: all of them come from the arm.
    reasons = ('robot state is', 'the mode of the arm is', 'no controller')
    assert any(reason in session.status.fault for reason in reasons)


def test_both_end_cleanly_when_told_to(session):
    session.bring_up()
    session.processes['simulated_arm'].send_signal(signal.SIGINT)
    session.processes['trajectory_playback'].send_signal(signal.SIGTERM)
    for process in session.processes.values():
        _, errors = process.communicate(timeout=DEADLINE_SEC)
        assert process.returncode == 0
        assert 'Traceback' not in errors

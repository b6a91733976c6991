"""The simulated participant's node at the simulated arm, over real DDS."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from helpers.arm_ros import ArmAndPlayback
from nav_msgs.msg import Path

from reward_learning_ros.interface import (
    ParticipantState,
    participant_status_from_message,
    plan_from_message,
)
from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.running import events_executor
from reward_learning_ros.nodes.simulated_participant import SimulatedParticipantNode

SIMULATED_TIME = ('--ros-args', '-p', 'use_sim_time:=true')


class ArmAndParticipant(ArmAndPlayback):
    """The arm, its playback, and somebody who pushes it."""

    participant = None

    def __init__(self, make_ros, *arguments):
        super().__init__(make_ros)
        ros = make_ros(*SIMULATED_TIME, '-p', 'seed:=4', '-p', 'preset:=goal_obstacle', *arguments)
        node = SimulatedParticipantNode(context=ros.context)
        self._executor = events_executor(ros.context)
        self._executor.add_node(node)
        self.seen, self.ideals = [], []
        self.operator.create_subscription(
            DiagnosticStatus,
            names.PARTICIPANT_STATUS_TOPIC,
            lambda message: self.seen.append(participant_status_from_message(message)),
            names.LATCHED_QOS,
        )
        self.operator.create_subscription(
            Path,
            names.PARTICIPANT_IDEAL_TOPIC,
            lambda message: self.ideals.append(plan_from_message(message)),
            names.LATCHED_QOS,
        )
        self.participant = node

    def advance(self):
        super().advance()
        if self.participant is None:
            return
        deadline = time.monotonic() + 0.05
        clock = self.participant.get_clock()
        while clock.now().nanoseconds < self.arm.time_ns and time.monotonic() < deadline:
            self._executor.spin_once(timeout_sec=0.002)
        for _ in range(4):
            self._executor.spin_once(timeout_sec=0.0)

    def close(self):
        self._executor.shutdown()
        self.participant.destroy_node()

    def show(self, trajectory):
        """Play a trajectory quickly, once it is known what is wanted."""
        paths = self.participant.participation.participant.paths
        self.advance_until(lambda: self.ideals and self.seen)
        plan = paths.plan_of(trajectory, self.arm.time_ns)
        self.take_plan(dataclasses.replace(plan, times_sec=plan.times_sec * 0.4))
        self.await_ready()
        response = self.call(names.PLAYBACK_START_SERVICE)
        assert response.success, response.message


def test_they_push_the_arm_where_the_plan_is_wrong_and_leave_it_where_it_is_right(make_ros):
    pair = ArmAndParticipant(make_ros)
    try:
        person = pair.participant.participation.participant
        pair.show(person.task.plan)
        deviations = []

        def has_pushed():
            deviation = pair.participant.participation.displacement_m(
                pair.arm.time_ns, pair.arm.tool_position_m()
            )
            if deviation is not None and pair.seen[-1].state is ParticipantState.PUSHING:
                deviations.append(deviation)
            return pair.seen[-1].pushes > 0 and pair.seen[-1].state is not ParticipantState.PUSHING

        pair.advance_until(has_pushed, timeout_sec=120.0)
        # A push may outlast the plan, but it must not make the arm hold.
        assert pair.playback.status().faults == 0
        assert np.linalg.norm(deviations, axis=1).max() > 0.01
        np.testing.assert_array_equal(pair.seen[-1].theta, person.theta)
        assert pair.seen[-1].beta == 10.0
        np.testing.assert_allclose(pair.ideals[0].positions, person.ideal)

        # What they want is shown: they let it be.
        pushes = pair.seen[-1].pushes
        assert pair.call(names.PLAYBACK_STOP_SERVICE).success
        pair.advance_for(1.0)
        pair.show(person.ideal)
        pair.advance_until(
            lambda: (
                pair.playback.status().progress > 0.3
                and pair.seen[-1].state is ParticipantState.CONTENT
            ),
            timeout_sec=120.0,
        )
        assert pair.seen[-1].pushes == pushes
    finally:
        pair.close()

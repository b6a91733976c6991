"""Recovery, collision thresholds and controllers, asked for over real services."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.franka_services import BROADCASTER, CONTROLLER, FrankaServices, require_types
from std_srvs.srv import SetBool, Trigger

from reward_learning_ros.arm.franka import STEPS, CollisionParameters
from reward_learning_ros.cli.main import main
from reward_learning_ros.nodes import arm_names, names
from reward_learning_ros.nodes.arm_services import ArmServiceError, FrankaArmServices, Recovery
from reward_learning_ros.nodes.controller_watch import ControllerWatch
from reward_learning_ros.nodes.installed_interfaces import (
    MissingInterfaceError,
    find_interface,
    require_interface,
)
from reward_learning_ros.nodes.session_conductor import SessionConductorNode
from reward_learning_ros.nodes.simulated_arm import SimulatedArmNode

CONTROLLERS = (BROADCASTER, CONTROLLER)
IN_ORDER = ['error_recovery', 'set_hardware_component_state', 'switch_controller']
FRANKA_CONDUCTOR = (
    '--ros-args',
    *('-p', 'arm:=franka'),
    *('-p', f'controllers:=[{", ".join(CONTROLLERS)}]'),
)


@pytest.fixture
def franka(ros):
    """Services of a real arm, and who asks for them."""
    require_types()
    served = ros.add(FrankaServices(ros.context))
    asking = ros.create_node('asking')
    services = FrankaArmServices(asking, CONTROLLERS)
    ros.wait_until(lambda: services.are_ready)
    return served, asking, services


def recover(ros, recovery):
    finished = recovery.begin()
    ros.wait_until(finished.done)
    return finished.result()


def finish(ros, coroutine):
    task = ros.executor.create_task(coroutine)
    ros.wait_until(task.done)
    return task.result()


@pytest.mark.fetched
def test_after_a_reflex_the_three_steps_are_done_in_their_order(ros, franka):
    served, asking, services = franka
    served.controllers |= {'joint_state_broadcaster': 'active', 'another': 'inactive'}
    served.fall_into_reflex()
    sequence = recover(ros, Recovery(asking, services.do))
    assert sequence.is_complete, sequence.report
    assert served.asked == IN_ORDER
    # What the session does not use stays as it is.
    assert served.controllers.pop('another') == 'inactive'
    assert set(served.controllers.values()) == {'active'}
    assert len(sequence.report.splitlines()) == len(STEPS)


@pytest.mark.fetched
def test_nothing_is_switched_on_an_arm_that_does_not_recover(ros, franka):
    served, asking, services = franka
    served.fall_into_reflex()
    served.is_stopped = True
    recovery = Recovery(asking, services.do)
    sequence = recover(ros, recovery)
    assert not sequence.is_complete
    assert 'release the user stop' in sequence.report
    assert served.asked == IN_ORDER[:1]
    served.is_stopped = False
    assert recover(ros, recovery).is_complete


@pytest.mark.fetched
@pytest.mark.parametrize(
    'service',
    [
        arm_names.ERROR_RECOVERY_ACTION,
        arm_names.LIST_HARDWARE_SERVICE,
        arm_names.SET_HARDWARE_STATE_SERVICE,
        arm_names.LIST_CONTROLLERS_SERVICE,
        arm_names.SWITCH_CONTROLLER_SERVICE,
    ],
)
def test_a_service_that_never_answers_is_given_up(ros, franka, service):
    served, asking, services = franka
    served.fall_into_reflex()
    served.silent.add(service)
    recovery = Recovery(asking, services.do, timeout_sec=0.5)
    sequence = recover(ros, recovery)
    assert 'not done within' in sequence.report
    assert not recovery.is_running
    served.silent.clear()
    assert recover(ros, Recovery(asking, services.do)).is_complete


@pytest.mark.fetched
@pytest.mark.parametrize(
    'service', [arm_names.LIST_HARDWARE_SERVICE, arm_names.LIST_CONTROLLERS_SERVICE]
)
def test_an_answer_after_the_recovery_was_given_up_switches_nothing(ros, franka, service):
    served, asking, services = franka
    served.fall_into_reflex()
    served.silent.add(service)
    assert not recover(ros, Recovery(asking, services.do, timeout_sec=0.5)).is_complete
    asked = list(served.asked)
    served.silent.clear()
    served.late.set_result(None)
    looked = finish(ros, services.list_controllers())
    assert looked
    finish(ros, services.list_controllers())
    assert served.asked == asked


@pytest.mark.fetched
def test_hardware_that_is_not_of_this_arm_stays_as_it_is(ros, franka):
    served, asking, services = franka
    served.other_hardware = 'inactive'
    served.fall_into_reflex()
    assert recover(ros, Recovery(asking, services.do)).is_complete
    assert (served.hardware, served.other_hardware) == ('active', 'inactive')


@pytest.mark.fetched
@pytest.mark.parametrize('arm_prefix', ['', 'left'])
def test_the_services_of_one_of_several_arms_are_found(ros, arm_prefix):
    require_types()
    served = ros.add(FrankaServices(ros.context, arm_prefix=arm_prefix))
    asking = ros.create_node('asking')
    services = FrankaArmServices(asking, CONTROLLERS, 'left')
    ros.wait_until(lambda: services.are_ready)
    served.fall_into_reflex()
    assert recover(ros, Recovery(asking, services.do)).is_complete
    served.controllers[CONTROLLER] = 'inactive'
    finish(ros, services.set_collision_thresholds(CollisionParameters()))
    assert served.thresholds is not None


@pytest.mark.fetched
def test_what_recovery_cannot_mend_is_told_with_what_to_do(ros, franka):
    served, asking, services = franka
    served.hardware = 'finalized'
    recovery = Recovery(asking, services.do)
    assert 'bring the arm up again' in recover(ros, recovery).report
    served.hardware = 'active'
    del served.controllers[BROADCASTER]
    assert f'spawner {BROADCASTER}' in recover(ros, recovery).report


@pytest.mark.fetched
def test_thresholds_are_set_on_an_idle_arm_only(ros, franka):
    served, _, services = franka
    config = CollisionParameters(reflex_force_n=60.0, contact_share=0.25)
    with pytest.raises(ArmServiceError, match=f'deactivate {CONTROLLER}'):
        finish(ros, services.set_collision_thresholds(config))
    assert served.thresholds is None
    served.controllers[CONTROLLER] = 'inactive'
    finish(ros, services.set_collision_thresholds(config))
    told = served.thresholds
    for phase in ('acceleration', 'nominal'):
        upper = getattr(told, f'upper_torque_thresholds_{phase}')
        np.testing.assert_array_equal(upper, config.reflex_torque_nm)
        np.testing.assert_array_equal(
            getattr(told, f'lower_torque_thresholds_{phase}'), 0.25 * np.array(upper)
        )
        np.testing.assert_array_equal(
            getattr(told, f'upper_force_thresholds_{phase}'), [60.0] * 3 + [25.0] * 3
        )


@pytest.mark.fetched
def test_a_controller_that_is_not_active_is_seen(ros, franka):
    served, asking, _ = franka
    watch = ControllerWatch(asking)
    assert 'not asked yet' in watch.inactive(CONTROLLERS)[0]
    ros.wait_until(lambda: watch.states is not None)
    assert watch.inactive(CONTROLLERS) == ()
    served.controllers[CONTROLLER] = 'inactive'
    ros.wait_until(lambda: watch.inactive(CONTROLLERS))
    assert watch.inactive(CONTROLLERS) == (f'controller {CONTROLLER} (inactive)',)
    assert watch.inactive(('other',)) == ('controller other (not loaded)',)
    served.silent.add(arm_names.LIST_CONTROLLERS_SERVICE)
    ros.wait_until(lambda: watch.states is None)
    assert 'does not answer' in watch.inactive(CONTROLLERS)[0]


@pytest.mark.fetched
def test_a_session_waits_for_the_controllers_and_recovers_them_when_asked(make_ros, ros):
    require_types()
    served = ros.add(FrankaServices(ros.context))
    served.fall_into_reflex()
    conducting = make_ros(*FRANKA_CONDUCTOR)
    conductor = conducting.add(SessionConductorNode(context=conducting.context))
    operator = conducting.create_node('operator')
    client = operator.create_client(Trigger, names.SESSION_RECOVER_SERVICE)

    def spin_until(condition):
        conducting.wait_until(lambda: ros.executor.spin_once(timeout_sec=0.0) or condition())

    spin_until(lambda: f'{CONTROLLER} (inactive)' in conductor.machine.status.reason)
    spin_until(client.service_is_ready)
    served.silent.add(arm_names.LIST_HARDWARE_SERVICE)
    first = client.call_async(Trigger.Request())
    spin_until(lambda: 'the recovery of the arm' in conductor.machine.status.reason)
    # Two operators at once: the second is told so.
    second = client.call_async(Trigger.Request())
    spin_until(second.done)
    assert 'already' in second.result().message
    spin_until(first.done)
    assert not first.result().success
    served.silent.clear()
    third = client.call_async(Trigger.Request())
    spin_until(third.done)
    assert third.result().success, third.result().message
    spin_until(lambda: 'controller' not in conductor.machine.status.reason)


@pytest.mark.parametrize('package', ['franka_msgs', 'controller_manager_msgs'])
def test_without_the_types_nothing_is_tried_and_what_brings_them_is_told(
    package, make_ros, monkeypatch, domain_id, capsys
):
    name = {
        'franka_msgs': 'franka_msgs/action/ErrorRecovery',
        'controller_manager_msgs': 'controller_manager_msgs/srv/ListControllers',
    }[package]
    if find_interface(name) is not None:
        pytest.skip(f'{package} is installed')
    with pytest.raises(MissingInterfaceError, match=f'{package} is not installed: '):
        require_interface(name)
    conducting = make_ros(*FRANKA_CONDUCTOR)
    conductor = conducting.add(SessionConductorNode(context=conducting.context))
    conducting.wait_until(lambda: 'is not installed' in conductor.machine.status.reason)
    operator = conducting.create_node('operator')
    client = operator.create_client(Trigger, names.SESSION_RECOVER_SERVICE)
    answer = conducting.call(client, Trigger.Request())
    assert not answer.success
    assert 'is not installed' in answer.message
    monkeypatch.setenv('ROS_DOMAIN_ID', str(domain_id))
    for command in ('recover', 'thresholds'):
        assert main([command]) == 1
        assert 'is not installed' in capsys.readouterr().err


def test_a_simulated_arm_is_recovered_by_its_session(make_ros):
    arm_ros = make_ros()
    arm = arm_ros.add(SimulatedArmNode(context=arm_ros.context))
    conducting = make_ros()
    conducting.add(SessionConductorNode(context=conducting.context))
    operator = conducting.create_node('operator')
    client = operator.create_client(Trigger, names.SESSION_RECOVER_SERVICE)
    stop = operator.create_client(SetBool, arm_names.USER_STOP_SERVICE)

    def call(client, request):
        conducting.wait_until(client.service_is_ready)
        answer = client.call_async(request)
        conducting.wait_until(lambda: arm_ros.executor.spin_once(timeout_sec=0.0) or answer.done())
        return answer.result()

    call(stop, SetBool.Request(data=True))
    refused = call(client, Trigger.Request())
    assert not refused.success
    (line,) = refused.message.splitlines()
    assert line.startswith('clear the errors of the arm: FAILED, ')
    assert 'user stop' in line
    call(stop, SetBool.Request(data=False))
    arm.advance()
    recovered = call(client, Trigger.Request())
    assert recovered.success, recovered.message
    told = [line.split(': ')[0] for line in recovered.message.splitlines()]
    assert told == [step.value for step in STEPS]

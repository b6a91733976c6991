"""What trajectories do to the world, with the hand alone and with the whole arm."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import spearmanr

from reward_learning_ros.arm.curve import travel
from reward_learning_ros.arm.description import FR3, franka_arm
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.arm.scenes import SCENES, Button, Door, PushableBox, Scene, load_scene
from reward_learning_ros.arm.world import DRIVERS, UnreachableTrajectoryError, World
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError, install_command

EMPTY_TABLE = Scene(name='empty', table_height_m=0.0)
HOME = np.array(FR3.home_rad)


def near_home(**offsets_rad):
    joints = HOME.copy()
    for name, offset in offsets_rad.items():
        joints[int(name[-1]) - 1] += offset
    return joints


def random_pushes(count, seed):
    """The published sampler of the user study's Push, reachable ones only."""
    rng = np.random.default_rng(seed)
    trajectories = np.tile(np.linspace([0.35, 0.0, 0.12], [0.5, 0.0, 0.12], 3), (3 * count, 1, 1))
    for waypoint in (1, 2):
        trajectories[:, waypoint:, :2] += rng.uniform(-0.25, 0.25, (3 * count, 1, 2))
        trajectories[..., :2] = np.clip(trajectories[..., :2], [0.3, -0.4], [0.7, 0.1])
    return trajectories[Kinematics().reachable(trajectories)][:count]


def straight(start, end):
    return np.linspace(start, end, 3)[None]


# What stands out farthest below the cabinet's top: the palm, or on the whole arm the last link.
@pytest.mark.parametrize(('driver', 'front_m'), [('hand', 0.0315), ('arm', 0.045)])
def test_box_moves_as_far_as_it_is_pushed(driver, front_m):
    world = World(scene=load_scene('push_cabinet'), driver=driver)
    outcome = world.simulate(straight([0.35, 0.0, 0.12], [0.55, 0.0, 0.12]), 3.0)
    expected = 0.55 + front_m - 0.46
    moved = (outcome.final('box_position') - outcome.initial('box_position'))[0]
    assert moved[0] == pytest.approx(expected, abs=0.006)
    np.testing.assert_allclose(moved[1:], 0.0, atol=0.005)


@pytest.mark.parametrize('driver', DRIVERS)
def test_box_stays_when_nothing_touches_it(driver):
    world = World(scene=load_scene('push_cabinet'), driver=driver)
    outcome = world.simulate(straight([0.35, 0.0, 0.12], [0.4, -0.3, 0.12]), 2.0)
    path = outcome.path('box_position')
    assert np.abs(path - path[:, :1]).max() < 5e-4


@pytest.mark.parametrize('driver', DRIVERS)
def test_mirrored_pushes_have_mirrored_outcomes(driver):
    world = World(scene=load_scene('push_cabinet'), driver=driver)
    push = straight([0.35, 0.1, 0.12], [0.55, 0.05, 0.12])
    left, right = world.simulate(np.concatenate([push, push * [1.0, -1.0, 1.0]]), 2.0).final(
        'box_position'
    )
    assert left[0] > 0.65
    np.testing.assert_allclose(left * [1.0, -1.0, 1.0], right, atol=2e-3)


@pytest.mark.parametrize('driver', DRIVERS)
def test_door_closes_when_pushed_and_not_when_passed_above(driver):
    world = World(scene=load_scene('close'), driver=driver)
    low = straight([0.4, 0.0, 0.2], [0.62, -0.02, 0.2])
    high = low + np.array([0.0, 0.0, 0.25])
    angles = world.simulate(np.concatenate([low, high]), 3.0)
    assert angles.initial('door_angle') == pytest.approx(0.5)
    pushed, passed = angles.final('door_angle')[:, 0]
    assert abs(pushed) < 0.1
    assert passed == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize('driver', DRIVERS)
def test_button_is_pressed_from_above_only(driver):
    world = World(scene=load_scene('press'), driver=driver)
    press = np.array([[[0.5, 0.0, 0.3], [0.6, -0.1, 0.2], [0.6, -0.1, 0.13]]])
    beside = press + np.array([0.0, 0.15, 0.0])
    depth = world.simulate(np.concatenate([press, beside]), 3.0).final('button_depth')[:, 0]
    assert depth[0] == pytest.approx(0.01, abs=2e-3)
    assert depth[1] == pytest.approx(0.0, abs=5e-4)


def test_tilt_of_the_cup_is_that_of_the_joints():
    world = World(scene=load_scene('pour'))
    tipped = near_home(joint6=0.9)
    still, pour = np.stack([HOME] * 3), np.linspace(HOME, tipped, 3)
    outcome = world.simulate(np.stack([still, pour]), 2.0)
    np.testing.assert_allclose(outcome.tool_tilt_rad[:, 0], 0.0, atol=1e-6)
    np.testing.assert_allclose(outcome.tool_tilt_rad[0], 0.0, atol=0.01)
    assert outcome.tool_tilt_rad[1, -1] == pytest.approx(0.9, abs=0.02)
    expected = world.kinematics.tool_poses(tipped)[0]
    np.testing.assert_allclose(outcome.final('tool_position')[1], expected, atol=0.01)


@pytest.mark.parametrize('driver', DRIVERS)
def test_tool_follows_the_curve_where_nothing_is_in_its_way(driver):
    world = World(scene=EMPTY_TABLE, driver=driver)
    trajectory = np.array([[[0.4, 0.0, 0.3], [0.5, 0.2, 0.2], [0.5, -0.1, 0.4], [0.6, 0.0, 0.3]]])
    outcome = world.simulate(trajectory, 4.0)
    wanted = travel(trajectory, outcome.times_sec / 4.0).value
    errors = np.linalg.norm(outcome.path('tool_position') - wanted, axis=-1)
    assert np.sqrt((errors**2).mean()) < 0.01
    assert errors[0, -1] < 0.003
    np.testing.assert_allclose(outcome.tool_tilt_rad, 0.0, atol=0.06)


@pytest.mark.parametrize('driver', DRIVERS)
def test_outcome_does_not_depend_on_threads_or_company(driver):
    trajectories = random_pushes(7, seed=1)
    scene = load_scene('push_cabinet')
    one = World(scene=scene, driver=driver, thread_count=1).simulate(trajectories, 1.0)
    three = World(scene=scene, driver=driver, thread_count=3).simulate(trajectories, 1.0)
    backwards = World(scene=scene, driver=driver).simulate(trajectories[::-1], 1.0)
    alone = World(scene=scene, driver=driver).simulate(trajectories[4:5], 1.0)
    for name, values in one.channels.items():
        np.testing.assert_array_equal(values, three.path(name))
        np.testing.assert_array_equal(values, backwards.path(name)[::-1])
        np.testing.assert_array_equal(values[4:5], alone.path(name))


def test_hand_alone_ranks_pushes_as_the_whole_arm_does():
    trajectories = random_pushes(60, seed=2)
    moved = {}
    for driver in DRIVERS:
        outcome = World(scene=load_scene('push_cabinet'), driver=driver).simulate(
            trajectories, 2.0
        )
        change = outcome.final('box_position') - outcome.initial('box_position')
        moved[driver] = np.linalg.norm(change[:, :2], axis=1)
    assert np.ptp(moved['arm']) > 0.2
    assert spearmanr(moved['hand'], moved['arm'])[0] > 0.95


def test_progress_counts_up_to_the_total():
    calls = []
    trajectories = np.repeat(random_pushes(1, seed=3), 300, axis=0)
    world = World(scene=EMPTY_TABLE, driver='hand', settle_sec=0.0, timestep_sec=0.01)
    world.simulate(trajectories, 0.1, lambda done, total: calls.append((done, total)))
    assert calls[-1] == (300, 300)
    assert len(calls) > 1
    assert calls == sorted(calls)


def test_outcomes_have_the_promised_shapes_and_cannot_be_changed():
    world = World(scene=load_scene('push_cabinet'), sample_count=11)
    outcome = world.simulate(random_pushes(3, seed=4), 1.0)
    assert outcome.times_sec.shape == (11,)
    assert outcome.times_sec[-1] == pytest.approx(1.3, abs=0.005)
    assert {name: values.shape for name, values in outcome.channels.items()} == {
        'tool_position': (3, 11, 3),
        'tool_quaternion': (3, 11, 4),
        'box_position': (3, 11, 3),
        'box_quaternion': (3, 11, 4),
    }
    with pytest.raises(ValueError, match='read-only'):
        outcome.path('box_position')[0, 0, 0] = 1.0
    with pytest.raises(UnknownNameError, match=r'door_angle.*known: box_position'):
        outcome.final('door_angle')


def test_unreachable_trajectories_are_told_apart_and_not_simulated():
    world = World(scene=load_scene('push_cabinet'), driver='hand')
    good = random_pushes(3, seed=5)
    bad = straight([0.35, 0.0, 0.12], [1.1, 0.0, 0.12])
    mixed = np.concatenate([good[:2], bad, good[2:]])
    np.testing.assert_array_equal(world.reachable(mixed), [True, True, False, True])
    for driver in DRIVERS:
        with pytest.raises(UnreachableTrajectoryError, match='1 of 4') as caught:
            World(scene=world.scene, driver=driver).simulate(mixed, 1.0)
        np.testing.assert_array_equal(caught.value.indices, [2])


def test_joint_trajectories_are_reachable_inside_the_limits_and_above_the_table():
    world = World(scene=load_scene('pour'))
    beyond = near_home(joint4=2.3)
    below = near_home(joint2=1.7, joint4=0.5)
    fine = near_home(joint1=0.3, joint2=0.1, joint5=0.2, joint7=-0.3)
    trajectories = np.stack([np.linspace(HOME, end, 3) for end in (beyond, below, fine)])
    np.testing.assert_array_equal(world.reachable(trajectories), [False, False, True])


def test_fingerprint_is_that_of_what_determines_outcomes():
    scene = load_scene('push_cabinet')
    same = World(scene=scene).fingerprint
    assert same == World(scene=scene, thread_count=1).fingerprint
    others = {
        World(scene=load_scene('push')).fingerprint,
        World(scene=scene, driver='hand').fingerprint,
        World(scene=scene, timestep_sec=0.002).fingerprint,
        World(scene=scene, settle_sec=0.1).fingerprint,
        World(scene=scene, kinematics=Kinematics(singularity_margin=0.05)).fingerprint,
    }
    assert len(others) == 5
    assert same not in others


@pytest.mark.parametrize('name', SCENES)
def test_every_scene_is_at_rest_until_something_touches_it(name):
    world = World(scene=load_scene(name))
    away = np.stack([np.linspace(HOME, HOME + 0.01, 2)])
    outcome = world.simulate(away, 1.0)
    for channel, values in outcome.channels.items():
        assert np.isfinite(values).all()
        if not channel.startswith('tool'):
            np.testing.assert_allclose(values[:, -1], values[:, 0], atol=1e-3)


@pytest.mark.parametrize(
    ('options', 'named'),
    [
        ({'driver': 'wheels'}, 'driver'),
        ({'timestep_sec': 0.0}, 'timestep_sec'),
        ({'settle_sec': -1.0}, 'settle_sec'),
        ({'sample_count': 1}, 'sample_count'),
        ({'thread_count': 0}, 'thread_count'),
        ({'kinematics': Kinematics(description=franka_arm(hand=False))}, 'no hand'),
    ],
)
def test_bad_options_are_refused(options, named):
    with pytest.raises(InvalidInputError, match=named):
        World(scene=EMPTY_TABLE, **options)


def test_bad_trajectories_durations_and_objects_are_refused():
    world = World(scene=EMPTY_TABLE, driver='hand')
    with pytest.raises(InvalidInputError, match='shape'):
        world.simulate(np.zeros((2, 3, 2)), 1.0)
    with pytest.raises(InvalidInputError, match='hand'):
        world.simulate(np.stack([[HOME, HOME]]), 1.0)
    with pytest.raises(InvalidInputError, match='duration_sec'):
        world.simulate(random_pushes(1, seed=6), 0.0)
    with pytest.raises(InvalidInputError, match='finite'):
        world.reachable(np.full((1, 2, 3), np.nan))
    with pytest.raises(InvalidInputError, match='mass_kg'):
        PushableBox(position_m=(0, 0, 0), size_m=(1, 1, 1), mass_kg=0.0, friction=0.3)
    with pytest.raises(InvalidInputError, match='open_rad'):
        Door(hinge_m=(0, 0, 0), width_m=0.4, height_m=0.3, open_rad=3.0)
    with pytest.raises(InvalidInputError, match='travel_m'):
        Button(position_m=(0, 0, 0), travel_m=-0.01)
    with pytest.raises(UnknownNameError, match='push_cabinet'):
        load_scene('swim')


def run_in_a_fresh_process(program):
    return subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, check=False
    )


def test_without_mujoco_only_the_world_is_missing_and_says_how_to_get_it():
    finished = run_in_a_fresh_process(
        'import sys\n'
        'sys.modules["mujoco"] = None\n'
        'from reward_learning_ros.arm import kinematics, timing, mjcf\n'
        'from reward_learning_ros.arm.world import World\n'
        'from reward_learning_ros.arm.scenes import load_scene\n'
        'from reward_learning_ros.core.errors import MissingExtraError\n'
        'try:\n'
        '    World(scene=load_scene("push"))\n'
        'except MissingExtraError as error:\n'
        '    print(error)\n'
    )
    assert finished.returncode == 0, finished.stderr
    assert install_command('sim') in finished.stdout


def test_importing_the_arm_imports_no_mujoco_and_no_ros():
    finished = run_in_a_fresh_process(
        'import sys\n'
        'import reward_learning_ros.arm.timing, reward_learning_ros.arm.world\n'
        'print(sorted({"mujoco", "rclpy"} & set(sys.modules)))\n'
    )
    assert finished.stdout.strip() == '[]', finished.stderr

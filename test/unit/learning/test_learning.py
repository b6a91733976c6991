"""What was heard becomes trajectories, θ and the next plan, the same every time."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from reward_learning_ros import core
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.interface import Correction
from reward_learning_ros.learning import Learner, LearningParameters, ToolPaths, learn
from reward_learning_ros.parameters import ParameterError

PARAMETERS = LearningParameters(task='press', seed=3)


@pytest.fixture(scope='module')
def press():
    return core.load_task('press')


@pytest.fixture(scope='module')
def paths(press):
    return ToolPaths(task=press)


def correction_of(plan, delta, onset, *, stamp_ns, turn=(0.0, 0.0, 0.0, 1.0)):
    """Return a correction that shifts the waypoint of its onset and all later ones."""
    n = len(plan.positions)
    moved = np.arange(n) >= onset
    return Correction(
        stamp_ns=stamp_ns,
        frame_id=plan.frame_id,
        tool_frame='fr3_hand_tcp',
        plan_stamp_ns=plan.stamp_ns,
        delta_positions=moved[:, None] * np.asarray(delta, dtype=float),
        delta_orientations=np.where(moved[:, None], turn, [0.0, 0.0, 0.0, 1.0]),
        times_sec=plan.times_sec,
        onset_waypoint=onset,
        onset_time_sec=float(plan.times_sec[onset]),
        duration_sec=1.0,
        peak_force=10.0,
        confidence=1.0,
    )


def person(press, *, count, seed, plan=None):
    theta = next(iter(press.presets.values()))
    return core.simulate_corrections(press, theta, beta=20.0, count=count, seed=seed, plan=plan)


def heard(paths, sequence, plan, *, first_ns):
    """Return corrections on the wire that make a sequence of a plan."""
    return [
        correction_of(plan, displacement[-1], int(np.argmax(profile)), stamp_ns=first_ns + i)
        for i, (displacement, profile) in enumerate(
            zip(sequence.displacements, sequence.resolved_profiles(), strict=True)
        )
    ]


@pytest.mark.parametrize('name', ['press', 'reach', 'shelf', 'serve', 'published_press'])
def test_a_trajectory_survives_the_way_over_a_plan(name):
    task = core.load_task(name)
    paths = ToolPaths(task=task)
    rng = np.random.default_rng(1)
    trajectory = task.plan + rng.uniform(-0.05, 0.05, task.plan.shape)
    plan = paths.plan_of(trajectory, 7)
    assert plan.stamp_ns == 7
    assert plan.frame_id == 'fr3_link0'
    assert plan.duration_sec == task.duration_sec
    np.testing.assert_allclose(paths.trajectory_of(plan), trajectory, atol=1e-14)


def test_the_gripper_points_down_where_a_task_does_not_turn_it(paths):
    plan = paths.initial_plan(0)
    axes = Rotation.from_quat(plan.orientations).apply([0.0, 0.0, 1.0])
    np.testing.assert_allclose(axes, np.tile([0.0, 0.0, -1.0], (8, 1)), atol=1e-15)


def test_a_turn_of_the_tool_is_a_tilt_of_the_cup():
    task = core.load_task('serve')
    paths = ToolPaths(task=task)
    plan = paths.initial_plan(1)
    turn = Rotation.from_euler('y', 0.3).as_quat()
    correction = correction_of(plan, (0.0, 0.01, 0.0), 2, stamp_ns=5, turn=turn)
    trajectories, _ = paths.corrected(plan, [correction])
    expected = task.plan.copy()
    expected[2:] += [0.0, 0.01, 0.0, 0.3]
    np.testing.assert_allclose(trajectories[0], expected, atol=1e-14)


def test_a_task_of_joints_becomes_tool_poses_and_back():
    from reward_learning_ros.arm.tasks.pour import make_task

    task = make_task()
    paths = ToolPaths(task=task)
    plan = paths.initial_plan(1)
    joints = paths.trajectory_of(plan)
    positions, rotations = paths.kinematics.tool_poses(joints)
    np.testing.assert_allclose(positions, plan.positions, atol=1e-4)
    np.testing.assert_allclose(
        rotations, Rotation.from_quat(plan.orientations).as_matrix(), atol=1e-3
    )


def test_a_task_that_no_tool_can_follow_is_refused():
    with pytest.raises(InvalidInputError, match='axes are angle'):
        ToolPaths(task=core.load_task('cup'))


def test_corrections_of_one_plan_accumulate(press, paths):
    plan = paths.initial_plan(10)
    learner = Learner(paths)
    learner.add_plan(plan)
    assert learner.add_correction(correction_of(plan, (0.05, 0.0, 0.0), 2, stamp_ns=20))
    assert learner.add_correction(correction_of(plan, (0.0, 0.03, 0.0), 5, stamp_ns=30))
    (sequence,) = learner.sequences()
    np.testing.assert_array_equal(sequence.plan, press.plan)
    np.testing.assert_allclose(sequence.corrected[0, 2:], np.add(press.plan[2:], [0.05, 0.0, 0.0]))
    np.testing.assert_allclose(
        sequence.corrected[1, 5:], np.add(press.plan[5:], [0.05, 0.03, 0.0])
    )
    np.testing.assert_allclose(sequence.profiles, np.arange(8) >= np.array([[2], [5]]), atol=1e-15)


def test_a_new_plan_starts_a_sequence_of_its_own(paths):
    first = paths.initial_plan(10)
    second = paths.plan_of(np.add(paths.task.plan, [0.02, 0.0, 0.0]), 40)
    learner = Learner(paths)
    for plan in (first, second):
        learner.add_plan(plan)
    learner.add_correction(correction_of(first, (0.05, 0.0, 0.0), 2, stamp_ns=20))
    learner.add_correction(correction_of(second, (0.0, 0.0, 0.05), 4, stamp_ns=50))
    one, two = learner.sequences()
    np.testing.assert_allclose(two.plan, np.add(one.plan, [0.02, 0.0, 0.0]))
    assert (len(one), len(two)) == (1, 1)


def test_a_correction_waits_for_its_plan(paths):
    plan = paths.initial_plan(10)
    learner = Learner(paths)
    learner.add_correction(correction_of(plan, (0.05, 0.0, 0.0), 2, stamp_ns=20))
    assert learner.sequences() == ()
    assert len(learner.waiting) == 1
    learner.add_plan(plan)
    assert len(learner.sequences()) == 1
    assert learner.waiting == ()


def test_hearing_a_correction_twice_changes_nothing(paths):
    plan = paths.initial_plan(10)
    learner = Learner(paths)
    learner.add_plan(plan)
    correction = correction_of(plan, (0.05, 0.0, 0.0), 2, stamp_ns=20)
    assert learner.add_correction(correction)
    assert not learner.add_correction(correction)
    assert len(learner.sequences()[0]) == 1


def test_undo_and_reset_forget(paths):
    plan = paths.initial_plan(10)
    learner = Learner(paths)
    learner.add_plan(plan)
    corrections = [
        correction_of(plan, (0.01 * i, 0.0, 0.0), i, stamp_ns=20 + i) for i in range(1, 5)
    ]
    for correction in corrections:
        learner.add_correction(correction)
    assert learner.undo() == corrections[-1]
    assert learner.corrections == tuple(corrections[:-1])
    learner.keep_only([21, 23])
    assert learner.corrections == (corrections[0], corrections[2])
    learner.reset()
    assert learner.corrections == ()
    assert learner.undo() is None


def test_a_correction_of_another_length_is_refused(paths):
    plan = paths.initial_plan(10)
    learner = Learner(paths)
    learner.add_plan(plan)
    shorter = ToolPaths(task=core.load_task('shelf')).initial_plan(10)
    with pytest.raises(InvalidInputError, match='moves 6 waypoints of a plan that has 8'):
        learner.add_correction(correction_of(shorter, (0.0, 0.1, 0.0), 1, stamp_ns=1))
    assert learner.corrections == ()


def test_a_correction_that_moves_nothing_keeps_its_onset(paths):
    plan = paths.initial_plan(10)
    learner = Learner(paths)
    learner.add_plan(plan)
    learner.add_correction(correction_of(plan, (0.0, 0.0, 0.0), 6, stamp_ns=20))
    (sequence,) = learner.sequences()
    np.testing.assert_array_equal(sequence.profiles[0], np.arange(8) >= 6)


def test_coordinates_that_nobody_chooses_stay_in_the_plan():
    task = core.load_task('published_push')
    paths = ToolPaths(task=task)
    plan = paths.initial_plan(10)
    learner = Learner(paths)
    learner.add_plan(plan)
    learner.add_correction(correction_of(plan, (0.05, 0.0, 0.04), 1, stamp_ns=20))
    (sequence,) = learner.sequences()
    np.testing.assert_allclose(sequence.displacements[0, 1:], np.tile([0.05, 0.0, 0.0], (2, 1)))


@pytest.fixture(scope='module')
def lesson_and_sequences(press, paths):
    plan = paths.initial_plan(10)
    learner = Learner(paths)
    learner.add_plan(plan)
    for correction in heard(paths, person(press, count=4, seed=5), plan, first_ns=20):
        learner.add_correction(correction)
    sequences = learner.sequences()
    return learn(PARAMETERS, sequences), sequences


def test_the_same_corrections_teach_the_same_to_the_last_digit(lesson_and_sequences, press):
    lesson, sequences = lesson_and_sequences
    again = learn(PARAMETERS, pickle.loads(pickle.dumps(sequences)), task=press, threads=1)
    np.testing.assert_array_equal(again.posterior.chains, lesson.posterior.chains)
    np.testing.assert_array_equal(again.trajectory, lesson.trajectory)
    assert again.theta == lesson.theta
    assert again.plan == lesson.plan


def test_a_lesson_survives_the_way_to_another_process(lesson_and_sequences):
    lesson, _ = lesson_and_sequences
    copy = pickle.loads(pickle.dumps(lesson))
    assert copy.theta == lesson.theta
    assert copy.samples == lesson.samples
    assert copy.reasons == lesson.reasons
    assert copy.stamped_plan(99).stamp_ns == 99


def test_a_good_lesson_improves_the_plan(lesson_and_sequences, press):
    lesson, _ = lesson_and_sequences
    assert lesson.is_trusted, lesson.reasons
    theta = next(iter(press.presets.values()))
    before, after = press.evaluate(np.stack([press.plan, lesson.trajectory])) @ theta
    assert after > before


def test_what_cannot_be_driven_is_not_planned(lesson_and_sequences):
    _, sequences = lesson_and_sequences
    narrow = LearningParameters(
        task='press',
        workspace_lower_m=(0.2, -0.01, 0.02),
        workspace_upper_m=(0.85, 0.01, 0.9),
        target_ess=100.0,
        max_draws=250,
    )
    lesson = learn(narrow, sequences)
    assert not lesson.is_trusted
    assert any('no plan for the arm' in reason for reason in lesson.reasons)
    assert lesson.plan is None


def test_a_workspace_that_playback_refuses_is_refused_here():
    with pytest.raises(ParameterError, match='workspace_lower_m'):
        LearningParameters(workspace_lower_m=(0.1, 0.2))

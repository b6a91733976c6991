"""What was heard becomes trajectories, θ and the next plan, the same every time."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from reward_learning_ros import core
from reward_learning_ros.core.errors import CancelledError, InvalidInputError
from reward_learning_ros.interface import Correction, PassCorrections, data_digest
from reward_learning_ros.learning import (
    Learner,
    LearningParameters,
    ToolPaths,
    learn,
    parameters_as_recorded,
)
from reward_learning_ros.parameters import ParameterError, from_mapping, to_mapping

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


def pass_of(plan, deltas, *, waypoints=None, turns=None, times_sec=None):
    """Return what was told of a pass: deltas at some waypoints, by default at the first ones."""
    deltas = np.asarray(deltas, dtype=float).reshape(-1, 3)
    waypoints = range(len(deltas)) if waypoints is None else waypoints
    still = np.tile([0.0, 0.0, 0.0, 1.0], (len(deltas), 1))
    return PassCorrections(
        plan_stamp_ns=plan.stamp_ns,
        frame_id=plan.frame_id,
        tool_frame='fr3_hand_tcp',
        times_sec=plan.times_sec[list(waypoints)] if times_sec is None else times_sec,
        delta_positions=deltas,
        delta_orientations=still if turns is None else turns,
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
    from reward_learning_ros.tasks.pour import make_task

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
    assert learner.add_corrections(correction_of(plan, (0.05, 0.0, 0.0), 2, stamp_ns=20))
    assert learner.add_corrections(correction_of(plan, (0.0, 0.03, 0.0), 5, stamp_ns=30))
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
    learner.add_corrections(correction_of(first, (0.05, 0.0, 0.0), 2, stamp_ns=20))
    learner.add_corrections(correction_of(second, (0.0, 0.0, 0.05), 4, stamp_ns=50))
    one, two = learner.sequences()
    np.testing.assert_allclose(two.plan, np.add(one.plan, [0.02, 0.0, 0.0]))
    assert (len(one), len(two)) == (1, 1)


def test_a_correction_waits_for_its_plan(paths):
    plan = paths.initial_plan(10)
    learner = Learner(paths)
    learner.add_corrections(correction_of(plan, (0.05, 0.0, 0.0), 2, stamp_ns=20))
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
    assert learner.add_corrections(correction)
    assert not learner.add_corrections(correction)
    assert len(learner.sequences()[0]) == 1


def test_undo_and_reset_forget(paths):
    plan = paths.initial_plan(10)
    learner = Learner(paths)
    learner.add_plan(plan)
    corrections = [
        correction_of(plan, (0.01 * i, 0.0, 0.0), i, stamp_ns=20 + i) for i in range(1, 5)
    ]
    for correction in corrections:
        learner.add_corrections(correction)
    assert learner.undo() == corrections[-1]
    assert learner.active == tuple(corrections[:-1])
    learner.keep_only([21, 23])
    assert learner.active == (corrections[0], corrections[2])
    learner.reset()
    assert learner.active == ()
    assert learner.undo() is None


def test_a_correction_of_another_length_is_refused(paths):
    plan = paths.initial_plan(10)
    learner = Learner(paths)
    learner.add_plan(plan)
    shorter = ToolPaths(task=core.load_task('shelf')).initial_plan(10)
    with pytest.raises(InvalidInputError, match='moves 6 waypoints of a plan that has 8'):
        learner.add_corrections(correction_of(shorter, (0.0, 0.1, 0.0), 1, stamp_ns=1))
    assert learner.active == ()


def test_a_correction_that_moves_nothing_keeps_its_onset(paths):
    plan = paths.initial_plan(10)
    learner = Learner(paths)
    learner.add_plan(plan)
    learner.add_corrections(correction_of(plan, (0.0, 0.0, 0.0), 6, stamp_ns=20))
    (sequence,) = learner.sequences()
    np.testing.assert_array_equal(sequence.profiles[0], np.arange(8) >= 6)


def test_coordinates_that_nobody_chooses_stay_in_the_plan():
    task = core.load_task('published_push')
    paths = ToolPaths(task=task)
    plan = paths.initial_plan(10)
    learner = Learner(paths)
    learner.add_plan(plan)
    learner.add_corrections(correction_of(plan, (0.05, 0.0, 0.04), 1, stamp_ns=20))
    (sequence,) = learner.sequences()
    np.testing.assert_allclose(sequence.displacements[0, 1:], np.tile([0.05, 0.0, 0.0], (2, 1)))


@pytest.fixture(scope='module')
def result_and_sequences(press, paths):
    plan = paths.initial_plan(10)
    learner = Learner(paths)
    learner.add_plan(plan)
    for correction in heard(paths, person(press, count=4, seed=5), plan, first_ns=20):
        learner.add_corrections(correction)
    sequences = learner.sequences()
    return learn(PARAMETERS, sequences), sequences


def test_the_same_corrections_teach_the_same_to_the_last_digit(result_and_sequences, press):
    result, sequences = result_and_sequences
    again = learn(PARAMETERS, pickle.loads(pickle.dumps(sequences)), task=press, threads=1)
    np.testing.assert_array_equal(again.posterior.chains, result.posterior.chains)
    np.testing.assert_array_equal(again.trajectory, result.trajectory)
    assert again.theta == result.theta
    assert again.plan == result.plan


def test_a_result_survives_the_way_to_another_process(result_and_sequences):
    result, _ = result_and_sequences
    copy = pickle.loads(pickle.dumps(result))
    assert copy.theta == result.theta
    assert copy.samples == result.samples
    assert copy.reasons == result.reasons
    assert copy.stamped_plan(99).stamp_ns == 99


def test_a_good_result_improves_the_plan(result_and_sequences, press):
    result, _ = result_and_sequences
    assert result.is_trusted, result.reasons
    theta = next(iter(press.presets.values()))
    before, after = press.evaluate(np.stack([press.plan, result.trajectory])) @ theta
    assert after > before


def test_an_inference_that_is_not_wanted_any_more_gives_no_result(result_and_sequences, press):
    _, sequences = result_and_sequences
    batches = []
    with pytest.raises(CancelledError):
        learn(
            PARAMETERS,
            sequences,
            task=press,
            on_progress=lambda progress: batches.append(progress.stage),
            should_stop=lambda: 'sampling' in batches,
        )
    assert batches.count('sampling') == 1


def test_what_cannot_be_driven_is_not_planned(result_and_sequences):
    _, sequences = result_and_sequences
    narrow = LearningParameters(
        task='press',
        workspace_lower_m=(0.2, -0.01, 0.02),
        workspace_upper_m=(0.85, 0.01, 0.9),
        target_ess=100.0,
        max_draws=250,
    )
    result = learn(narrow, sequences)
    assert not result.is_trusted
    assert any('no plan for the arm' in reason for reason in result.reasons)
    assert result.plan is None


def test_a_workspace_that_playback_refuses_is_refused_here():
    with pytest.raises(ParameterError, match='workspace_lower_m'):
        LearningParameters(workspace_lower_m=(0.1, 0.2))


# Deltas of a pass of eight waypoints: exactly zero, or far more than a rounding error.
DELTAS = st.lists(
    st.one_of(
        st.just((0.0, 0.0, 0.0)),
        st.tuples(*[st.floats(0.001, 0.1) | st.floats(-0.1, -0.001)] * 3),
    ),
    min_size=7,
    max_size=7,
)


@given(deltas=DELTAS, known=st.lists(st.booleans(), min_size=7, max_size=7))
def test_a_pass_is_the_sequence_of_what_is_known_of_it(press, paths, deltas, known):
    plan = paths.initial_plan(10)
    # What nobody knows of was no push either: the tool did not move there.
    deltas = [
        delta if is_known else (0.0, 0.0, 0.0)
        for delta, is_known in zip(deltas, known, strict=True)
    ]
    told = [index for index, is_known in enumerate(known) if is_known]
    corrections = pass_of(plan, [deltas[i] for i in told], waypoints=[i + 1 for i in told])
    sequence = paths.pass_sequence(plan, corrections)
    if not told:
        assert sequence is None
        return
    states = [
        ('pushed' if any(delta) else 'silent') if is_known else 'unknown'
        for delta, is_known in zip(deltas, known, strict=True)
    ]
    expected = core.CorrectionSequence.from_pass(press.plan, deltas, states)
    np.testing.assert_array_equal(sequence.plan, expected.plan)
    np.testing.assert_array_equal(sequence.profiles, expected.profiles)
    np.testing.assert_array_equal(sequence.pushed, expected.pushed)
    np.testing.assert_allclose(sequence.corrected, expected.corrected, atol=1e-14)
    # Silence is exactly silence, and what lies before a push is exactly as it was.
    for displacement, profile, pushed in zip(
        sequence.displacements, sequence.profiles, sequence.pushed, strict=True
    ):
        assert pushed or not displacement.any()
        assert not displacement[profile == 0.0].any()


@pytest.mark.parametrize('name', ['press', 'serve', 'published_push'])
def test_an_untouched_pass_moves_nothing(name):
    paths = ToolPaths(task=core.load_task(name))
    plan = paths.initial_plan(1)
    sequence = paths.pass_sequence(plan, pass_of(plan, np.zeros((len(plan.positions), 3))))
    assert len(sequence) == len(plan.positions) - paths.task.space.fixed_waypoints
    assert not sequence.pushed.any()
    assert not sequence.displacements.any()


def test_a_push_before_the_first_free_waypoint_moves_the_later_ones(paths):
    plan = paths.initial_plan(1)
    early = paths.pass_sequence(plan, pass_of(plan, [[0.0, 0.02, 0.0]], waypoints=[0]))
    both = paths.pass_sequence(plan, pass_of(plan, [[0.0, 0.02, 0.0], [0.0, 0.0, 0.0]]))
    for sequence in (early, both):
        np.testing.assert_array_equal(sequence.pushed, [True])
        np.testing.assert_array_equal(sequence.profiles, [np.arange(8) >= 1])
        np.testing.assert_allclose(sequence.displacements[0, 1:, 1], 0.02)
        assert not sequence.displacements[0, 0].any()


def test_a_turn_in_a_pass_tilts_the_cup_from_there_on():
    task = core.load_task('serve')
    paths = ToolPaths(task=task)
    plan = paths.initial_plan(1)
    turns = [Rotation.from_euler('y', 0.3).as_quat(), [0.0, 0.0, 0.0, 1.0]]
    corrections = pass_of(plan, np.zeros((2, 3)), waypoints=[2, 3], turns=turns)
    sequence = paths.pass_sequence(plan, corrections)
    expected = task.plan.copy()
    expected[2:, 3] += 0.3
    np.testing.assert_allclose(sequence.corrected[0], expected, atol=1e-14)
    np.testing.assert_array_equal(sequence.corrected[1], sequence.corrected[0])
    np.testing.assert_array_equal(sequence.pushed, [True, False])


def test_a_pass_of_joints_keeps_what_the_arm_passed():
    from reward_learning_ros.tasks.pour import make_task

    paths = ToolPaths(task=make_task())
    plan = paths.initial_plan(1)
    corrections = pass_of(plan, [[0.0, 0.03, 0.0], [0.0, 0.0, 0.0]], waypoints=[1, 2])
    sequence = paths.pass_sequence(plan, corrections)
    np.testing.assert_array_equal(sequence.corrected[0, :1], sequence.plan[:1])
    np.testing.assert_array_equal(sequence.corrected[1], sequence.corrected[0])
    moved, _ = paths.kinematics.tool_poses(sequence.corrected[0])
    np.testing.assert_allclose(moved[1:], np.add(plan.positions[1:], [0.0, 0.03, 0.0]), atol=1e-3)


def test_a_time_that_is_no_waypoint_is_refused(paths):
    plan = paths.initial_plan(10)
    learner = Learner(paths)
    learner.add_plan(plan)
    good = pass_of(plan, [[0.0, 0.0, 0.0], [0.0, 0.03, 0.0]])
    assert learner.add_corrections(good)
    bad = pass_of(plan, [[0.0, 0.05, 0.0]], times_sec=plan.times_sec[1:2] + 0.1)
    with pytest.raises(InvalidInputError, match=r'name a waypoint at .* those of the plan are at'):
        learner.add_corrections(bad)
    assert learner.active == (good,)


def test_bad_corrections_that_waited_for_their_plan_are_refused_then(paths):
    plan = paths.initial_plan(10)
    learner = Learner(paths)
    learner.add_corrections(pass_of(plan, [[0.0, 0.05, 0.0]], times_sec=[0.123]))
    with pytest.raises(InvalidInputError, match='name a waypoint'):
        learner.add_plan(plan)
    assert learner.plans.keys() == {10}
    assert learner.sequences() == ()


@given(lengths=st.lists(st.integers(0, 8), min_size=1, max_size=6), again=st.booleans())
def test_what_is_told_last_of_a_pass_counts(paths, lengths, again):
    plan = paths.initial_plan(10)
    learner = Learner(paths)
    learner.add_plan(plan)
    deltas = 0.01 * np.arange(24.0).reshape(8, 3)
    told = [pass_of(plan, deltas[:length]) for length in lengths]
    changed = [learner.add_corrections(each) for each in told]
    assert changed == [a != b for a, b in zip(lengths, [None, *lengths[:-1]], strict=True)]
    if again:
        assert not learner.add_corrections(told[-1])
    assert learner.passes == learner.active == (told[-1],)
    assert learner.digest == data_digest([told[-1]])
    assert learner.pushes == max(0, lengths[-1])
    # One that is told only of its fixed start gives nothing to learn from but pushes.
    assert [len(each) for each in learner.sequences()] == (
        [max(1, lengths[-1] - 1)] if lengths[-1] else []
    )


def test_undo_forgets_the_last_pass_whatever_else_is_told_of_it(paths):
    first, second = paths.initial_plan(10), paths.initial_plan(20)
    learner = Learner(paths)
    for plan in (first, second):
        learner.add_plan(plan)
    kept = pass_of(first, [[0.0, 0.0, 0.0], [0.0, 0.03, 0.0]])
    undone = pass_of(second, [[0.0, 0.0, 0.0], [0.0, 0.0, 0.03]])
    learner.add_corrections(kept)
    learner.add_corrections(undone)
    assert learner.undo() == undone
    assert not learner.add_corrections(undone)
    assert not learner.add_corrections(pass_of(second, 0.01 * np.ones((4, 3))))
    assert learner.active == (kept,)


def test_features_are_softened_once_for_person_and_planner():
    task = core.load_task('reach')
    soft = PARAMETERS.softened(task)
    assert soft.motor_noise_m == PARAMETERS.motor_noise_m == core.MOTOR_NOISE_M
    assert PARAMETERS.softened(task) is soft
    assert PARAMETERS.softened(soft) is soft
    sharp = LearningParameters(human_model='paper')
    assert sharp.softened(task) is task
    assert sharp.softened(soft).motor_noise_m == 0.0


def test_the_model_of_a_session_is_what_was_chosen():
    options = LearningParameters().inference_options()
    assert {name: options[name] for name in core.PASS_MODEL} == dict(core.PASS_MODEL)
    assert LearningParameters(beta=7.0).inference_options()['beta'] == 7.0
    zero = LearningParameters(silence='zero').inference_options()
    assert (zero['silence'], zero['beta']) == ('zero', core.PASS_MODEL['beta'])
    assert 'bother' not in zero
    independent = LearningParameters(dependence='independent').inference_options()
    assert independent['silence'] == 'zero'
    assert 'bother' not in independent
    for parameters in (LearningParameters(), LearningParameters(human_model='paper')):
        assert from_mapping(LearningParameters, to_mapping(parameters)) == parameters


def test_what_was_recorded_without_a_model_had_the_papers():
    old = parameters_as_recorded({'task': 'reach', 'mode': 'online', 'seed': 4, 'bag': 'x'})
    assert (old.task, old.seed, old.silence, old.motor_noise_m) == ('reach', 4, 'zero', 0.0)
    assert 'beta' not in old.inference_options()
    for parameters in (LearningParameters(silence='left_out'), LearningParameters()):
        assert parameters_as_recorded(to_mapping(parameters)) == parameters

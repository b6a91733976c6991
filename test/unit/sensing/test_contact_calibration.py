"""A recording tells whether the thresholds suit the arm."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.sensing_scenarios import ordered, recording

from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.sensing.contact_calibration import calibrate_contacts
from reward_learning_ros.sensing.contact_parameters import ContactParameters
from reward_learning_ros.sensing.samples import join_blocks
from reward_learning_ros.sensing.synthetic import ArmModel, Push

PUSH = Push(start_sec=9.0, duration_sec=1.0, force_n=(0.0, 15.0, 0.0))


def block(seconds: float, *pushes: Push, noise_nm: float = 0.2, rate_hz: float = 200.0):
    made = recording(seconds, *pushes, rate_hz=rate_hz, model=ArmModel(noise_nm=noise_nm))
    return join_blocks(list(ordered(made.arrivals())))


def test_noise_bias_and_pushes_are_told():
    found = calibrate_contacts(block(14.0, PUSH), jacobian=Kinematics().jacobian)
    ((start_sec, end_sec),) = found.spans_sec
    assert start_sec == pytest.approx(PUSH.start_sec, abs=0.1)
    assert end_sec == pytest.approx(PUSH.end_sec, abs=0.2)
    assert found.rate_hz == pytest.approx(200.0, rel=0.01)
    # What the filter leaves of 0.2 N·m of white noise at this rate.
    assert (found.noise_nm < 0.2).all()
    assert (found.noise_nm > 0.03).all()
    assert found.bias_range_nm.max() > 0.3
    assert found.quiet_statistic < found.parameters.off_threshold
    assert 1.0 < found.least_force_n < 15.0
    assert found.advice() == ''
    assert found.time_sec.shape == found.statistic.shape == found.bias_nm.shape[:1]


def test_louder_noise_asks_for_stronger_pushes():
    quiet = calibrate_contacts(block(8.0, noise_nm=0.1))
    loud = calibrate_contacts(block(8.0, noise_nm=1.0))
    assert loud.noise_nm.min() > 2.0 * quiet.noise_nm.max()
    assert loud.least_torque_nm > quiet.least_torque_nm
    assert loud.least_force_n is None


def test_thresholds_within_the_noise_are_advised_against():
    low = ContactParameters(
        on_threshold=2.5, off_threshold=2.0, on_torque_nm=0.0, off_torque_nm=0.0
    )
    found = calibrate_contacts(block(8.0), low)
    assert 'raise on_threshold to' in found.advice()


def test_a_recording_must_be_long_enough():
    with pytest.raises(InvalidInputError, match='too short'):
        calibrate_contacts(block(1.0))
    with pytest.raises(InvalidInputError, match='too short'):
        calibrate_contacts(block(3.0)[:0])


def test_the_figure_shows_it(tmp_path):
    pytest.importorskip('matplotlib')
    from reward_learning_ros.figures.contact_figure import draw_contact_calibration

    found = calibrate_contacts(block(14.0, PUSH))
    path = tmp_path / 'contacts.svg'
    draw_contact_calibration(found, path)
    text = path.read_text(encoding='utf-8')
    assert text.lstrip().startswith('<?xml')
    assert np.isfinite(found.statistic).all()

"""The bias is learned where the arm was and stays uncertain elsewhere, as regression has it."""

from __future__ import annotations

import numpy as np
import pytest

from reward_learning_ros.sensing.bias import (
    FEATURE_COUNT,
    BiasParameters,
    features,
    predict,
    prior_variances,
    update_weights,
)


def feature_of(joints: np.ndarray, velocity: np.ndarray | None = None) -> np.ndarray:
    out = np.empty(FEATURE_COUNT)
    features(joints, np.zeros(7) if velocity is None else velocity, out)
    return out


def test_learning_is_bayesian_linear_regression():
    rng = np.random.default_rng(0)
    prior = prior_variances(BiasParameters())
    weights, covariance = np.zeros((FEATURE_COUNT, 7)), np.diag(prior)
    rows = np.array([feature_of(q, v) for q, v in rng.normal(size=(60, 2, 7))])
    torque = rng.normal(size=(60, 7))
    for row, value in zip(rows, torque, strict=True):
        update_weights(weights, covariance, row, value, 0.3, np.inf)
    information = np.diag(1.0 / prior) + rows.T @ rows / 0.3
    np.testing.assert_allclose(covariance, np.linalg.inv(information), atol=1e-8)
    np.testing.assert_allclose(
        weights, np.linalg.solve(information, rows.T @ torque / 0.3), atol=1e-6
    )


def test_the_uncertainty_falls_where_the_arm_was_and_not_far_away():
    rng = np.random.default_rng(1)
    weights, covariance = (
        np.zeros((FEATURE_COUNT, 7)),
        np.diag(prior_variances(BiasParameters())),
    )
    here = rng.uniform(-0.5, 0.5, size=7)
    before = predict(weights, covariance, feature_of(here), np.empty(7))
    for _ in range(200):
        near = feature_of(here + 0.05 * rng.normal(size=7))
        update_weights(weights, covariance, near, np.full(7, 1.5), 0.1, np.inf)
    bias = np.empty(7)
    at_hand = predict(weights, covariance, feature_of(here), bias)
    far_away = predict(weights, covariance, feature_of(here + 1.5), np.empty(7))
    np.testing.assert_allclose(bias, 1.5, atol=0.05)
    assert at_hand < 0.01 < 0.5 < far_away < 2.0 * before


def test_a_surprise_counts_no_more_than_the_clip():
    prior = np.diag(prior_variances(BiasParameters()))
    feature = feature_of(np.zeros(7))
    weights = np.zeros((FEATURE_COUNT, 7))
    update_weights(weights, prior.copy(), feature, np.full(7, 1e4), 0.1, 3.0)
    sigma = np.sqrt(feature @ prior @ feature + 0.1)
    assert np.all(feature @ weights <= 3.0 * sigma + 1e-9)


@pytest.mark.parametrize('bad', [np.nan, np.inf])
def test_unknown_joints_leave_a_constant_bias(bad):
    joints = np.zeros(7)
    joints[3] = bad
    expected = np.zeros(FEATURE_COUNT)
    expected[0] = 1.0
    np.testing.assert_array_equal(feature_of(joints), expected)


def test_the_certainty_survives_hours_of_learning():
    rng = np.random.default_rng(2)
    weights, covariance = (
        np.zeros((FEATURE_COUNT, 7)),
        np.diag(prior_variances(BiasParameters())),
    )
    for i in range(20_000):
        joints = 0.3 * np.sin(0.01 * i + np.arange(7.0))
        covariance[0, 0] += 2e-5
        update_weights(weights, covariance, feature_of(joints), rng.normal(size=7), 0.1, 3.0)
    assert np.linalg.eigvalsh((covariance + covariance.T) / 2).min() > -1e-9
    assert np.abs(weights).max() < 10.0

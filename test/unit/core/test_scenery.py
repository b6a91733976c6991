"""Objects of a scene say what is wrong with them."""

from __future__ import annotations

import pytest

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.core.scenery import SceneObject


@pytest.mark.parametrize(
    ('field', 'value'),
    [
        ('name', ''),
        ('shape', 'cone'),
        ('role', 'decoration'),
        ('position', [0.1, 0.2]),
        ('size', [0.1, 0.0, 0.1]),
        ('orientation', [0.0, 0.0, 0.0, 2.0]),
    ],
)
def test_a_wrong_value_is_refused_by_name(field, value):
    good = {'name': 'table', 'shape': 'box', 'position': [0, 0, 0], 'size': [1, 1, 1]}
    SceneObject(**good)
    with pytest.raises(RewardLearningError, match=field):
        SceneObject(**good | {field: value})

"""The authors' recordings, read without running what is in them."""

import os
import pickle

import numpy as np
import pytest

from reward_learning_ros import core
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.recording.published_recordings import (
    UnsafePickleError,
    load_numbers,
    read_corrections,
    read_recordings,
)


class Bomb:
    def __reduce__(self):
        return os.system, ('true',)


@pytest.mark.parametrize(
    'value',
    [
        [[0.0, 1.0], [2.0, 3.0]],
        np.arange(6.0).reshape(2, 3),
        [np.float64(1.5), np.ones(3)],
        {'a': (1, 2.0)},
    ],
)
def test_numbers_and_containers_are_read(value):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        loaded = load_numbers(pickle.dumps(value, protocol=protocol))
        assert repr(loaded) == repr(value)


@pytest.mark.parametrize('value', [Bomb(), [Bomb()], print, np.random.default_rng(0)])
def test_anything_that_could_run_is_refused(value):
    with pytest.raises(UnsafePickleError):
        load_numbers(pickle.dumps(value))


def write_study(root, rows, thetas):
    folder = root / 'Task1' / 'data' / 'user1'
    folder.mkdir(parents=True)
    for trial in (1, 2):
        (folder / f'demo{trial}.pkl').write_bytes(pickle.dumps(rows))
        (folder / f'theta{trial}.pkl').write_bytes(pickle.dumps(thetas))
    return root


def test_a_recording_becomes_one_correction_for_each_waypoint(tmp_path):
    task = core.load_task('press')
    rows = np.column_stack([np.arange(50) * 0.1, np.linspace(0, 0.7, 50), np.zeros((50, 2))])
    study = write_study(tmp_path, rows.tolist(), np.full(4, 0.5))
    recordings = list(read_recordings(study, 'Task1'))
    assert [(one.participant, one.trial) for one in recordings] == [(1, 1), (1, 2)]
    sequence = next(read_corrections(study, task))
    assert sequence.corrected.shape == (7, 8, 3)
    np.testing.assert_allclose(
        sequence.corrected[-1][:, 0] - task.plan[:, 0], np.linspace(0, 0.7, 8)
    )
    np.testing.assert_array_equal(sequence.corrected[0][0], task.plan[0])


def test_damage_is_named_with_its_file(tmp_path):
    study = write_study(tmp_path, [[0.0, float('nan'), 0.0, 0.0]], np.ones(4))
    with pytest.raises(InvalidInputError, match=r'demo1\.pkl'):
        list(read_recordings(study, 'Task1'))
    with pytest.raises(InvalidInputError, match='Task2'):
        list(read_recordings(study, 'Task2'))

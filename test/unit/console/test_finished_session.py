"""Which finished sessions there are, by what is in the folder."""

from __future__ import annotations

import pytest

from reward_learning_ros.console.finished_session import finished_sessions, folder_named
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.session.folder import SessionFolder
from reward_learning_ros.session.session_parameters import SessionParameters


@pytest.fixture
def sessions(tmp_path):
    for trial in ('001', '002'):
        folder = tmp_path / 'sessions' / 'pilot' / 'p01' / trial
        folder.mkdir(parents=True)
        SessionFolder(path=folder).write_configuration(SessionParameters(study='pilot'), {})
    (tmp_path / 'session.yaml').touch()
    return tmp_path / 'sessions'


def test_sessions_are_named_by_study_participant_and_trial(sessions):
    assert sorted(finished_sessions(sessions)) == ['pilot/p01/001', 'pilot/p01/002']
    assert folder_named(sessions, 'pilot/p01/002').read_configuration().study == 'pilot'


@pytest.mark.parametrize(
    'name', ['', '..', '../', 'pilot/p01', 'pilot/p01/003', 'pilot/p01/../p01/001', '/etc']
)
def test_a_name_that_is_not_in_the_list_opens_nothing(sessions, name):
    with pytest.raises(InvalidInputError, match='there is no session'):
        folder_named(sessions, name)

"""A questionnaire that is due is filled in on the participant's page and found in the bag."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.ros import PrivateRos
from helpers.study_fixtures import small_protocol
from rclpy.parameter import Parameter

from reward_learning_ros.interface import Plan
from reward_learning_ros.recording.bag_making import write_corrections
from reward_learning_ros.recording.session_records import read_study_records
from reward_learning_ros.session.folder import SessionFolder
from reward_learning_ros.session.session_parameters import SessionParameters
from reward_learning_ros.study.ledger import DONE, RUNNING, Ledger
from reward_learning_ros.study.tidy import session_path

NASTY = '<script>document.title = "taken"</script>'
PLAN = Plan(
    stamp_ns=1_700_000_000_000_000_000,
    frame_id='fr3_link0',
    positions=np.linspace((0.3, 0.0, 0.5), (0.6, 0.3, 0.2), 5),
    orientations=np.tile([1.0, 0.0, 0.0, 0.0], (5, 1)),
    times_sec=np.arange(5.0),
)


@pytest.fixture
def trial(console):
    """A trial that was done; its session is over, and its nodes still say which one it was."""
    protocol = small_protocol(1, questionnaires=(('being_understood', 'after_trial'),))
    ledger = Ledger.create(protocol, console.sessions / 'pilot')
    record = ledger.mark('p01', 1, RUNNING)
    folder = SessionFolder(path=session_path(ledger, record))
    folder.path.mkdir(parents=True)
    write_corrections(folder.bag, [PLAN], [])
    folder.write_configuration(SessionParameters(study='pilot', participant='p01'), {})
    folder.summary.write_text(json.dumps({'theta': {}}))
    ledger.mark('p01', 1, DONE)
    ros = PrivateRos(int(console.environment['ROS_DOMAIN_ID']))
    ros.create_node(
        'session_conductor',
        parameter_overrides=[
            Parameter('consent', value='every_pass'),
            Parameter('max_passes', value=3),
            Parameter('bag', value=str(folder.bag)),
        ],
        automatically_declare_parameters_from_overrides=True,
    )
    ros.create_node(
        'reward_inference',
        parameter_overrides=[
            Parameter('task', value='press'),
            Parameter('prefix', value='fr3'),
            Parameter('hand', value=True),
        ],
        automatically_declare_parameters_from_overrides=True,
    )
    yield ros, ledger, folder
    ros.close()


def test_answers_given_on_the_page_are_found_in_the_bag(console, page, trial):
    ros, ledger, folder = trial
    page.goto(console.participant)
    question = '[data-item=understood]'
    # The page asks while the nodes answer what session they were.
    ros.wait_until(lambda: page.query_selector(question) is not None, 60.0)
    page.click('[data-act=answer]')
    page.wait_for_selector('[role=alert]:has-text("understood")')
    for item in ('understood', 'repeated', 'predictable'):
        page.locator(f'[data-item={item}] .q-radio').nth(1).click()
    page.fill('[data-item=comment] textarea, [data-item=comment] input', NASTY)
    page.click('[data-act=answer]')
    page.wait_for_selector('text=Thank you.')
    (said,) = read_study_records(folder.path).answers
    assert said.questionnaire == 'being_understood'
    assert said.answers['comment'] == NASTY
    assert said.answers['understood'] == '2'
    assert [each.questionnaire for each in ledger.answered()] == ['being_understood']
    assert page.title() == 'Participant'
    assert page.errors == []

"""Corrections detected again in recorded torques and poses, by the code that runs live."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from reward_learning_ros.arm.description import franka_arm
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.interface import PassCorrections, Plan, PlaybackState, PlaybackStatus
from reward_learning_ros.parameters import parameter
from reward_learning_ros.recording.arm_samples import ArmSamples
from reward_learning_ros.recording.bag_reader import BagMessage, BagReader
from reward_learning_ros.recording.blocks import MessageBlock
from reward_learning_ros.recording.problems import Problem
from reward_learning_ros.recording.session_records import (
    definition_problems,
    naming_damage,
    read_record,
)
from reward_learning_ros.recording.session_topics import PLAN, STATUS, SessionTopics
from reward_learning_ros.sensing.contact_parameters import ContactParameters
from reward_learning_ros.sensing.deltas import CorrectionCounts, CorrectionRecorder
from reward_learning_ros.sensing.displacement import DisplacementParameters
from reward_learning_ros.sensing.ordering import OrderingParameters, StreamOrderer
from reward_learning_ros.sensing.passes import PassParameters
from reward_learning_ros.sensing.samples import Arrivals
from reward_learning_ros.sensing.timeline import PlaybackFeed, PlaybackTimeline

_UNPUSHED = (PlaybackState.APPROACHING, PlaybackState.HOMING, PlaybackState.PLAYING)


@dataclass(frozen=True, kw_only=True)
class RedetectionParameters(
    ContactParameters, DisplacementParameters, PassParameters, OrderingParameters
):
    """How corrections are found, as the correction recorder has it."""

    prefix: str = parameter('fr3', description='Prefix of joints and frames')
    hand: bool = parameter(
        True,
        description='Whether the Franka Hand is mounted; without it the flange is the tool',
    )
    unpushed_playbacks: int = parameter(
        0,
        description='So many playbacks at first are unpushed: the bias is learned from them',
        minimum=0,
        maximum=100,
    )


@dataclass(frozen=True, kw_only=True)
class Redetection:
    """Corrections that were detected again in a recording's samples, with counts and problems.

    Attributes:
        plans: all that are in the bag.
        corrections: of each pass, if anything is known of it.
        counts: what became of the contacts.
        samples: how many samples of the arm there were.
        problems: what is wrong with the bag.
    """

    plans: tuple[Plan, ...]
    corrections: tuple[PassCorrections, ...]
    counts: CorrectionCounts
    samples: int
    problems: tuple[Problem, ...]


def redetect(
    bag: BagReader,
    topics: SessionTopics,
    parameters: RedetectionParameters,
    *,
    on_progress: Callable[[int], None] | None = None,
) -> Redetection:
    """Find the corrections in the samples of a bag.

    Args:
        bag: The recording.
        topics: Which of its topics is what.
        parameters: How corrections are found.
        on_progress: Called with the number of messages of the arm read since the last call.

    Raises:
        BagError: The bag has no plan, or no samples of the arm.
    """
    description = franka_arm(prefix=parameters.prefix, hand=parameters.hand)
    with naming_damage(bag):
        samples = ArmSamples(topics, description.joint_names)
        state_topics = [topics[PLAN].name, *topics.names(STATUS)]
    search = _Search(parameters, Kinematics(description=description))
    problems = definition_problems(
        bag, [topics[part] for part in (PLAN, STATUS) if part in topics]
    )
    count = 0
    for file, whole in bag.blocks([*state_topics, *samples.topics]):
        for block in (
            _parts(whole, len(state_topics)) if parameters.unpushed_playbacks else [whole]
        ):
            for message, part in _records_in(bag, state_topics, file, block):
                record = read_record(part, message, problems)
                if record is not None:
                    search.add_record(record, message.time_ns, has_status=STATUS in topics)
            arrivals = samples.arrivals(file, block, first_topic=len(state_topics))
            count += len(arrivals)
            search.add_samples(arrivals)
        if on_progress is not None:
            on_progress(int((whole.topic >= len(state_topics)).sum()))
    search.end()
    if STATUS not in topics:
        text = 'nobody says when a plan was played; each is taken to begin when it was recorded'
        problems.append(Problem(file=bag.path, topic=topics[PLAN].name, text=text))
    return Redetection(
        plans=tuple(search.plans.values()),
        corrections=tuple(search.corrections.values()),
        counts=search.recorder.counts,
        samples=count,
        problems=(*bag.problems, *samples.problems, *problems),
    )


def _parts(block: MessageBlock, topic_count: int) -> list[MessageBlock]:
    """Cut a block before each plan and status, so that samples meet the state of their time."""
    cuts = [0, *(block.topic < topic_count).nonzero()[0].tolist(), len(block)]
    return [block.rows(slice(first, last)) for first, last in itertools.pairwise(cuts)]


def _records_in(
    bag: BagReader, state_topics: list[str], file: Path, block: MessageBlock
) -> list[tuple[BagMessage, str]]:
    """Return the plans and statuses of a block, with their part."""
    rows: list[int] = (block.topic < len(state_topics)).nonzero()[0].tolist()
    return [
        (
            BagMessage(
                bag.topics[state_topics[block.topic[row]]],
                int(block.time_ns[row]),
                block.data(row),
                file,
            ),
            PLAN if block.topic[row] == 0 else STATUS,
        )
        for row in rows
    ]


class _Search:
    """The correction recorder's node without its node."""

    def __init__(self, parameters: RedetectionParameters, kinematics: Kinematics) -> None:
        self._parameters = parameters
        timeline = PlaybackTimeline()
        self._feed = PlaybackFeed(timeline)
        self._orderer = StreamOrderer(parameters)
        self.recorder = CorrectionRecorder(
            contact=parameters,
            displacement=parameters,
            passes=parameters,
            jacobian=kinematics.jacobian,
            timeline=timeline,
            tool_frame=kinematics.description.tool_frame,
        )
        self.plans: dict[int, Plan] = {}
        self.corrections: dict[int, PassCorrections] = {}

    def add_record(self, record: Plan | PlaybackStatus, time_ns: int, *, has_status: bool) -> None:
        """Take a plan or a status."""
        if isinstance(record, PlaybackStatus):
            self._feed.add_status(record, time_ns)
            return
        self.plans.setdefault(record.stamp_ns, record)
        self._feed.add_plan(record)
        if not has_status:
            self._feed.add_status(
                PlaybackStatus(state=PlaybackState.PLAYING, plan_stamp_ns=record.stamp_ns), time_ns
            )

    def add_samples(self, arrivals: Arrivals) -> None:
        """Take samples of the arm."""
        if not len(arrivals):
            return
        # As the node has it: during the first playbacks all torques are bias.
        self.recorder.detector.learning = (
            0 < self._feed.playbacks <= self._parameters.unpushed_playbacks
            and self._feed.state in _UNPUSHED
        )
        self.recorder.process(self._orderer.release_arrivals(arrivals))
        self._note()

    def end(self) -> None:
        """No more will come."""
        self.recorder.process(self._orderer.flush())
        self.recorder.close()
        self.recorder.passes.end()
        self._note()

    def _note(self) -> None:
        for found in self.recorder.passes.take():
            if len(found.times_sec):
                self.corrections[found.plan_stamp_ns] = found

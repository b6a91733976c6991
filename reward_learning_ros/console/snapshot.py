"""All that the console knows at one moment, as plain immutable data; no ROS, no page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from reward_learning_ros.interface import (
    Diagnostic,
    InferenceStatus,
    Level,
    LiveTheta,
    ParticipantStatus,
    Plan,
    PlaybackStatus,
    RecorderStatus,
    SessionStatus,
    ThetaSummary,
)

Vector = tuple[float, float, float]

# Each node says twice a second that it is alive.
SILENT_SEC = 2.5
# So many lines of the log are kept, and shown.
MAX_EVENTS = 200


@dataclass(frozen=True, kw_only=True)
class SessionFacts:
    """What was chosen about the session that runs, as its nodes tell it.

    Attributes:
        task: What the arm does; empty while it is not known.
        bag: Folder of the recording.
        consent: Who lets the arm move.
        max_passes: After so many passes it ends; 0 while it is not known.
        prefix: What names of joints and frames begin with.
        hand: Whether the Franka Hand is mounted.
        study, participant, trial: Whose session it is; empty where its folder cannot be read.
    """

    task: str = ''
    bag: str = ''
    consent: str = ''
    max_passes: int = 0
    prefix: str = 'fr3'
    hand: bool = True
    study: str = ''
    participant: str = ''
    trial: str = ''


@dataclass(frozen=True, kw_only=True)
class LogEvent:
    """One log message of a node.

    Attributes:
        time_sec: Since 1970, by the clock of its node.
        level: How bad it is.
        node: Who said it.
        text: What.
    """

    time_sec: float
    level: Level
    node: str
    text: str


@dataclass(frozen=True, kw_only=True)
class DrawnObject:
    """Shape, pose and colour with which the page draws one object of the scene.

    Attributes:
        shape: `box`, `sphere` or `cylinder`.
        position_m: (3,) of its centre.
        quaternion: (4,) x y z w.
        size_m: (3,) extent along its own axes.
        color: (4,) red, green, blue, opacity.
    """

    shape: str
    position_m: Vector
    quaternion: tuple[float, float, float, float]
    size_m: Vector
    color: tuple[float, float, float, float]


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """What stands around the arm, and what was corrected.

    Attributes:
        objects: of the scene.
        arrows: of corrections, each from where to where.
    """

    objects: tuple[DrawnObject, ...] = ()
    arrows: tuple[tuple[Vector, Vector], ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedTheta:
    """The statistics of θ after a number of passes."""

    passes: int
    theta: ThetaSummary


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """All that was heard so far, each value the newest of its kind; None where nothing was.

    Attributes:
        facts: what was chosen about the session.
        session, playback, recorder, inference: what they do.
        participant: what a simulated participant does and wants.
        theta: what is known of θ now, as it is kept.
        live_theta: what is believed while somebody pushes; None once the inference is there.
        prior: what was known before the session.
        learned: θ after each pass, in order.
        plan: what is shown.
        previous_plan: what was shown before.
        ideal: what a simulated participant has in mind.
        drawing: scene and corrections.
        joints_rad: (7,) where the arm is.
        arm_heard_sec: when the arm said where it is, by the steady clock.
        force_n: (3,) of somebody on the tool, base frame.
        arm: the mode of a simulated arm, and whether it follows commands.
        is_arm_simulated: whether somebody listens to pushes.
        diagnostics: of the nodes, by name.
        beats: when each node was heard last, by the steady clock.
        starts: which start of each node was heard last.
        events: lines of the log, the newest last.
    """

    facts: SessionFacts = SessionFacts()
    session: SessionStatus | None = None
    playback: PlaybackStatus | None = None
    recorder: RecorderStatus | None = None
    inference: InferenceStatus | None = None
    participant: ParticipantStatus | None = None
    theta: ThetaSummary | None = None
    live_theta: LiveTheta | None = None
    prior: ThetaSummary | None = None
    learned: tuple[LearnedTheta, ...] = ()
    plan: Plan | None = None
    previous_plan: Plan | None = None
    ideal: Plan | None = None
    drawing: Drawing = Drawing()
    joints_rad: tuple[float, ...] | None = None
    arm_heard_sec: float | None = None
    force_n: Vector | None = None
    arm: Diagnostic | None = None
    is_arm_simulated: bool = False
    diagnostics: Mapping[str, Diagnostic] = field(default_factory=lambda: MappingProxyType({}))
    beats: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    starts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    events: tuple[LogEvent, ...] = ()

    def with_plan(self, plan: Plan) -> Snapshot:
        """Return it after another plan was shown."""
        if self.plan is None or plan.stamp_ns == self.plan.stamp_ns:
            return replace(self, plan=plan)
        return replace(self, plan=plan, previous_plan=self.plan)

    def with_theta(self, theta: ThetaSummary | LiveTheta) -> Snapshot:
        """Return it after θ was told: kept, or as it is believed for the moment."""
        if isinstance(theta, LiveTheta):
            return replace(self, live_theta=theta)
        return replace(self, theta=theta, live_theta=None)

    def with_inference(self, status: InferenceStatus) -> Snapshot:
        """Return it after the inference said what its θ, heard just before, was learned from."""
        before = self.inference
        learned = self.learned
        passes = len(status.learned_from_ns)
        is_news = before is None or (
            status.learned_data,
            status.learned_from_ns,
        ) != (before.learned_data, before.learned_from_ns)
        if is_news and self.theta is not None:
            # A pass is learned from again and again while it goes on, and may be undone.
            kept = tuple(each for each in learned if each.passes < passes)
            entry = (LearnedTheta(passes=passes, theta=self.theta),) if passes else ()
            learned = kept + entry
        return replace(self, inference=status, learned=learned)

    def with_history(
        self, bag: str, learned: Sequence[LearnedTheta], plans: Sequence[Plan]
    ) -> Snapshot:
        """Return it after it was read what was learned and shown before this console was there.

        What was heard counts more than what was read.
        """
        status, theta = self.inference, self.theta
        if bag != self.facts.bag or status is None or theta is None:
            return self
        passes = len(status.learned_from_ns)
        known = {each.passes: each for each in learned if each.passes < passes}
        known |= {each.passes: each for each in self.learned}
        if passes:
            known.setdefault(passes, LearnedTheta(passes=passes, theta=theta))
        previous = self.previous_plan
        if previous is None and self.plan is not None:
            stamp_ns = self.plan.stamp_ns
            previous = next((p for p in reversed(plans) if p.stamp_ns < stamp_ns), None)
        ordered = tuple(known[count] for count in sorted(known))
        return replace(self, learned=ordered, previous_plan=previous)

    def with_event(self, event: LogEvent) -> Snapshot:
        """Return it after one more line of the log."""
        return replace(self, events=(*self.events, event)[-MAX_EVENTS:])

    def with_beat(self, name: str, start: str, now_sec: float) -> Snapshot:
        """Return it after a node was heard."""
        return replace(
            self,
            beats=MappingProxyType({**self.beats, name: now_sec}),
            starts=MappingProxyType({**self.starts, name: start}),
        )

    def with_diagnostic(self, diagnostic: Diagnostic) -> Snapshot:
        """Return it after one more diagnostic of a node."""
        known = MappingProxyType({**self.diagnostics, diagnostic.name: diagnostic})
        return replace(self, diagnostics=known)

    def with_facts(self, facts: SessionFacts) -> Snapshot:
        """Return it after the nodes told which session they are; of another, nothing stays."""
        if not self.facts.bag or facts.bag == self.facts.bag:
            return replace(self, facts=facts)
        newest_sec = max(self.beats.values(), default=0.0)
        beats = {
            name: heard_sec
            for name, heard_sec in self.beats.items()
            if newest_sec - heard_sec <= SILENT_SEC
        }
        return replace(
            Snapshot(events=self.events, beats=MappingProxyType(beats), starts=self.starts),
            facts=facts,
            session=self.session,
            playback=self.playback,
            recorder=self.recorder,
            inference=self.inference,
            plan=self.plan,
            drawing=self.drawing,
            joints_rad=self.joints_rad,
            arm_heard_sec=self.arm_heard_sec,
            arm=self.arm,
        )

"""Record what an arm tells for some seconds; in a process of its own, it writes a file.

`python -m reward_learning_ros.nodes.sample_recording NAMESPACE SECONDS FILE`; the doctor calls it
and reads the file. The last line of its output says in JSON where the samples came from, after how
long that source had settled (null: it has not), and which streams it lacks.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time

import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.node import Node

from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.nodes.arm_sources import ArmSource, ArmSources, make_sources
from reward_learning_ros.sensing.ordering import StreamOrderer
from reward_learning_ros.sensing.samples import SampleBlock, Stream, join_blocks

_LOOK_SEC = 0.02
# An arm that was not heard within this time is not there.
_DISCOVERY_SEC = 15.0
# Discovery may find a worse source first. Publishers are looked for every half second, so one that
# is still the best after this long stays so.
_SETTLE_SEC = 1.5
# Without these the bias cannot follow the pose.
_NEEDED = (Stream.TORQUE, Stream.JOINTS, Stream.POSE)


class SampleRecorder:
    """Records one source of samples, from when it has settled on.

    Another source is another sensor with a bias of its own: a change of source begins again.

    Attributes:
        source: the source of the samples, None before any was heard.
        settled_sec: how long after the first sample the recording began; None before.
    """

    def __init__(self, node: Node, *, timeout_sec: float) -> None:
        """Begin to listen.

        Args:
            node: subscribes.
            timeout_sec: how long the source may be silent before a worse one takes its place.
        """
        self.source: ArmSource | None = None
        self.settled_sec: float | None = None
        self._orderer = StreamOrderer()
        self._blocks: list[SampleBlock] = []
        self._heard_sec = time.monotonic()
        self._sources = ArmSources(
            node,
            make_sources(Kinematics()),
            add=lambda stream, time_ns, values: self._orderer.add(stream, time_ns, values),
            timeout_sec=timeout_sec,
            on_change=self._on_source,
        )

    def update(self) -> None:
        """Take the samples that came; to be called many times a second."""
        self._sources.update()
        block = self._orderer.release()
        if self.settled_sec is not None:
            self._blocks.append(block)
        elif self._is_settled():
            self.settled_sec = time.monotonic() - self._heard_sec

    def finish(self) -> SampleBlock:
        """Stop listening and return the samples in order."""
        rest = self._orderer.flush()
        self._sources.close()
        if self.settled_sec is not None:
            self._blocks.append(rest)
        return join_blocks(self._blocks or [rest[:0]])

    def missing(self) -> tuple[str, ...]:
        """Return which of the needed streams were not heard from this source."""
        counts = self._orderer.counts
        return tuple(stream.name.lower() for stream in _NEEDED if not counts[stream].received)

    def _is_settled(self) -> bool:
        is_heard = self.source is not None and not self.missing()
        return is_heard and time.monotonic() - self._heard_sec >= _SETTLE_SEC

    def _on_source(self, before: ArmSource | None, source: ArmSource) -> None:
        self.source, self.settled_sec = source, None
        self._orderer = StreamOrderer()
        self._blocks = []
        self._heard_sec = time.monotonic()


def record_samples(node: Node, *, seconds: float) -> tuple[SampleBlock, SampleRecorder]:
    """Listen to the best source for a time, from when it has settled on.

    Returns:
        The samples in order, none if no source settled, and the recorder that tells of them.
    """
    recorder = SampleRecorder(node, timeout_sec=seconds)
    ends_sec = time.monotonic() + _DISCOVERY_SEC
    was_settled = False
    while time.monotonic() < ends_sec:
        recorder.update()
        is_settled = recorder.settled_sec is not None
        if is_settled is not was_settled:
            ends_sec = time.monotonic() + (seconds if is_settled else _DISCOVERY_SEC)
            was_settled = is_settled
        time.sleep(_LOOK_SEC)
    return recorder.finish(), recorder


def main() -> int:
    """Record samples of the arm, write them to a file, and print their source."""
    namespace, seconds, path = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    context = Context()
    rclpy.init(args=[], context=context)
    try:
        node = rclpy.create_node('sample_recording', context=context, namespace=namespace)
        block, recorder = record_samples(node, seconds=seconds)
        node.destroy_node()
    finally:
        context.try_shutdown()
    arrays = {field.name: getattr(block, field.name) for field in dataclasses.fields(block)}
    np.savez(path, **arrays)
    told = {
        'source': None if recorder.source is None else recorder.source.name,
        'settled_sec': recorder.settled_sec,
        'missing': recorder.missing(),
    }
    print(json.dumps(told))  # noqa: T201
    return 0


if __name__ == '__main__':
    raise SystemExit(main())

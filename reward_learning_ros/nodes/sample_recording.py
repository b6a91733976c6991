"""Record what an arm tells for some seconds; in a process of its own, it writes a file.

`python -m reward_learning_ros.nodes.sample_recording NAMESPACE SECONDS FILE`; the doctor calls it
and reads the file. The last line of its output says in JSON where the samples came from.
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
from reward_learning_ros.nodes.arm_sources import ArmSource, make_sources
from reward_learning_ros.nodes.source_choice import ArmSources
from reward_learning_ros.sensing.ordering import StreamOrderer
from reward_learning_ros.sensing.samples import SampleBlock, Stream, join_blocks

_LOOK_SEC = 0.02
# An arm that was not heard within this time is not there.
_DISCOVERY_SEC = 15.0


def record_samples(node: Node, *, seconds: float) -> tuple[SampleBlock, ArmSource | None]:
    """Listen to the best source for a time, from its first sample on.

    Returns:
        The samples in order, none if nothing was heard, and their source.
    """
    orderer = StreamOrderer()
    sources = ArmSources(
        node,
        make_sources(Kinematics()),
        add=orderer.add,
        timeout_sec=seconds,
        on_change=lambda before, source: None,
    )
    blocks = [orderer.release()]
    ends_sec = time.monotonic() + _DISCOVERY_SEC
    is_heard = False
    while time.monotonic() < ends_sec:
        sources.update()
        blocks.append(orderer.release())
        if not is_heard and orderer.counts[Stream.TORQUE].received:
            is_heard, ends_sec = True, time.monotonic() + seconds
        time.sleep(_LOOK_SEC)
    blocks.append(orderer.flush())
    sources.close()
    return join_blocks(blocks), sources.current


def main() -> int:
    """Record, write the file, and say where the samples came from."""
    namespace, seconds, path = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    context = Context()
    rclpy.init(args=[], context=context)
    try:
        node = rclpy.create_node('sample_recording', context=context, namespace=namespace)
        block, source = record_samples(node, seconds=seconds)
        node.destroy_node()
    finally:
        context.try_shutdown()
    arrays = {field.name: getattr(block, field.name) for field in dataclasses.fields(block)}
    np.savez(path, **arrays)
    print(json.dumps({'source': None if source is None else source.name}))  # noqa: T201
    return 0


if __name__ == '__main__':
    raise SystemExit(main())

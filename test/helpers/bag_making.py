"""Bags of a synthetic arm that is pushed, as an arm's topics would have been recorded."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reward_learning_ros.interface import Plan, PlaybackState, PlaybackStatus
from reward_learning_ros.recording.bag_making import serialized_plan, serialized_status
from reward_learning_ros.recording.bag_writer import BagWriter
from reward_learning_ros.recording.message_types import describe_topic, standard_types
from reward_learning_ros.recording.session_topics import (
    JOINTS,
    PARTS,
    PLAN,
    POSE,
    STATUS,
    TORQUES,
    WRENCH,
)
from reward_learning_ros.sensing.synthetic import Recording

JOINT_NAMES = tuple(f'fr3_joint{number}' for number in range(1, 8))
# Stands where a number will be written; found again in the serialized message.
_MARK = -1.2345678901234567e200
_STATUS_STEP = 20


def topic_name(part: str) -> str:
    return f'/{PARTS[part].name}'


def arm_messages(made: Recording, parts=(TORQUES, JOINTS, POSE)) -> dict[str, list[bytes]]:
    """The serialized messages of topics of the arm, all of one layout each."""
    columns = {
        TORQUES: ('effort', made.torque_nm),
        JOINTS: ('position velocity', made.joints),
        POSE: ('pose', made.tool_pose),
        WRENCH: ('wrench', made.wrench),
    }
    return {part: _filled(part, made.time_ns, columns[part][1]) for part in parts}


def _filled(part: str, time_ns: np.ndarray, values: np.ndarray) -> list[bytes]:
    template = bytearray(_template(part))
    mark = np.float64(_MARK).tobytes()
    first = template.index(mark)
    places = []
    position = first
    while (position := template.find(mark, position)) >= 0:
        places.append(position)
        position += 8
    assert len(places) == values.shape[1]
    rows = np.tile(np.frombuffer(bytes(template), dtype=np.uint8), (len(values), 1))
    for place, column in zip(places, values.T, strict=True):
        rows[:, place : place + 8] = np.ascontiguousarray(column).view(np.uint8).reshape(-1, 8)
    stamps = np.stack([time_ns // 10**9, time_ns % 10**9], axis=1).astype('<u4')
    rows[:, 4:12] = stamps.view(np.uint8)
    content, size = rows.tobytes(), len(template)
    return [content[start : start + size] for start in range(0, len(content), size)]


def _template(part: str) -> bytes:
    store = standard_types()
    types = store.types
    header = types['std_msgs/msg/Header'](types['builtin_interfaces/msg/Time'](0, 0), 'fr3_link0')
    marks, none = np.full(7, _MARK), np.zeros(0)
    vector, point = types['geometry_msgs/msg/Vector3'], types['geometry_msgs/msg/Point']
    if part == TORQUES:
        message = types['sensor_msgs/msg/JointState'](header, list(JOINT_NAMES), none, none, marks)
    elif part == JOINTS:
        message = types['sensor_msgs/msg/JointState'](
            header, list(JOINT_NAMES), marks, marks, np.zeros(7)
        )
    elif part == POSE:
        quaternion = types['geometry_msgs/msg/Quaternion'](*[_MARK] * 4)
        pose = types['geometry_msgs/msg/Pose'](point(*[_MARK] * 3), quaternion)
        message = types['geometry_msgs/msg/PoseStamped'](header, pose)
    else:
        wrench = types['geometry_msgs/msg/Wrench'](vector(*[_MARK] * 3), vector(*[_MARK] * 3))
        message = types['geometry_msgs/msg/WrenchStamped'](header, wrench)
    return bytes(store.serialize_cdr(message, message.__msgtype__))


def session_messages(made: Recording, plan: Plan, parts=(TORQUES, JOINTS, POSE)):
    """Yield topic, time and content of a whole session in the order of time."""
    yield topic_name(PLAN), int(made.time_ns[0]), serialized_plan(plan)
    streams = arm_messages(made, parts)
    names = {part: topic_name(part) for part in streams}
    for row, time_ns in enumerate(made.time_ns.tolist()):
        if row % _STATUS_STEP == 0:
            status = PlaybackStatus(
                state=PlaybackState.PLAYING,
                plan_stamp_ns=plan.stamp_ns,
                plan_time_sec=float(made.plan_time_sec[row]),
            )
            yield topic_name(STATUS), time_ns, serialized_status(status)
        for part, messages in streams.items():
            yield names[part], time_ns, messages[row]


def write_session(
    path: Path, made: Recording, plan: Plan, parts=(TORQUES, JOINTS, POSE), **options
) -> None:
    """Write a bag with our own writer."""
    topics = [
        describe_topic(topic_name(part), PARTS[part].type_name) for part in (PLAN, STATUS, *parts)
    ]
    writer = BagWriter(path, topics, **options)
    for topic, time_ns, data in session_messages(made, plan, parts):
        writer.write(topic, time_ns, data)
    writer.close()

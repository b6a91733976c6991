"""Messages of every length and alignment for Hypothesis, serialized by an independent library."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from helpers.franka_message import FRANKA_MESSAGES

JOINT_STATE = 'sensor_msgs/msg/JointState'
# Every number but NaN, which is not equal to itself.
NUMBERS = st.floats(allow_nan=False)
# A terminator ends a text in CDR, and a lone surrogate is no UTF-8.
TEXTS = st.text(st.characters(exclude_characters='\0', exclude_categories=['Cs']), max_size=13)


@cache
def store() -> Any:
    """The types of ROS 2 and of the arm."""
    made = get_typestore(Stores.ROS2_HUMBLE)
    for name, text in FRANKA_MESSAGES.items():
        made.register(get_types_from_msg(text, name))
    return made


def serialize(message: Any, little_endian: bool = True) -> bytes:
    return bytes(store().serialize_cdr(message, message.__msgtype__, little_endian=little_endian))


def vectors(least: int, most: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(NUMBERS, min_size=least, max_size=most).map(np.array)


def joint_states(names: Any = None, sizes: Any = None, most: int = 8) -> st.SearchStrategy[Any]:
    """JointStates with these joints and numbers of positions, velocities and efforts, or any."""
    lengths = [(0, most)] * 3 if sizes is None else [(size, size) for size in sizes]
    return st.builds(
        store().types[JOINT_STATE],
        header=messages('std_msgs/msg/Header'),
        name=st.lists(TEXTS, max_size=most) if names is None else st.just(list(names)),
        position=vectors(*lengths[0]),
        velocity=vectors(*lengths[1]),
        effort=vectors(*lengths[2]),
    )


def messages(name: str, **parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Messages of a type, down to its leaves; fields that are named are drawn from these."""
    # What is inside something else is short: there is much of it.
    if name == JOINT_STATE:
        return joint_states(most=2)
    fields = {
        field: parts[field] if field in parts else _values(node, detail)
        for field, (node, detail) in store().fielddefs[name][1]
    }
    return st.builds(store().types[name], **fields)


def _values(node: Nodetype, detail: Any) -> st.SearchStrategy[Any]:
    if node == Nodetype.NAME:
        return messages(detail)
    if node == Nodetype.ARRAY:
        return vectors(detail[1], detail[1])
    return {
        'string': TEXTS,
        'float64': NUMBERS,
        'bool': st.booleans(),
        'uint8': st.integers(0, 255),
        'int32': st.integers(-(2**31), 2**31 - 1),
        'uint32': st.integers(0, 10**9 - 1),
    }[detail[0]]

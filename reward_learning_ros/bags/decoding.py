"""Messages of a bag as objects, by the definitions that the bag itself holds."""

from __future__ import annotations

import functools
from typing import Any

from rosbags.typesys import (
    Stores,
    TypesysError,
    get_types_from_idl,
    get_types_from_msg,
    get_typestore,
)

from reward_learning_ros.bags.errors import BagError
from reward_learning_ros.bags.problems import TopicInBag
from reward_learning_ros.bags.topics import standard_types

_PARSERS = {
    'ros2msg': get_types_from_msg,
    'ros2idl': lambda text, name: get_types_from_idl(text),
}


def types_of(topic: TopicInBag) -> Any:
    """Return a store that has the type of a topic.

    Raises:
        BagError: Its definition is neither in the bag, if it can be read there, nor a standard.
    """
    return _store(topic.type_name, topic.definition, topic.definition_format)


@functools.cache
def _store(type_name: str, definition: str, definition_format: str) -> Any:
    standard = standard_types()
    if type_name in standard.fielddefs:
        # Reading a definition takes a tenth of a second; most are the standard ones.
        text, _ = standard.generate_msgdef(type_name, ros_version=2)
        if definition in ('', text):
            return standard
    if definition and definition_format in _PARSERS:
        store = get_typestore(Stores.EMPTY)
        try:
            store.register(_PARSERS[definition_format](definition, type_name))
            if type_name in store.fielddefs:
                return store
        except TypesysError:
            pass
    if type_name in standard.fielddefs:
        return standard
    raise BagError(f'the definition of {type_name} is neither in the bag nor a standard one')


def decode(topic: TopicInBag, data: bytes) -> Any:
    """Return a serialized message as an object with its fields.

    Raises:
        BagError: It is no message of the topic's type.
    """
    store = types_of(topic)
    try:
        return store.deserialize_cdr(data, topic.type_name)
    except Exception as error:
        # Compiled for each type, it raises whatever the bytes make it run into.
        raise BagError(f'is no {topic.type_name} ({type(error).__name__}: {error})') from error

"""Types of messages: their definitions, in ROS and in a bag, and messages decoded by them."""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rosbags.interfaces import Nodetype
from rosbags.serde import SerdeError
from rosbags.typesys import (
    Stores,
    TypesysError,
    get_types_from_idl,
    get_types_from_msg,
    get_typestore,
)

from reward_learning_ros.interface.topics import QualityOfService
from reward_learning_ros.recording.problems import BagError, TopicInBag, UnknownTypeError

# As rosbag2 up to version 8 of its metadata writes them, and every later one reads them.
_HISTORY = {'keep_last': 1, 'keep_all': 2}
_RELIABILITY = {'reliable': 1, 'best_effort': 2}
_DURABILITY = {'transient_local': 1, 'volatile': 2}
_AUTOMATIC_LIVELINESS = 1
_FOREVER = {'sec': 9223372036, 'nsec': 854775807}


def qos_to_mapping(qos: QualityOfService) -> dict[str, Any]:
    """Return a quality of service as rosbag2 writes it."""
    return {
        'history': _HISTORY[qos.history],
        'depth': qos.depth,
        'reliability': _RELIABILITY[qos.reliability],
        'durability': _DURABILITY[qos.durability],
        'deadline': dict(_FOREVER),
        'lifespan': dict(_FOREVER),
        'liveliness': _AUTOMATIC_LIVELINESS,
        'liveliness_lease_duration': dict(_FOREVER),
        'avoid_ros_namespace_conventions': False,
    }


@dataclass(frozen=True, kw_only=True)
class Topic:
    """A topic of a bag.

    Attributes:
        name: full name, `/plan`.
        type_name: `nav_msgs/msg/Path`.
        definition: the type's definition and those of all types in it, as ROS 2 writes it.
        type_hash: the RIHS01 hash of the type, empty if unknown.
        qos: how it is sent.
    """

    name: str
    type_name: str
    definition: str
    type_hash: str = ''
    qos: QualityOfService = field(default_factory=QualityOfService)


def describe_topic(
    name: str,
    type_name: str,
    qos: QualityOfService | None = None,
    *,
    ros_prefixes: Iterable[Path] = (),
) -> Topic:
    """Return a topic with the definition of its type.

    Args:
        name: Of the topic.
        type_name: Of a standard message, or of one that is installed below `ros_prefixes`.
        qos: How it is sent.
        ros_prefixes: Where ROS packages are installed, as AMENT_PREFIX_PATH lists them.

    Raises:
        UnknownTypeError: The type is neither a standard nor an installed one.
    """
    definition, type_hash = _definition(type_name, tuple(map(Path, ros_prefixes)))
    return Topic(
        name=name,
        type_name=type_name,
        definition=definition,
        type_hash=type_hash,
        qos=qos or QualityOfService(),
    )


@functools.cache
def standard_types() -> Any:
    """Return rosbags' store of the standard messages; their definitions are those of Jazzy."""
    return get_typestore(Stores.ROS2_JAZZY)


@functools.cache
def _definition(type_name: str, ros_prefixes: tuple[Path, ...]) -> tuple[str, str]:
    store = standard_types()
    if type_name not in store.fielddefs:
        store = get_typestore(Stores.ROS2_JAZZY)
        _register_installed(store, type_name, ros_prefixes)
    text, _ = store.generate_msgdef(type_name, ros_version=2)
    return str(text), str(store.hash_rihs01(type_name))


def _register_installed(store: Any, type_name: str, ros_prefixes: tuple[Path, ...]) -> None:
    """Read a type, and all types in it that the store lacks, from installed packages."""
    package, _, name = type_name.partition('/msg/')
    for prefix in ros_prefixes:
        path = prefix / 'share' / package / 'msg' / f'{name}.msg'
        if path.is_file():
            break
    else:
        raise UnknownTypeError(type_name)
    try:
        types = get_types_from_msg(path.read_text(encoding='utf-8'), type_name)
    except TypesysError as error:
        raise UnknownTypeError(type_name) from error
    for _, fields in types.values():
        for _, (_, detail) in fields:
            for part in _names_in(detail):
                if part not in store.fielddefs and part not in types:
                    _register_installed(store, part, ros_prefixes)
    store.register(types)


def _names_in(detail: Any) -> Iterable[str]:
    """Return the message types that rosbags' description of a field names."""
    if isinstance(detail, str):
        return (detail,) if '/msg/' in detail else ()
    if isinstance(detail, tuple):
        return tuple(name for part in detail for name in _names_in(part))
    return ()


_PARSERS = {
    'ros2msg': get_types_from_msg,
    'ros2idl': lambda text, name: get_types_from_idl(text),
}
# rosbags writes code for each entry of such an array; a digit too much would fill the memory.
_MAX_ARRAY = 10_000


def types_of(topic: TopicInBag) -> Any:
    """Return a store that has the type of a topic, with all fields of the standard type.

    Raises:
        BagError: Its definition is neither in the bag, if it can be read there, nor a standard.
    """
    return _store(topic.type_name, topic.definition, topic.definition_format)[0]


def definition_damage(topic: TopicInBag) -> str:
    """Return why the standard definition of a topic's type is used; empty if the bag's is.

    Raises:
        BagError: Its definition is neither in the bag, if it can be read there, nor a standard.
    """
    return _store(topic.type_name, topic.definition, topic.definition_format)[1]


@functools.cache
def _store(type_name: str, definition: str, definition_format: str) -> tuple[Any, str]:
    standard = standard_types()
    is_standard = type_name in standard.fielddefs
    if is_standard:
        # Reading a definition takes a tenth of a second; most are the standard ones.
        text, _ = standard.generate_msgdef(type_name, ros_version=2)
        if definition in ('', text):
            return standard, ''
    damage = ''
    if definition and definition_format in _PARSERS:
        try:
            store = _parsed(type_name, definition, definition_format)
        except BagError as error:
            damage = f'the definition of {type_name} in the bag is damaged: {error}'
        else:
            missing = _missing_field(store, standard, type_name) if is_standard else ''
            if not missing:
                return store, ''
            damage = f'the definition of {type_name} in the bag has no field {missing}'
            if _layout(store, type_name) != _layout(standard, type_name):
                raise BagError(damage)
    if is_standard:
        return standard, f'{damage}; the standard one is used' if damage else ''
    raise BagError(
        damage or f'the definition of {type_name} is neither in the bag nor a standard one'
    )


def _parsed(type_name: str, definition: str, definition_format: str) -> Any:
    """Return a store with the types of a definition, which are all that it needs."""
    store = get_typestore(Stores.EMPTY)
    try:
        store.register(_PARSERS[definition_format](definition, type_name))
    except (TypesysError, ValueError, RecursionError) as error:
        raise BagError(f'it cannot be read ({type(error).__name__})') from error
    _check(store, type_name, ())
    return store


def _check(store: Any, type_name: str, outer: tuple[str, ...]) -> None:
    """Refuse types that lack a part, are part of themselves, or are too large."""
    if type_name not in store.fielddefs:
        raise BagError(f'it lacks {type_name}')
    if type_name in outer:
        raise BagError(f'{type_name} is a part of itself')
    for name, (kind, detail) in store.fielddefs[type_name][1]:
        part = detail[0] if kind in (Nodetype.ARRAY, Nodetype.SEQUENCE) else (kind, detail)
        is_number = part[0] == Nodetype.BASE and part[1][0] != 'string'
        if kind == Nodetype.ARRAY and detail[1] > _MAX_ARRAY and not is_number:
            raise BagError(f'{name} of {type_name} has {detail[1]} entries')
        if part[0] == Nodetype.NAME:
            _check(store, part[1], (*outer, type_name))


def _missing_field(store: Any, standard: Any, type_name: str, prefix: str = '') -> str:
    """Return the first field that the standard type has and that of a store has not."""
    there = dict(store.fielddefs.get(type_name, ((), ()))[1])
    for name, (kind, detail) in standard.fielddefs[type_name][1]:
        path = f'{prefix}{name}'
        if name not in there:
            return path
        part = detail[0] if kind in (Nodetype.ARRAY, Nodetype.SEQUENCE) else (kind, detail)
        if part[0] == Nodetype.NAME:
            missing = _missing_field(store, standard, part[1], f'{path}.')
            if missing:
                return missing
    return ''


def _layout(store: Any, type_name: str) -> tuple[Any, ...]:
    """Return the kinds of all fields of a type, without their names."""

    def of(kind: Any, detail: Any) -> Any:
        if kind == Nodetype.NAME:
            return _layout(store, detail)
        if kind in (Nodetype.ARRAY, Nodetype.SEQUENCE):
            return kind, of(*detail[0]), detail[1]
        return kind, detail

    return tuple(of(*field) for _, field in store.fielddefs[type_name][1])


def decode(topic: TopicInBag, data: bytes) -> Any:
    """Return a serialized message as an object with its fields.

    Raises:
        BagError: It is no message of the topic's type.
    """
    store = types_of(topic)
    try:
        return store.deserialize_cdr(data, topic.type_name)
    # Up to 0.11, rosbags lets through what its compiled code runs into.
    except (SerdeError, struct.error, ValueError, IndexError, AssertionError) as error:
        raise BagError(f'is not a {topic.type_name} ({type(error).__name__}: {error})') from error

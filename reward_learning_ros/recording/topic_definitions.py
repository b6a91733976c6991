"""What a bag says of a topic: its type, the type's definition, its quality of service."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rosbags.typesys import Stores, TypesysError, get_types_from_msg, get_typestore

from reward_learning_ros.recording.bag_errors import UnknownTypeError

# As rosbag2 up to version 8 of its metadata writes them, and every later one reads them.
_HISTORY = {'keep_last': 1, 'keep_all': 2}
_RELIABILITY = {'reliable': 1, 'best_effort': 2}
_DURABILITY = {'transient_local': 1, 'volatile': 2}
_AUTOMATIC_LIVELINESS = 1
_FOREVER = {'sec': 9223372036, 'nsec': 854775807}


@dataclass(frozen=True, kw_only=True)
class QualityOfService:
    """How a topic is sent; `ros2 bag play` sends it in the same way."""

    history: str = 'keep_last'
    depth: int = 10
    reliability: str = 'reliable'
    durability: str = 'volatile'

    def to_mapping(self) -> dict[str, Any]:
        """Return it as rosbag2 writes it."""
        return {
            'history': _HISTORY[self.history],
            'depth': self.depth,
            'reliability': _RELIABILITY[self.reliability],
            'durability': _DURABILITY[self.durability],
            'deadline': dict(_FOREVER),
            'lifespan': dict(_FOREVER),
            'liveliness': _AUTOMATIC_LIVELINESS,
            'liveliness_lease_duration': dict(_FOREVER),
            'avoid_ros_namespace_conventions': False,
        }


LATCHED = QualityOfService(depth=1, durability='transient_local')


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

"""The ROS half of `parameters`: one dataclass becomes the parameters of a node."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.parameters import (
    ParameterError,
    Parameters,
    Specification,
    from_mapping,
    specifications,
)
from reward_learning_ros.parameters.sources import renamed_parameters, renaming_notice, unknown_key

_P = TypeVar('_P', bound=Parameters)

_SCALAR_TYPES = {
    bool: Parameter.Type.BOOL,
    int: Parameter.Type.INTEGER,
    float: Parameter.Type.DOUBLE,
    str: Parameter.Type.STRING,
}
_ARRAY_TYPES = {
    bool: Parameter.Type.BOOL_ARRAY,
    int: Parameter.Type.INTEGER_ARRAY,
    float: Parameter.Type.DOUBLE_ARRAY,
    str: Parameter.Type.STRING_ARRAY,
}
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


def declare(node: Node, cls: type[_P], on_change: Callable[[_P], None] | None = None) -> _P:
    """Declare each field as a ROS parameter and return the configuration of the node.

    Later changes are checked as a whole before they are made. `on_change` is called with the
    new configuration; if it raises a RewardLearningError, the change is refused with that reason.
    Without `on_change` nobody would take notice, so every parameter is read-only.

    Args:
        node: The node; call this in its constructor, before anything that may be called back.
        cls: The configuration.
        on_change: What to do with a new configuration.

    Raises:
        ParameterError: An override (`-p name:=value`, `--params-file`, launch) has an unknown
            name or a bad value, or a required one is missing.
    """
    config = from_mapping(cls, _overrides(node, cls))
    for specification in specifications(cls).values():
        descriptor = _descriptor(specification)
        descriptor.read_only |= on_change is None
        _declare_one(node, specification, getattr(config, specification.name), descriptor)
    if on_change is not None:
        node.add_on_set_parameters_callback(_ChangeGuard(config, on_change))
    return config


def _overrides(node: Node, cls: type[Parameters]) -> dict[str, Any]:
    """Return the values that the node was started with, by name.

    They are taken as a whole, before they are declared, to find those that nobody declares, to
    accept 1 for 1.0, and to refuse a bad one in our own words. rclpy has no public way to see
    them (the attribute is the same from Humble to Kilted).
    """
    known, renamed = specifications(cls), renamed_parameters(cls)
    values: dict[str, Any] = {}
    for given, override in node._parameter_overrides.items():
        name = renamed.get(given, given)
        if name != given:
            if name in node._parameter_overrides:
                raise ParameterError(cls.__name__, given, override.value, f'given as {name}, too')
            node.get_logger().warning(renaming_notice(given, name))
        if name in known:
            # ROS 2 reads an empty list, which has no type, as a parameter that is not set.
            is_empty_list = override.type_ is Parameter.Type.NOT_SET and known[name].is_array
            values[name] = () if is_empty_list else override.value
        elif not node.has_parameter(name) and name.split('.')[0] not in Parameters.ROS_OWN:
            raise unknown_key(cls.__name__, name, override.value, known)
    return values


def _descriptor(specification: Specification) -> ParameterDescriptor:
    unit = f' ({specification.unit})' if specification.unit else ''
    descriptor = ParameterDescriptor(
        name=specification.name,
        description=specification.description + unit,
        additional_constraints=specification.allowed,
        read_only=specification.read_only,
        # An unset parameter of a fixed type makes Humble answer no request for parameters.
        dynamic_typing=specification.is_optional,
    )
    minimum, maximum = specification.minimum, specification.maximum
    # The range of a descriptor is of one number; that of a list is in the constraints.
    if (minimum is None and maximum is None) or specification.is_array:
        return descriptor
    if specification.type is int:
        descriptor.integer_range = [
            IntegerRange(
                from_value=_INT64_MIN if minimum is None else int(minimum),
                to_value=_INT64_MAX if maximum is None else int(maximum),
            )
        ]
    else:
        descriptor.floating_point_range = [
            FloatingPointRange(
                from_value=-float('inf') if minimum is None else float(minimum),
                to_value=float('inf') if maximum is None else float(maximum),
            )
        ]
    return descriptor


def _declare_one(
    node: Node, specification: Specification, value: Any, descriptor: ParameterDescriptor
) -> None:
    if value != ():
        plain = list(value) if isinstance(value, tuple) else value
        node.declare_parameter(specification.name, plain, descriptor, ignore_override=True)
        return
    # rclpy takes an empty list for one of bytes. Declared by type and set with its type, it is
    # what it is; that cannot be done with a parameter that is already read-only.
    kind = _ARRAY_TYPES[specification.type]
    if specification.is_optional:
        node.declare_parameter(
            specification.name, None, _changed(descriptor, read_only=False), ignore_override=True
        )
    else:
        node.declare_parameter(
            specification.name, kind, _changed(descriptor, read_only=False), ignore_override=True
        )
    node.set_parameters([Parameter(specification.name, kind, [])])
    descriptor.type = kind.value
    node.set_descriptor(specification.name, descriptor)


def _changed(descriptor: ParameterDescriptor, **changes: Any) -> ParameterDescriptor:
    fields = {name: getattr(descriptor, name) for name in descriptor.get_fields_and_field_types()}
    return ParameterDescriptor(**{**fields, **changes})


class _ChangeGuard(Generic[_P]):
    """Decides about each change of a running node's parameters, and passes it on."""

    def __init__(self, config: _P, on_change: Callable[[_P], None]) -> None:
        self._config = config
        self._on_change = on_change

    def __call__(self, parameters: list[Parameter]) -> SetParametersResult:
        known = specifications(type(self._config))
        ours = [parameter for parameter in parameters if parameter.name in known]
        try:
            for parameter in ours:
                if parameter.type_ is Parameter.Type.NOT_SET:
                    # rclpy would then forget the parameter and its description altogether.
                    raise ParameterError(
                        type(self._config).__name__,
                        parameter.name,
                        None,
                        'cannot be unset while the node runs',
                    )
            changes = {parameter.name: parameter.value for parameter in ours}
            if changes:
                config = dataclasses.replace(self._config, **changes)
                self._on_change(config)
                self._config = config
        except RewardLearningError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

"""What one parameter may be, and the check that a configuration is just that."""

from __future__ import annotations

import dataclasses
import numbers
import re
import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from reward_learning_ros.core.errors import InvalidInputError

_METADATA_KEY = 'reward_learning_ros.parameter'
_MAX_TEXT = 200
# As ROS 2 allows them; a slash at the front is understood.
_NAMESPACE = re.compile(r'/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*')
_MAX_NAMESPACE = 200
_NAMES_OF_TYPES = {
    bool: 'true or false',
    int: 'a whole number',
    float: 'a number',
    str: 'text',
}


class ParameterError(InvalidInputError):
    """A parameter is refused; the message says which, its value, and what is allowed."""

    def __init__(self, owner: str, field: str, value: object, allowed: str) -> None:
        self.owner = owner
        self.field = field
        self.value = value
        self.allowed = allowed
        super().__init__(f'{field} = {_brief(value)}: {allowed}')


class RenamedParameterWarning(FutureWarning):
    """A parameter is given under a name that it had before."""


@dataclass(frozen=True, kw_only=True)
class Specification:
    """What a parameter is and what it may be; read from a dataclass field."""

    owner: str
    name: str
    type: type
    """The type of the value, or of each value of an array: bool, int, float or str."""
    is_array: bool
    is_optional: bool
    default: Any
    """`dataclasses.MISSING` if a value must be given."""
    description: str
    minimum: float | None
    maximum: float | None
    choices: tuple[Any, ...]
    unit: str
    read_only: bool
    is_namespace: bool
    former_names: tuple[str, ...]
    """Under which files and commands may still have it."""

    @property
    def is_required(self) -> bool:
        """Whether there is no default."""
        return self.default is dataclasses.MISSING

    @property
    def bounds(self) -> str:
        """The range or the choices in words, empty if there are none."""
        if self.choices:
            return 'one of ' + ', '.join(str(choice) or 'empty' for choice in self.choices)
        if self.is_namespace:
            return 'letters, digits and "_", no part of it beginning with a digit'
        if self.minimum is not None and self.maximum is not None:
            return f'{self.minimum} to {self.maximum}'
        if self.minimum is not None:
            return f'at least {self.minimum}'
        if self.maximum is not None:
            return f'at most {self.maximum}'
        return ''

    @property
    def allowed(self) -> str:
        """What a value must be, in words."""
        name = _NAMES_OF_TYPES[self.type]
        text = f'must be a list, each {name}' if self.is_array else f'must be {name}'
        if self.bounds:
            text += f', {self.bounds}'
        if self.unit:
            text += f' (unit: {self.unit})'
        if self.is_optional:
            text += ', or unset'
        return text

    def checked(self, value: object) -> Any:
        """Return the value in its exact type.

        Raises:
            ParameterError: It has another type, is not finite or is out of range.
        """
        if value is None and self.is_optional:
            return None
        if not self.is_array:
            return self._checked_scalar(value, value)
        # An array of NumPy or of the standard library, as rclpy hands them out, is a list too.
        values = value.tolist() if hasattr(value, 'tolist') else value
        if not isinstance(values, (list, tuple)):
            raise self.refusal(value)
        return tuple(self._checked_scalar(item, value) for item in values)

    def _checked_scalar(self, value: object, whole: object) -> Any:
        exact: Any
        # To Python True is an int; to whoever wrote `count: true` it is a mistake.
        is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if self.type in (bool, str) and isinstance(value, self.type):
            exact = value
        elif self.type is int and is_number and _fits(value):
            exact = int(typing.cast(int, value))
        elif self.type is float and is_number and _is_finite(typing.cast(float, value)):
            exact = float(typing.cast(float, value))
        else:
            raise self.refusal(whole, hint=_hint(self.type, value))
        if self.choices and exact not in self.choices:
            raise self.refusal(whole)
        if self.is_namespace and exact and not _is_namespace(exact):
            raise self.refusal(whole)
        if self.minimum is not None and exact < self.minimum:
            raise self.refusal(whole)
        if self.maximum is not None and exact > self.maximum:
            raise self.refusal(whole)
        return exact

    def refusal(self, value: object, hint: str = '') -> ParameterError:
        """Return the error that refuses a value."""
        return ParameterError(self.owner, self.name, value, self.allowed + hint)


def _is_namespace(text: str) -> bool:
    return len(text) <= _MAX_NAMESPACE and bool(_NAMESPACE.fullmatch(text))


def _fits(value: object) -> bool:
    """Tell whether a number is whole and can be a parameter of a node, which has 64 bits."""
    return isinstance(value, numbers.Integral) and -(2**63) <= int(value) < 2**63


def _is_finite(value: float) -> bool:
    # A whole number can be too large for a float.
    return abs(value) <= sys.float_info.max


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_TEXT else f'{text[: _MAX_TEXT - 1]}…'


def _hint(expected: type, value: object) -> str:
    if expected is float and isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return ''
        # YAML 1.1 wants a point and a signed exponent in a number.
        return f'; YAML reads {value} as text, write {number!r}' if 'e' in value.lower() else ''
    if expected is int and isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return ', and of 64 bits'
    return ''


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Base of every configuration: validates itself when it is made.

    A subclass is a frozen, keyword-only dataclass whose fields are all made by `parameter`. One
    with rules between fields extends `__post_init__` and calls this one first.
    """

    # Parameters that every ROS node has; a parameter file may hold them next to ours.
    ROS_OWN: ClassVar[frozenset[str]] = frozenset(
        {'use_sim_time', 'qos_overrides', 'start_type_description_service'}
    )

    def __post_init__(self) -> None:
        for specification in specifications(type(self)).values():
            value = specification.checked(getattr(self, specification.name))
            # Frozen for everyone else: here 1 becomes 1.0 and a list a tuple.
            object.__setattr__(self, specification.name, value)


def parameter(
    default: Any = dataclasses.MISSING,
    *,
    description: str,
    minimum: float | None = None,
    maximum: float | None = None,
    choices: tuple[Any, ...] = (),
    unit: str = '',
    read_only: bool = False,
    is_namespace: bool = False,
    former_names: tuple[str, ...] = (),
) -> Any:
    """Declare a field of a `Parameters` dataclass: default, range, unit and description.

    The annotation gives the type: bool, int, float, str, a tuple of one of them (`tuple[float,
    ...]`), or one of these `| None`.

    Args:
        default: The value where none is given; without it, one must be given.
        description: One line for `--help` and for the ROS descriptor.
        minimum: Least value allowed, of each element for a tuple.
        maximum: Greatest value allowed, of each element for a tuple.
        choices: The only values allowed.
        unit: Unit of the value, such as `m/s`.
        read_only: Whether a running node refuses to change it.
        is_namespace: Whether it must be a namespace of ROS 2, or empty.
        former_names: Names that it had before; they are taken with a warning.
    """
    metadata = {
        _METADATA_KEY: {
            'description': description,
            'minimum': minimum,
            'maximum': maximum,
            'choices': tuple(choices),
            'unit': unit,
            'read_only': read_only,
            'is_namespace': is_namespace,
            'former_names': tuple(former_names),
        }
    }
    return dataclasses.field(default=default, metadata=metadata)


def specifications(cls: type[Parameters]) -> Mapping[str, Specification]:
    """Return the specification of each field by name, in the order of the fields.

    Raises:
        TypeError: The dataclass itself is wrong: a field not made by `parameter`, a type that
            cannot be a parameter, or a default that its own range refuses.
    """
    # The annotations may be strings (`from __future__ import annotations`).
    hints = typing.get_type_hints(cls)
    found = {}
    for field in dataclasses.fields(cls):
        where = f'{cls.__name__}.{field.name}'
        if _METADATA_KEY not in field.metadata:
            raise TypeError(f'{where} is not made by parameter(…)')
        scalar, is_array, is_optional = _kind_of(hints[field.name], where)
        settings = field.metadata[_METADATA_KEY]
        if scalar in (bool, str) and (settings['minimum'], settings['maximum']) != (None, None):
            raise TypeError(f'{where} has a range, but {scalar.__name__} has no order')
        specification = Specification(
            owner=cls.__name__,
            name=field.name,
            type=scalar,
            is_array=is_array,
            is_optional=is_optional,
            default=field.default,
            **settings,
        )
        if not specification.is_required:
            try:
                specification.checked(field.default)
            except ParameterError as error:
                raise TypeError(f'the default of {cls.__name__}.{error}') from error
        found[field.name] = specification
    return types.MappingProxyType(found)


def _kind_of(hint: Any, where: str) -> tuple[type, bool, bool]:
    """Return the scalar type of an annotation, whether it is an array, whether optional."""
    is_optional = False
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        members = [member for member in typing.get_args(hint) if member is not type(None)]
        is_optional = len(members) < len(typing.get_args(hint))
        hint = members[0] if len(members) == 1 else None
    is_array = typing.get_origin(hint) is tuple
    if is_array:
        members = list(typing.get_args(hint))
        hint = members[0] if len(members) == 2 and members[1] is Ellipsis else None
    if hint not in _NAMES_OF_TYPES:
        raise TypeError(
            f'{where} cannot be a parameter; its type must be bool, int, float, str, a '
            'tuple[…, ...] of one of them, or one of these | None'
        )
    return hint, is_array, is_optional


def validate(config: Parameters) -> None:
    """Check a configuration that was made around its constructor (unpickled, copied).

    Raises:
        ParameterError: A value is refused.
    """
    dataclasses.replace(config)

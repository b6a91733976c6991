"""A node's parameters are the dataclass: described, checked and changeable over real services."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import yaml
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.nodes.ros_parameters import declare
from reward_learning_ros.parameters import ParameterError, Parameters, parameter, to_mapping


@dataclass(frozen=True, kw_only=True)
class Example(Parameters):
    enabled: bool = parameter(True, description='Whether it runs')
    count: int = parameter(3, description='How many', minimum=1, maximum=10)
    big: int = parameter(3, description='At least', minimum=0)
    speed: float = parameter(
        0.5,
        description='How fast',
        minimum=0.0,
        maximum=2.0,
        unit='m/s',
        former_names=('quickness',),
    )
    temperature: float = parameter(20.0, description='At most', maximum=100.0)
    method: str = parameter('mean', description='Which', choices=('mean', 'mode'))
    tool_frame: str = parameter('tool', description='Frame', read_only=True)
    gains: tuple[float, ...] = parameter((1.0, 2.0), description='Gains', minimum=0.0)
    no_gains: tuple[float, ...] = parameter((), description='Empty')
    no_names: tuple[str, ...] = parameter((), description='Empty')
    no_indices: tuple[int, ...] = parameter((), description='Empty and fixed', read_only=True)
    limit: float | None = parameter(None, description='Limit', minimum=0.0)
    offsets: tuple[float, ...] | None = parameter(None, description='Offsets')


TYPES = {
    'enabled': ParameterType.PARAMETER_BOOL,
    'count': ParameterType.PARAMETER_INTEGER,
    'big': ParameterType.PARAMETER_INTEGER,
    'speed': ParameterType.PARAMETER_DOUBLE,
    'temperature': ParameterType.PARAMETER_DOUBLE,
    'method': ParameterType.PARAMETER_STRING,
    'tool_frame': ParameterType.PARAMETER_STRING,
    'gains': ParameterType.PARAMETER_DOUBLE_ARRAY,
    'no_gains': ParameterType.PARAMETER_DOUBLE_ARRAY,
    'no_names': ParameterType.PARAMETER_STRING_ARRAY,
    'no_indices': ParameterType.PARAMETER_INTEGER_ARRAY,
    'limit': ParameterType.PARAMETER_NOT_SET,
    'offsets': ParameterType.PARAMETER_NOT_SET,
}


class ExampleNode(Node):
    """Keeps every configuration that it is given, and refuses a count of 7."""

    def __init__(self, context, changeable=True):
        super().__init__('example', context=context)
        self.history = []
        self.config = declare(self, Example, self.take if changeable else None)

    def take(self, config):
        if config.count == 7:
            raise RewardLearningError('seven is taken')
        self.history.append(config)


class Remote:
    """Another node that asks and sets over the services."""

    def __init__(self, ros):
        self.ros = ros
        self.node = ros.create_node('remote')

    def call(self, kind, name, **fields):
        client = self.node.create_client(kind, f'/example/{name}')
        return self.ros.call(client, kind.Request(**fields))

    def set(self, **values):
        """Set values atomically and return the result; a Parameter keeps its own type."""
        parameters = [
            value if isinstance(value, Parameter) else Parameter(name, value=value)
            for name, value in values.items()
        ]
        messages = [item.to_parameter_msg() for item in parameters]
        return self.call(
            SetParametersAtomically, 'set_parameters_atomically', parameters=messages
        ).result

    def get(self, *names):
        return self.call(GetParameters, 'get_parameters', names=list(names)).values


@pytest.fixture
def node(ros):
    return ros.add(ExampleNode(ros.context))


@pytest.fixture
def remote(ros, node):
    return Remote(ros)


def start(make_ros, *arguments):
    ros = make_ros('--ros-args', *arguments)
    return ros.add(ExampleNode(ros.context))


def test_without_overrides_the_defaults_are_declared(remote, node):
    assert node.config == Example()
    names = remote.call(ListParameters, 'list_parameters').result.names
    assert set(TYPES) <= set(names)
    values = remote.get(*TYPES)
    assert {name: value.type for name, value in zip(TYPES, values, strict=True)} == TYPES
    for name, value in to_mapping(Example()).items():
        if isinstance(value, list):
            assert list(node.get_parameter(name).value) == value
        else:
            assert node.get_parameter(name).value == value


def test_descriptors_carry_description_range_choices_and_read_only(remote):
    names = ['count', 'big', 'speed', 'temperature', 'method', 'tool_frame', 'no_indices', 'gains']
    answers = remote.call(DescribeParameters, 'describe_parameters', names=names).descriptors
    found = dict(zip(names, answers, strict=True))
    for name, descriptor in found.items():
        assert descriptor.name == name
        assert descriptor.type == TYPES[name]
        assert descriptor.read_only == (name in ('tool_frame', 'no_indices'))
    assert found['speed'].description == 'How fast (m/s)'
    assert (
        found['count'].integer_range[0].from_value,
        found['count'].integer_range[0].to_value,
    ) == (1, 10)
    assert found['big'].integer_range[0].to_value == 2**63 - 1
    assert found['speed'].floating_point_range[0].to_value == 2.0
    assert found['temperature'].floating_point_range[0].from_value == -float('inf')
    assert 'one of mean, mode' in found['method'].additional_constraints
    assert 'at least 0.0' in found['gains'].additional_constraints


def test_overrides_of_the_command_line_arrive(make_ros):
    node = start(
        make_ros,
        *('-p', 'enabled:=false', '-p', 'count:=4', '-p', 'speed:=1', '-p', 'method:=mode'),
        *('-p', 'gains:=[3, 4]', '-p', 'no_names:=["a", "b"]', '-p', 'limit:=2'),
        *('-p', 'use_sim_time:=false', '-p', 'tool_frame:=hand'),
    )  # fmt: skip
    expected = Example(
        enabled=False,
        count=4,
        speed=1,
        method='mode',
        gains=(3, 4),
        no_names=('a', 'b'),
        limit=2,
        tool_frame='hand',
    )
    assert node.config == expected
    assert node.get_parameter('speed').type_ is Parameter.Type.DOUBLE
    assert node.get_parameter('gains').type_ is Parameter.Type.DOUBLE_ARRAY


def test_overrides_of_a_file_arrive(make_ros, tmp_path):
    path = tmp_path / 'parameters.yaml'
    values = {'count': 5, 'gains': [], 'no_names': [], 'speed': 0.25}
    path.write_text(
        yaml.safe_dump(
            {'/**': {'ros__parameters': values}, '/other': {'ros__parameters': {'count': 9}}}
        )
    )
    node = start(make_ros, '--params-file', str(path))
    assert node.config == Example(count=5, gains=(), speed=0.25)
    assert node.get_parameter('gains').type_ is Parameter.Type.DOUBLE_ARRAY


@pytest.mark.parametrize(
    ('override', 'expected'),
    [
        ('sped:=1.0', r'sped = 1\.0: unknown; did you mean speed'),
        ('xyzzy:=1', r'xyzzy = 1: unknown; known: big, count'),
        ('count:=11', r'count = 11: must be a whole number, 1 to 10'),
        ('count:=1.0', r'count = 1\.0: must be a whole number'),
        ('count:=true', r'count = True: must be a whole number'),
        ('speed:=.nan', r'speed = nan: must be a number'),
        ('speed:=fast', r"speed = 'fast': must be a number"),
        ('method:=median', r"method = 'median': .*one of mean, mode"),
        ('gains:=[1.0, -1.0]', r'gains = .*at least 0\.0'),
        ('gains:=1.0', r'gains = 1\.0: must be a list'),
    ],
)
def test_bad_overrides_are_refused_with_what_is_allowed(make_ros, override, expected):
    with pytest.raises(ParameterError, match=expected):
        start(make_ros, '-p', override)


def test_an_override_under_a_former_name_is_taken(make_ros):
    assert start(make_ros, '-p', 'quickness:=1.5').config.speed == 1.5


def test_a_parameter_has_no_two_names_at_once(make_ros):
    with pytest.raises(ParameterError, match='given as speed, too'):
        start(make_ros, '-p', 'quickness:=1.5', '-p', 'speed:=1.5')


def test_a_good_change_is_taken(remote, node):
    assert remote.set(speed=1.5, gains=[0.5]).successful
    assert node.history == [Example(speed=1.5, gains=(0.5,))]
    assert remote.set(limit=4.0).successful
    assert node.history[-1] == Example(speed=1.5, gains=(0.5,), limit=4.0)
    assert remote.get('speed', 'limit')[1].double_value == 4.0
    assert remote.set(no_names=Parameter('no_names', Parameter.Type.STRING_ARRAY, [])).successful
    assert remote.set(gains=Parameter('gains', Parameter.Type.DOUBLE_ARRAY, [])).successful
    assert node.history[-1].gains == ()


@pytest.mark.parametrize(
    ('values', 'expected'),
    [
        ({'count': 11}, 'out of range'),
        ({'speed': float('nan')}, 'speed'),
        ({'speed': 2.0000001}, 'speed = 2.0000001: must be a number, 0.0 to 2.0'),
        ({'method': 'median'}, 'one of mean, mode'),
        ({'gains': [1.0, -1.0]}, 'at least 0.0'),
        ({'gains': [1.0, float('inf')]}, 'gains = '),
        ({'enabled': 1}, 'Wrong parameter type'),
        ({'tool_frame': 'hand'}, 'read-only'),
        ({'count': 7}, 'seven is taken'),
        ({'limit': -1.0}, 'limit'),
        ({'limit': 'high'}, 'limit = '),
        ({'limit': None}, 'cannot be unset'),
        # One bad value among good ones: all are refused.
        ({'speed': 1.0, 'method': 'median'}, 'one of mean, mode'),
    ],
)
def test_a_bad_change_is_refused_with_the_reason(remote, node, values, expected):
    result = remote.set(**values)
    assert not result.successful
    assert expected in result.reason
    assert node.history == []
    assert remote.get('speed')[0].double_value == 0.5


def test_parameters_of_someone_else_are_left_alone(remote, node):
    node.declare_parameter('foreign', 1)
    assert remote.set(foreign=2).successful
    assert node.history == []


def test_one_bad_parameter_does_not_hold_up_the_others(remote, node):
    parameters = [
        Parameter('count', value=11).to_parameter_msg(),
        Parameter('speed', value=1.0).to_parameter_msg(),
    ]
    results = remote.call(SetParameters, 'set_parameters', parameters=parameters).results
    assert [result.successful for result in results] == [False, True]
    assert node.history == [Example(speed=1.0)]


def test_a_node_that_takes_no_changes_has_only_fixed_parameters(ros):
    ros.add(ExampleNode(ros.context, changeable=False))
    remote = Remote(ros)
    for name, value in (('speed', 1.0), ('no_gains', [1.0]), ('limit', 1.0)):
        result = remote.set(**{name: value})
        assert not result.successful
        assert 'read-only' in result.reason

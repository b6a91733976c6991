"""One dataclass, checked the same whether it comes from code, a file or a command line."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
from dataclasses import dataclass

import numpy as np
import pytest
import yaml

from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError
from reward_learning_ros.parameters import (
    ParameterError,
    Parameters,
    add_arguments,
    from_arguments,
    from_file,
    from_mapping,
    from_texts,
    parameter,
    specifications,
    text_of,
    to_mapping,
    validate,
)
from reward_learning_ros.parameters.sources import mapping_from_file
from reward_learning_ros.parameters.specification import RenamedParameterWarning


@dataclass(frozen=True, kw_only=True)
class Example(Parameters):
    enabled: bool = parameter(True, description='Whether it runs')
    count: int = parameter(3, description='How many', minimum=1, maximum=10)
    speed: float = parameter(0.5, description='How fast', minimum=0.0, maximum=2.0, unit='m/s')
    share: float = parameter(0.1, description='100 % is all of it', minimum=0.0)
    method: str = parameter(
        'double_mh', description='Which sampler', choices=('ignore', 'double_mh'), read_only=True
    )
    gains: tuple[float, ...] = parameter((1.0, 2.0), description='Gains', minimum=0.0)
    names: tuple[str, ...] = parameter((), description='Names')
    indices: tuple[int, ...] = parameter((), description='Indices')
    limit: float | None = parameter(None, description='Limit', minimum=0.0, unit='N')
    weights: tuple[float, ...] | None = parameter(None, description='Weights')


@dataclass(frozen=True, kw_only=True)
class Required(Parameters):
    participant: str = parameter(description='Who')


@dataclass(frozen=True, kw_only=True)
class Ordered(Parameters):
    lower: float = parameter(0.0, description='Lower end')
    upper: float = parameter(1.0, description='Upper end')

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lower >= self.upper:
            raise ParameterError('Ordered', 'lower', self.lower, f'must be below {self.upper}')


BAD_VALUES = [
    ('enabled', 1),
    ('enabled', 'yes'),
    ('count', True),
    ('count', 2.0),
    ('count', '2'),
    ('count', 0),
    ('count', 11),
    ('count', None),
    ('speed', 'fast'),
    ('speed', False),
    ('speed', math.nan),
    ('speed', math.inf),
    ('speed', -0.1),
    ('speed', 2.1),
    ('method', 'metropolis'),
    ('method', 1),
    ('gains', 1.0),
    ('gains', '1.0'),
    ('gains', (1.0, -1.0)),
    ('gains', (1.0, math.nan)),
    ('gains', {'p': 1.0}),
    ('names', 'abc'),
    ('names', (1,)),
    ('indices', (1.5,)),
    ('indices', (True,)),
    ('limit', -1.0),
    ('limit', math.inf),
]
GOOD_VALUES = [
    ('count', np.int64(4), 4),
    ('speed', 1, 1.0),
    ('speed', np.float32(0.25), 0.25),
    ('gains', [3, 4.5], (3.0, 4.5)),
    ('gains', np.array([0.0, 1.0]), (0.0, 1.0)),
    ('gains', (), ()),
    ('indices', np.array([1, 2]), (1, 2)),
    ('limit', 3, 3.0),
    ('limit', None, None),
    ('weights', [1], (1.0,)),
]


def parse(arguments: list[str], cls: type[Parameters] = Example) -> Parameters:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_arguments(parser, cls)
    return from_arguments(cls, parser.parse_args(arguments))


@pytest.mark.parametrize(('name', 'value'), BAD_VALUES)
def test_a_bad_value_is_refused_with_field_value_and_what_is_allowed(name, value):
    for make in (lambda m: Example(**m), lambda m: from_mapping(Example, m)):
        with pytest.raises(ParameterError) as caught:
            make({name: value})
        text = str(caught.value)
        assert f'{name} = ' in text
        assert repr(value) in text
        assert specifications(Example)[name].allowed in text
        assert isinstance(caught.value, RewardLearningError)


@pytest.mark.parametrize(('name', 'value', 'expected'), GOOD_VALUES)
def test_a_good_value_gets_its_exact_type(name, value, expected):
    found = getattr(Example(**{name: value}), name)
    assert found == expected
    assert type(found) is type(expected)
    if isinstance(found, tuple):
        assert [type(item) for item in found] == [type(item) for item in expected]


def test_an_unknown_key_is_refused_with_close_matches():
    with pytest.raises(ParameterError, match=r'sped = 1: unknown; did you mean speed'):
        from_mapping(Example, {'sped': 1})
    with pytest.raises(ParameterError, match='known: count, enabled, gains'):
        from_mapping(Example, {'xyzzy': 1})


def test_a_required_parameter_must_be_given():
    with pytest.raises(ParameterError, match=r'participant.*required'):
        from_mapping(Required, {})
    with pytest.raises(ParameterError, match=r'participant.*required'):
        parse([], Required)
    assert parse(['--participant', 'p01'], Required).participant == 'p01'


def test_rules_between_fields_are_checked_after_the_fields():
    with pytest.raises(ParameterError, match='must be below'):
        Ordered(lower=2)
    with pytest.raises(ParameterError, match='must be a number'):
        Ordered(lower='2')


def test_a_configuration_is_frozen_and_can_be_validated_again():
    config = Example()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.count = 4  # type: ignore[misc]
    object.__setattr__(config, 'count', 40)
    with pytest.raises(ParameterError, match='count = 40'):
        validate(config)


def test_mapping_and_configuration_are_inverse():
    config = Example(gains=(0.25,), names=('a', 'b'), limit=2, enabled=False, weights=())
    mapping = json.loads(json.dumps(to_mapping(config)))
    assert from_mapping(Example, mapping) == config


@pytest.mark.parametrize(
    'layout',
    [
        lambda values: values,
        lambda values: {'/**': {'ros__parameters': values}},
        lambda values: {'example': {'ros__parameters': {**values, 'use_sim_time': True}}},
        lambda values: {'/arm/example': {'ros__parameters': values}},
        lambda values: {'arm': {'example': {'ros__parameters': values}}},
        lambda values: {
            '/**': {'ros__parameters': {'count': 9}},
            'example': {'ros__parameters': values},
        },
    ],
)
def test_a_file_may_be_plain_or_in_the_layout_of_ros(tmp_path, layout):
    config = Example(count=7, gains=(0.5,), names=('x',), limit=1.5)
    values = {key: value for key, value in to_mapping(config).items() if value is not None}
    path = tmp_path / 'parameters.yaml'
    path.write_text(yaml.safe_dump(layout(values), sort_keys=False))
    assert from_file(Example, path) == config


def test_only_the_sections_of_the_node_count(tmp_path):
    path = tmp_path / 'parameters.yaml'
    path.write_text(
        yaml.safe_dump(
            {
                '/**': {'ros__parameters': {'speed': 1.5}},
                'one': {'ros__parameters': {'count': 1}},
                '/arm/two': {'ros__parameters': {'count': 2, 'speed': 0.25}},
                '/other/*': {'ros__parameters': {'count': 8}},
            },
            sort_keys=False,
        )
    )
    found = {
        node: (config.count, config.speed)
        for node in ('one', 'two', '/arm/two', '/other/three', '/deep/other/three')
        for config in [from_file(Example, path, node=node)]
    }
    assert found == {
        'one': (1, 1.5),
        'two': (2, 0.25),
        '/arm/two': (2, 0.25),
        '/other/three': (8, 1.5),
        '/deep/other/three': (3, 1.5),
    }
    with pytest.raises(InvalidInputError, match='several nodes'):
        from_file(Example, path)


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('speed: "1e-3"', r"speed = '1e-3'.*YAML reads 1e-3 as text, write 0\.001"),
        ('count: yes', r'count = True'),
        ('[1, 2]', 'must be a mapping'),
        ('a: [', 'cannot be read'),
        ('/**:\n  ros__parameters: 3', 'must be a mapping'),
        ('/**:\n  ros__parameters:\n    cuont: 3', 'did you mean count'),
    ],
)
def test_a_bad_file_is_refused_with_the_reason(tmp_path, text, expected):
    path = tmp_path / 'parameters.yaml'
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=expected):
        from_file(Example, path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r'absent\.yaml'):
        from_file(Example, tmp_path / 'absent.yaml')


def test_an_empty_file_leaves_the_defaults(tmp_path):
    path = tmp_path / 'empty.yaml'
    path.write_text('')
    assert from_file(Example, path) == Example()


def test_the_command_line_overrules_the_file_and_the_file_the_defaults(tmp_path):
    path = tmp_path / 'parameters.yaml'
    path.write_text('count: 5\nspeed: 1.0\nenabled: false\nlimit: 4.0\n')
    config = parse(['--config', str(path), '--speed', '2', '--limit', 'none'])
    assert (config.count, config.speed, config.enabled, config.limit) == (5, 2.0, False, None)
    assert parse([]) == Example()


def test_every_kind_of_parameter_is_an_option():
    config = parse(
        [
            '--no-enabled',
            '--count',
            '4',
            '--speed',
            '1.25',
            '--method',
            'ignore',
            '--gains',
            '0.5',
            '1',
            '2',
            '--names',
            'a',
            'b',
            '--indices',
            '1',
            '-2',
            '--limit',
            '3',
            '--weights',
            '1',
            '2',
        ]
    )
    assert config == Example(
        enabled=False,
        count=4,
        speed=1.25,
        method='ignore',
        gains=(0.5, 1, 2),
        names=('a', 'b'),
        indices=(1, -2),
        limit=3,
        weights=(1, 2),
    )
    assert parse(['--enabled', '--gains', '--weights', 'none']) == Example(gains=())


def test_a_wrong_option_is_refused_with_what_is_allowed():
    with pytest.raises(argparse.ArgumentError, match=r'count.*whole number, 1 to 10'):
        parse(['--count', 'many'])
    with pytest.raises(ParameterError, match='count = 11'):
        parse(['--count', '11'])


def test_an_excluded_parameter_is_no_option_and_keeps_its_default():
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_arguments(parser, Example, exclude=('count',))
    assert '--count' not in parser.format_help()
    assert from_arguments(Example, parser.parse_args(['--speed', '1'])) == Example(speed=1)


def test_help_tells_unit_range_default_and_percent_signs():
    parser = argparse.ArgumentParser()
    add_arguments(parser, Example)
    text = ' '.join(parser.format_help().split())
    assert '--speed NUMBER How fast (m/s; 0.0 to 2.0; default: 0.5)' in text
    assert '--enabled, --no-enabled Whether it runs (default: True)' in text
    assert '100 % is all of it' in text
    assert '--gains [NUMBER ...] Gains (at least 0.0; default: 1.0 2.0)' in text
    assert '--limit NUMBER Limit (N; at least 0.0; default: none)' in text


def test_mistakes_in_the_dataclass_itself_are_found():
    @dataclass(frozen=True, kw_only=True)
    class Bare(Parameters):
        count: int = 3

    @dataclass(frozen=True, kw_only=True)
    class BadType(Parameters):
        table: dict = parameter(None, description='no')  # noqa: RUF009

    @dataclass(frozen=True, kw_only=True)
    class FixedLength(Parameters):
        pair: tuple[float, float] = parameter((0.0, 0.0), description='no')

    @dataclass(frozen=True, kw_only=True)
    class BadDefault(Parameters):
        count: int = parameter(0, description='no', minimum=1)

    @dataclass(frozen=True, kw_only=True)
    class RangeOfText(Parameters):
        name: str = parameter('', description='no', minimum=1)

    for cls in (Bare, BadType, FixedLength, BadDefault, RangeOfText):
        with pytest.raises(TypeError, match=cls.__name__):
            specifications(cls)


@pytest.mark.parametrize(
    'config',
    [
        Example(),
        Example(
            enabled=False,
            speed=1e-5,
            names=('a', 'b'),
            indices=(1, -2),
            limit=0.5,
            weights=(0.1, 2.0),
        ),
    ],
)
def test_texts_read_back_as_what_they_were_made_of(config):
    texts = {name: text_of(value) for name, value in vars(config).items()}
    assert from_texts(Example, texts) == config


@pytest.mark.parametrize(
    ('name', 'text'),
    [('count', 'many'), ('enabled', 'yes'), ('gains', '1 fast'), ('limit', 'no'), ('speeed', '1')],
)
def test_a_text_that_does_not_read_is_refused(name, text):
    with pytest.raises(ParameterError, match=name):
        from_texts(Example, {name: text})


@pytest.mark.parametrize('value', [10**30, 2**63, -(2**63) - 1])
def test_a_whole_number_that_no_node_can_have_is_refused(value):
    with pytest.raises(ParameterError, match=r'count = .*64 bits'):
        dataclasses.replace(Unbounded(), count=value)


@pytest.mark.parametrize('value', [10**400, -(10**400)])
def test_a_number_too_large_for_a_float_is_refused(value):
    with pytest.raises(ParameterError, match='speed') as caught:
        dataclasses.replace(Unbounded(), speed=value)
    assert len(str(caught.value)) < 500


def test_a_refusal_names_the_parameter_and_no_class():
    with pytest.raises(ParameterError) as caught:
        dataclasses.replace(Unbounded(), count='x')
    assert str(caught.value).startswith("count = 'x': must be a whole number")


@dataclass(frozen=True, kw_only=True)
class Unbounded(Parameters):
    """Parameters without a range."""

    count: int = parameter(1, description='A number')
    speed: float = parameter(1.0, description='Another')
    name: str = parameter('', description='A name')
    who: str = parameter('', description='Who', choices=('', 'one', 'all'))


def test_an_empty_default_is_said():
    parser = argparse.ArgumentParser()
    add_arguments(parser, Unbounded)
    assert '(default: )' not in parser.format_help()
    assert 'A name (default: empty)' in parser.format_help()
    assert 'Who (one of empty, one, all; default: empty)' in parser.format_help()
    assert '{one,all}' in parser.format_help()


@pytest.mark.parametrize('text', ['[' * 5000, 'speed: 2024-99-99', f'count: {"9" * 5000}'])
def test_a_file_that_no_person_would_write_is_refused(tmp_path, text):
    (tmp_path / 'deep.yaml').write_text(text)
    with pytest.raises(InvalidInputError, match=r'deep\.yaml: cannot be read'):
        from_file(Unbounded, tmp_path / 'deep.yaml')


def test_a_number_with_an_exponent_is_read_as_one(tmp_path):
    (tmp_path / 'large.yaml').write_text('speed: 1.0e308')
    assert from_file(Unbounded, tmp_path / 'large.yaml').speed == 1e308


@dataclass(frozen=True, kw_only=True)
class Renamed(Parameters):
    max_speed_m_s: float = parameter(
        0.5, description='How fast', maximum=2.0, former_names=('fastest_m_s', 'top_speed')
    )


@pytest.mark.parametrize('name', ['fastest_m_s', 'top_speed'])
class TestFormerNames:
    def test_a_mapping_may_have_it_and_its_author_is_told(self, name):
        with pytest.warns(RenamedParameterWarning, match=f'{name} is called max_speed_m_s now'):
            assert from_mapping(Renamed, {name: 1.0}).max_speed_m_s == 1.0

    @pytest.mark.parametrize('text', ['{}: 1.0', 'node: {{ros__parameters: {{{}: 1.0}}}}'])
    def test_a_file_gives_the_present_name(self, name, text, tmp_path):
        path = tmp_path / 'parameters.yaml'
        path.write_text(text.format(name), encoding='utf-8')
        with pytest.warns(RenamedParameterWarning):
            assert mapping_from_file(Renamed, path) == {'max_speed_m_s': 1.0}

    def test_later_sections_of_a_file_overrule_earlier_ones(self, name, tmp_path):
        path = tmp_path / 'parameters.yaml'
        path.write_text(
            f'/**: {{ros__parameters: {{{name}: 1.0}}}}\n'
            'node: {ros__parameters: {max_speed_m_s: 1.5}}\n',
            encoding='utf-8',
        )
        with pytest.warns(RenamedParameterWarning):
            assert mapping_from_file(Renamed, path, node='node') == {'max_speed_m_s': 1.5}

    def test_the_command_line_takes_it_and_does_not_advertise_it(self, name):
        parser = argparse.ArgumentParser()
        add_arguments(parser, Renamed)
        option = '--' + name.replace('_', '-')
        with pytest.warns(RenamedParameterWarning):
            config = from_arguments(Renamed, parser.parse_args([option, '1.0']))
        assert config.max_speed_m_s == 1.0
        assert option not in parser.format_help()

    def test_a_launch_argument_may_have_it(self, name):
        with pytest.warns(RenamedParameterWarning):
            assert from_texts(Renamed, {name: '1.0'}).max_speed_m_s == 1.0

    def test_both_names_at_once_are_refused(self, name):
        with pytest.raises(ParameterError, match='given as max_speed_m_s, too'):
            from_mapping(Renamed, {name: 1.0, 'max_speed_m_s': 1.0})

    def test_a_bad_value_is_refused_as_ever(self, name):
        with (
            pytest.warns(RenamedParameterWarning),
            pytest.raises(ParameterError, match='max_speed_m_s = 3'),
        ):
            from_mapping(Renamed, {name: 3.0})

"""YAML as people mean it, and never more of it than a person would write."""

from __future__ import annotations

import contextlib

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from reward_learning_ros.core.text import MAX_DEPTH, YamlError, load_yaml

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=['Cs']), max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab', max_size=3), inner),
    max_leaves=8,
)


@given(PLAIN)
def test_what_is_written_is_read(value) -> None:
    assert load_yaml(yaml.safe_dump(value), exponents=False) == value


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('1.0e308', 1e308),
        ('1e5', 1e5),
        ('-2E-3', -2e-3),
        ('.5e+3', 500.0),
        ("'1e5'", '1e5'),
        ('1e', '1e'),
        ('e5', 'e5'),
        ('12', 12),
        ('1.5', 1.5),
        ('1e5x', '1e5x'),
    ],
)
def test_a_number_may_have_an_exponent(text, value) -> None:
    found = load_yaml(text)
    assert found == value
    assert type(found) is type(value)


def test_a_name_like_a_number_can_stay_a_name() -> None:
    assert load_yaml('1e5', exponents=False) == '1e5'


LAUGHS = '\n'.join(
    ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
    + [f'a{level}: &a{level} [{", ".join([f"*a{level - 1}"] * 9)}]' for level in range(1, 10)]
)


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('[' * 5000, 'nested'),
        # The C library ends the process on this one.
        ('[' * 300_000, 'nested'),
        ('- ' * 300_000, 'nested'),
        ('{a: ' * 5000, 'nested'),
        (LAUGHS, 'more than'),
        ('&a [*a]', 'stands before its end'),
        ('*nobody', 'cannot be read'),
        ('2024-99-99', 'cannot be read'),
        ('9' * 5000, 'cannot be read'),
        ('a: [', 'cannot be read'),
        ('\x00', 'cannot be read'),
        ('!!python/object/apply:os.system [true]', 'cannot be read'),
    ],
)
def test_what_no_person_would_write_is_refused(text, reason) -> None:
    with pytest.raises(YamlError, match=reason) as caught:
        load_yaml(text)
    assert len(str(caught.value)) < 1000


def test_depth_and_aliases_that_people_use_are_read() -> None:
    deep = '[' * (MAX_DEPTH - 2) + ']' * (MAX_DEPTH - 2)
    assert load_yaml(deep) is not None
    assert load_yaml('a: &x [1, 2]\nb: *x') == {'a': [1, 2], 'b': [1, 2]}


@given(st.text(st.sampled_from('[]{}:-*&!|>\'" \nab1e.,#%@`?\t'), max_size=40))
def test_any_text_is_read_or_refused(text) -> None:
    with contextlib.suppress(YamlError):
        load_yaml(text)

"""Bytes and texts that once were right, for Hypothesis."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hypothesis import strategies as st

# What has broken readers of numbers, texts and containers before.
NASTY = (
    '',
    'null',
    '~',
    'true',
    '-1',
    '0',
    '1e308',
    '1e-320',
    'nan',
    '.inf',
    '-.inf',
    'Infinity',
    '9' * 5000,
    str(2**63),
    str(-(2**63) - 1),
    '0x7fffffffffffffff',
    '1_000',
    '2024-99-99',
    '12:30:45',
    '[' * 3000,
    '{' * 3000,
    '(' * 300,
    '[]',
    '{}',
    '[[1, 2], 3]',
    '{a: 1, a: 2}',
    '!!python/object/apply:os.system ["true"]',
    '&a [*a, *a]',
    '*nobody',
    '"\\ud800"',
    '\x00',
    '\ufeff',
    '\u202e',
    '../../etc/passwd',
    '$x^{bad$',
    '%n%s',
    "'",
    '"',
    ',',
    '\n',
    '\t',
    ' ' * 1000,
    'ä' * 70,
    '-rf',
)
_WORD = re.compile(r'[^\s,:\[\]{}]+')


def changed(content: bytes, changes: Sequence[tuple[str, float, bytes]]) -> bytes:
    """Return bytes with some of them flipped, cut out, inserted, set, doubled or cut off.

    Args:
        content: What was right.
        changes: What is done, where (as a share of the length), and with what.
    """
    data = bytearray(content)
    for kind, share, other in changes:
        place = min(int(share * (len(data) + 1)), len(data))
        if kind == 'flip' and place < len(data):
            data[place] ^= 1 << (len(other) % 8)
        elif kind == 'cut':
            del data[place : place + max(1, len(other))]
        elif kind == 'insert':
            data[place:place] = other
        elif kind in ('ones', 'zeros'):
            value = b'\xff' if kind == 'ones' else b'\0'
            data[place : place + 8] = value * len(data[place : place + 8])
        elif kind == 'double':
            data[place:place] = data[place : place + 64]
        elif kind == 'end':
            del data[place:]
    return bytes(data)


_KINDS = ('flip', 'flip', 'cut', 'insert', 'ones', 'zeros', 'double', 'end')
_CHANGES = st.lists(
    st.tuples(
        st.sampled_from(_KINDS),
        st.floats(0, 1, exclude_max=True),
        st.binary(max_size=12),
    ),
    min_size=1,
    max_size=8,
)


def mutated(seeds: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Return contents that are one of the seeds with some bytes changed."""
    return st.builds(changed, st.sampled_from(list(seeds)), _CHANGES)


def _with_words(text: str, replaced: Sequence[tuple[float, str]]) -> str:
    for share, word in replaced:
        places = list(_WORD.finditer(text))
        if places:
            place = places[int(share * len(places))]
            text = text[: place.start()] + word + text[place.end() :]
    return text


def rewritten(seeds: Sequence[str]) -> st.SearchStrategy[bytes]:
    """Return texts with nasty words, or words of the text, in other places; or changed bytes."""
    whole = [text.encode() for text in seeds]
    words = sorted({word for text in seeds for word in _WORD.findall(text)})
    replaced = st.lists(
        st.tuples(
            st.floats(0, 1, exclude_max=True),
            st.one_of(
                st.sampled_from(NASTY), st.sampled_from(words or ['a']), st.text(max_size=8)
            ),
        ),
        min_size=1,
        max_size=4,
    )
    texts = st.builds(_with_words, st.sampled_from(list(seeds)), replaced).map(
        lambda text: text.encode('utf-8', errors='surrogatepass')
    )
    return st.one_of(texts, texts, mutated(whole))

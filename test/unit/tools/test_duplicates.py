"""No two places of the package share more than ten lines, unless they say why."""

from __future__ import annotations

from tools.duplicates import EXCUSE, MAX_SHARED, PACKAGE, code_lines, find_shared, sources_of

LINES = [f'    total += weights[{number}] * values[{number}]' for number in range(MAX_SHARED + 5)]


def function(name, count, inside=()):
    lines = [*LINES[:count]]
    for place, line in inside:
        lines.insert(place, line)
    return '\n'.join([f'def {name}(weights, values, total):', *lines, f'    return {name}', ''])


def test_no_two_places_of_the_package_share_more_than_a_few_lines():
    assert [str(shared) for shared in find_shared(sources_of(PACKAGE))] == []


def test_what_two_files_share_is_found_once_with_its_length():
    sources = {
        'a.py': function('first', MAX_SHARED + 3),
        'b.py': '\n\n' + function('second', MAX_SHARED + 3),
    }
    (shared,) = find_shared(sources)
    assert (shared.first, shared.second, shared.lines) == (('a.py', 2), ('b.py', 4), 13)


def test_two_places_of_one_file_are_compared_too():
    source = function('first', MAX_SHARED + 1) + function('second', MAX_SHARED + 1)
    assert [shared.lines for shared in find_shared({'a.py': source})] == [MAX_SHARED + 1]


def test_as_many_lines_as_are_allowed_are_none_too_many():
    sources = {name: function(name, MAX_SHARED) for name in ('first', 'second')}
    assert list(find_shared(sources)) == []


def test_comments_blank_lines_and_layout_do_not_hide_what_is_shared():
    inside = [(3, '    # Another comment.'), (6, '')]
    sources = {
        'a.py': function('first', MAX_SHARED + 1),
        'b.py': function('second', MAX_SHARED + 1, inside).replace('    total', '        total'),
    }
    sources['b.py'] = sources['b.py'].replace('    return', '        return')
    assert [shared.lines for shared in find_shared(sources)] == [MAX_SHARED + 1]


def test_imports_docstrings_and_lone_brackets_do_not_count():
    source = '"""One.\n\nTwo.\n"""\nimport os\nfrom sys import (\n    argv,\n)\n'
    source += 'print(\n    os, argv\n)\n'
    assert [line.tokens for line in code_lines(source)] == [('print', '('), ('os', ',', 'argv')]


def test_a_place_that_says_why_is_left_alone():
    excuse = [(5, f'    {EXCUSE}each is read on its own')]
    sources = {
        'a.py': function('first', MAX_SHARED + 1, excuse),
        'b.py': function('second', MAX_SHARED + 1),
    }
    assert list(find_shared(sources)) == []

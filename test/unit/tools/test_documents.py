"""The documents name what the code has, and only blocks that can be run, or say why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.documents import generated, pages, symptoms
from tools.documents.blocks import (
    CONSOLE,
    PYTHON,
    Block,
    DocumentError,
    goes_after,
    is_as_said,
    read,
)
from tools.documents.run_blocks import documents
from tools.pins import ROOT


def page(tmp_path: Path, text: str) -> Path:
    path = tmp_path / 'page.md'
    path.write_text(text, encoding='utf-8')
    return path


@pytest.mark.parametrize('path', documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_block_is_of_a_known_language(path):
    assert all(block.code for block in read(path))


@pytest.mark.parametrize('name', ['README.md', 'docs/start/ten_minutes.md'])
def test_what_a_new_user_types_is_run(name):
    blocks = read(ROOT / name)
    assert sum(not block.not_run for block in blocks) > len(blocks) / 2


def test_what_a_document_goes_after_is_there():
    for path in documents():
        before = goes_after(path)
        assert before is None or before in documents()


def test_every_message_of_arm_and_session_has_a_remedy_and_every_remedy_its_message():
    assert symptoms.missing() == []


def test_a_new_message_would_be_missed(monkeypatch):
    said = list(symptoms.spoken())
    monkeypatch.setattr(symptoms, 'spoken', lambda: iter([*said, 'the arm is on fire']))
    assert symptoms.missing() == ['no remedy for the message: the arm is on fire']


def test_every_mark_of_a_page_is_generated_by_something():
    marks = [
        match.group(1)
        for path in (ROOT / 'docs').rglob('*.md')
        for match in generated.MARK.finditer(path.read_text(encoding='utf-8'))
    ]
    assert set(marks) <= set(pages.FUNCTIONS)
    assert 'symptoms' in marks


def test_a_link_to_a_file_with_a_page_leads_to_the_page():
    text = generated.filled('[words](../CONTRIBUTING.md#words)', ROOT / 'docs' / 'session.md')
    assert text == '[words](contributing.md#words)'


def test_a_block_without_a_language_is_refused(tmp_path):
    with pytest.raises(DocumentError, match=r'page\.md:2'):
        read(page(tmp_path, '```\nrm -rf /\n```\n'))


def test_a_block_says_why_it_is_not_run(tmp_path):
    text = '<!-- not run: takes an hour -->\n```sh\nsleep 3600\n```\n\n```sh\ntrue\n```\n'
    assert [block.not_run for block in read(page(tmp_path, text))] == ['takes an hour', '']


def test_what_python_prints_stands_behind_it(tmp_path):
    text = '```python\nprint(1)\n```\n\n<!-- printed -->\n```text\n1\n```\n'
    (block,) = read(page(tmp_path, text))
    assert (block.language, block.printed) == (PYTHON, '1\n')


def test_a_console_block_has_commands_with_what_they_print():
    code = '$ echo a \\\n    b\na b\n$ true\n'
    block = Block(page=Path('page.md'), line=1, language=CONSOLE, code=code)
    assert block.commands == [('echo a \\\n    b', 'a b\n'), ('true', '')]


@pytest.mark.parametrize(
    ('said', 'matches'),
    [
        ('one\ntwo\nthree', True),
        ('one\n…', True),
        ('…\nthree', True),
        ('on…\ntwo\nthr…e', True),
        ('one\nthree', False),
        ('one\ntwo\n…four', False),
        ('', False),
    ],
)
def test_gaps_stand_for_anything_and_nothing_else_does(said, matches):
    assert is_as_said('one\ntwo \nthree\n', said) is matches

"""The walk through the code in docs/architecture.md leads where it says."""

from __future__ import annotations

import ast
import re

import pytest

from tools.pins import ROOT

PACKAGE = ROOT / 'reward_learning_ros'
PAGE = ROOT / 'docs' / 'architecture.md'
STEP = re.compile(r'^(\d+)\. `([\w/]+\.py)` · `([\w.]+)`: (.+?)(?=^\d+\. |^#|\Z)', re.M | re.S)
MAX_FILES = 30


def steps():
    """Return (number, file, function, sentence) of each step of the walk."""
    text = PAGE.read_text(encoding='utf-8')
    walk = text.split("## A stranger's walk\n")[1].split('\n## ')[0]
    return [(int(number), *rest) for number, *rest in STEP.findall(walk)]


def tree_of(path):
    return ast.parse((PACKAGE / path).read_text(encoding='utf-8'))


def imported_files(path):
    """Return the files of the package that a file imports, also through a package's facade."""
    files = set()
    for node in ast.walk(tree_of(path)):
        module = node.module if isinstance(node, ast.ImportFrom) else None
        if module is None or not module.startswith(PACKAGE.name):
            continue
        parts = module.split('.')[1:]
        for each in (parts, *([*parts, alias.name] for alias in node.names)):
            place = '/'.join(each)
            if (PACKAGE / f'{place}.py').is_file():
                files.add(f'{place}.py')
            facade = f'{place}/__init__.py'
            if place and (PACKAGE / facade).is_file() and not path.endswith('__init__.py'):
                files |= imported_files(facade)
    return files


def topics(path, method):
    """Return the topics, as the code names them, that a node creates publishers or the like of."""
    return {
        argument.attr
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == method
        for argument in node.args
        if isinstance(argument, ast.Attribute) and argument.attr.endswith('_TOPIC')
    }


def defined_names(path):
    """Return the functions and classes of a file, methods as Class.method."""
    names = set()
    for node in tree_of(path).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {
                f'{node.name}.{each.name}'
                for each in node.body
                if isinstance(each, ast.FunctionDef)
            }
    return names


def test_it_is_short_and_goes_on_and_on():
    numbers = [number for number, *_ in steps()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert 20 <= len(numbers) <= MAX_FILES


def test_every_step_is_written_as_one():
    text = PAGE.read_text(encoding='utf-8')
    assert len(re.findall(r'^\d+\. `', text, re.M)) == len(steps())


def test_no_file_is_named_twice():
    files = [file for _, file, *_ in steps()]
    assert len(files) == len(set(files))


@pytest.mark.parametrize(('file', 'function'), [(each[1], each[2]) for each in steps()])
def test_its_function_is_in_the_file(file, function):
    assert function in defined_names(file)


@pytest.mark.parametrize('sentence', [each[3] for each in steps()])
def test_each_file_has_one_sentence(sentence):
    assert re.fullmatch(r'[^.]+(\.[^\s.][^.]*)*\.', sentence.strip())


def test_each_file_is_reached_from_one_above_it():
    above = []
    for _, file, *_ in steps():
        called = set().union(*(imported_files(each) for each in above))
        heard = topics(file, 'create_subscription') & set().union(
            *(topics(each, 'create_publisher') for each in above)
        )
        assert not above or file in called or heard, f'nothing above leads to {file}'
        above.append(file)


def test_the_readers_of_imports_and_topics_see_what_is_there_and_no_more():
    # The test above passes on what they make up: this one shows that they do not.
    called = imported_files('sensing/deltas.py')
    assert 'sensing/contact.py' in called
    assert 'nodes/arm_backends.py' not in called
    assert 'core/inference.py' in imported_files('learning/inference_result.py')
    published = topics('nodes/correction_recorder.py', 'create_publisher')
    assert 'CORRECTIONS_TOPIC' in published
    assert 'PLAN_TOPIC' not in published

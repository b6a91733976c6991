"""What the manifest, setup.py, the pins and the documents say agrees with the code."""

from __future__ import annotations

import ast
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import setuptools  # noqa: F401  gives Python 3.12 and later their distutils back
import yaml
from catkin_pkg.changelog import Changelog, populate_changelog_from_rst
from catkin_pkg.package import Package, parse_package
from catkin_pkg.package_version import get_forthcoming_label, rename_section
from packaging.requirements import Requirement

import reward_learning_ros
from benchmarks.__main__ import NOT_RUN
from tools import interpreters, pins

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = 'reward_learning_ros'
# rosdep's keys for what pip installs under another name; None where rosdep has no key.
ROSDEP_KEYS = {
    'arviz': None,
    'h5netcdf': None,
    'mcap': None,
    'lz4': None,
    'zstandard': None,
    'playwright': None,
    'pyyaml': 'python3-yaml',
    'rosbags': 'python3-rosbags-pip',
    'mujoco': 'python3-mujoco-pip',
    'pin': 'pinocchio',
    # ament_python itself needs it, so every ROS 2 has it.
    'setuptools': None,
}
SECTIONS = (pins.INSTALLER, *pins.LAYERS, *pins.DISTRIBUTIONS)
# The modules whose names differ from those of the distributions that hold them.
DISTRIBUTIONS = {'yaml': 'pyyaml', 'pinocchio': 'pin'}
# Part of a ROS 2 installation, but not to be had as wheels: imported only where they are used.
WITHOUT_WHEELS = {
    'franka_bringup',
    'franka_msgs',
    'controller_manager',
    'controller_manager_msgs',
    'joint_trajectory_controller',
    'launch',
    'launch_ros',
    'ros2launch',
}
# In the order of the schema, package_format3.xsd; of the dependencies, those that are used here.
ELEMENTS = (
    ('name',),
    ('version',),
    ('description',),
    ('maintainer',),
    ('license',),
    ('url',),
    ('author',),
    ('exec_depend', 'test_depend'),
    ('member_of_group',),
    ('export',),
)


@pytest.fixture(scope='module')
def manifest() -> Package:
    warnings: list[str] = []
    package = parse_package(str(ROOT / 'package.xml'), warnings=warnings)
    assert warnings == []
    return package


@pytest.fixture
def setup(monkeypatch):
    """What setup.py tells setuptools."""
    from distutils.core import run_setup

    monkeypatch.chdir(ROOT)
    return run_setup('setup.py', stop_after='init')


def names(requirements: list[str]) -> set[str]:
    """Return the names of requirements as the package index compares them."""
    found = (re.match(r'[\w.-]+', requirement) for requirement in requirements)
    return {re.sub(r'[-_.]+', '-', match.group().lower()) for match in found if match}


def keys(package: Package) -> set[str]:
    return {dependency.name for dependency in (*package.exec_depends, *package.test_depends)}


def key_of(distribution: str) -> str | None:
    return ROSDEP_KEYS.get(distribution, f'python3-{distribution}')


def imported_modules(folder: Path) -> dict[str, Path]:
    """Return the top-level modules that the files of a folder import, each with one of them."""
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob('*.py')):
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            if isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                imported = [node.module]
            else:
                continue
            found.update((name.split('.')[0], path) for name in imported)
    own = {PACKAGE, '__future__'}
    return {name: found[name] for name in found if name not in own | sys.stdlib_module_names}


def test_manifest_is_of_format_3_for_ament_python(manifest):
    assert manifest.package_format == 3
    assert manifest.get_build_type() == 'ament_python'


def test_manifest_keeps_the_order_of_the_schema():
    rank = {name: index for index, group in enumerate(ELEMENTS) for name in group}
    ranks = [rank[element.tag] for element in ElementTree.parse(ROOT / 'package.xml').getroot()]
    assert ranks == sorted(ranks)


def test_manifest_names_no_dependency_twice(manifest):
    listed = [dependency.name for dependency in manifest.exec_depends]
    assert len(listed) == len(set(listed))


def test_every_entry_point_leads_to_a_function(setup):
    targets = [
        entry.split('=')[1].strip() for group in setup.entry_points.values() for entry in group
    ]
    assert f'{PACKAGE}.cli.main:main' in targets
    for target in targets:
        module, function = target.split(':')
        tree = ast.parse((ROOT / module.replace('.', '/')).with_suffix('.py').read_text('utf-8'))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert function in defined, target


def test_one_version_stands_everywhere(manifest, setup):
    assert manifest.version == setup.get_version() == reward_learning_ros.__version__
    citation = yaml.safe_load((ROOT / 'CITATION.cff').read_text(encoding='utf-8'))
    assert citation['version'] == manifest.version


def test_one_licence_and_maintainer_stand_everywhere(manifest, setup):
    assert manifest.licenses == [setup.get_license()] == ['Apache-2.0']
    assert [person.email for person in manifest.maintainers] == [setup.get_maintainer_email()]


def test_every_requirement_of_setup_has_its_rosdep_key_in_the_manifest(manifest, setup):
    needed = {key_of(name) for name in names(setup.install_requires)} - {None}
    assert needed <= {dependency.name for dependency in manifest.exec_depends}


def test_every_requirement_of_the_tests_has_its_rosdep_key_in_the_manifest(manifest, setup):
    needed = {key_of(name) for name in names(setup.extras_require['test'])} - {None}
    assert needed <= {dependency.name for dependency in manifest.test_depends}


def test_every_import_is_declared(manifest, setup):
    extras = [name for extra in setup.extras_require.values() for name in extra]
    on_the_index = names(setup.install_requires) | names(extras)
    imported = imported_modules(ROOT / PACKAGE)
    assert 'numpy' in imported
    undeclared = {
        name: str(path.relative_to(ROOT))
        for name, path in imported.items()
        if DISTRIBUTIONS.get(name, name) not in on_the_index and name not in keys(manifest)
    }
    assert undeclared == {}


def test_every_ros_package_of_the_manifest_is_in_the_environment_with_wheels(manifest):
    from_ros = {key for key in keys(manifest) if not key.startswith('python3-')}
    pinned = names(pins.read('jazzy'))
    missing = {
        key
        for key in from_ros - WITHOUT_WHEELS - {'pinocchio'}
        if f'ros-{key.replace("_", "-")}' not in pinned
    }
    assert missing == set()


def test_every_requirement_is_pinned(setup):
    assert names(pins.INSTALLER_PACKAGES) <= names(pins.read(pins.INSTALLER))
    assert names(setup.install_requires) <= names(pins.read(pins.SESSION))
    for name, layer in pins.LAYERS.items():
        assert names(setup.extras_require[layer.extra]) <= names(pins.read(name))
    for distribution in pins.DISTRIBUTIONS:
        assert set(pins.ros_wheels(distribution)) <= names(pins.read(distribution))


def test_every_extra_is_a_layer(setup):
    assert {layer.extra for layer in pins.LAYERS.values()} == set(setup.extras_require)
    for layer, needed in pins.LAYERS.items():
        assert names(pins.requirements(layer)) >= names(setup.extras_require[needed.extra])
    assert names(pins.requirements(pins.SESSION)) >= names(setup.install_requires)


def test_a_layer_needs_what_those_that_it_needs_do():
    for layer, needed in pins.LAYERS.items():
        for below in needed.needs:
            assert set(pins.LAYERS[below].needs) <= set(needed.needs), layer


def test_every_pin_names_exactly_one_version():
    for section in SECTIONS:
        assert [line for line in pins.read(section) if '==' not in line.split(';')[0]] == []


@pytest.mark.parametrize('version', interpreters.SUPPORTED)
@pytest.mark.parametrize('distribution', pins.DISTRIBUTIONS)
def test_a_package_has_one_version_in_all_layers(version, distribution):
    python = {'python_version': version, 'python_full_version': f'{version}.1'}
    versions: dict[str, set[str]] = {}
    for section in (pins.INSTALLER, *pins.LAYERS, distribution):
        for requirement in map(Requirement, pins.read(section)):
            if requirement.marker is None or requirement.marker.evaluate(python):
                versions.setdefault(requirement.name, set()).add(str(requirement.specifier))
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


def test_the_oldest_python_is_the_same_everywhere(setup):
    oldest = interpreters.SUPPORTED[0]
    settings = (ROOT / 'pyproject.toml').read_text(encoding='utf-8')
    assert setup.python_requires == f'>={oldest}'
    assert f"target-version = 'py{oldest.replace('.', '')}'" in settings
    assert f"python_version = '{oldest}'" in settings


def test_changelog_becomes_that_of_a_release(manifest):
    """Renames the section of what is forthcoming, as catkin_prepare_release does, and reads it."""
    text = (ROOT / 'CHANGELOG.rst').read_text(encoding='utf-8')
    heading = f'{manifest.version} (2030-01-01)'
    released = rename_section(text, get_forthcoming_label(text), heading)
    changelog = populate_changelog_from_rst(Changelog(PACKAGE), released)
    assert changelog.get_content_of_version(manifest.version)


@pytest.mark.parametrize('document', ['README.md', 'CONTRIBUTING.md'])
def test_links_of_documents_lead_to_files(document):
    text = (ROOT / document).read_text(encoding='utf-8')
    links = re.findall(r'\]\(([^)#]+)', text) + re.findall(r'src="([^"]+)"', text)
    local = [link for link in links if '://' not in link]
    assert local
    assert [link for link in local if not (ROOT / link).exists()] == []


def test_make_commands_in_documents_exist():
    targets = set(re.findall(r'^([a-z-]+):', (ROOT / 'Makefile').read_text(), re.MULTILINE))
    for document in ('README.md', 'CONTRIBUTING.md'):
        text = (ROOT / document).read_text(encoding='utf-8')
        assert set(re.findall(r'(?:^|`)make ([a-z-]+)', text, re.MULTILINE)) <= targets


def test_everything_that_make_bench_starts_can_be_run():
    names = {path.stem for path in (ROOT / 'benchmarks').glob('*.py')} - {'__init__'}
    started = names - set(NOT_RUN)
    assert 'inference' in started
    without = {
        name
        for name in started
        if not re.search(r'^def run\(', (ROOT / f'benchmarks/{name}.py').read_text('utf-8'), re.M)
    }
    assert without == set()

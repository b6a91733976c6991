"""The ament_python build of reward_learning_ros, for colcon and for pip."""

import ast
from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = 'reward_learning_ros'
SHARE = f'share/{PACKAGE}'

# The lower bounds are what Ubuntu 22.04, the system of ROS 2 Humble, has as packages.
REQUIREMENTS = [
    'setuptools',
    'numpy>=1.21',
    'scipy>=1.8',
    'numba>=0.55',
    'arviz>=0.15,<1',
    'h5netcdf>=1.0',
    'PyYAML>=5.4',
    'rich>=11',
    'rosbags>=0.10',
    'mcap>=1.1',
    'lz4>=3.1',
    'zstandard>=0.15',
]
# `make` installs each when a command needs it: tools/pins.py.
EXTRAS = {
    # The simulated arm and the tasks with physics.
    'sim': ['mujoco>=3.2'],
    # Figures, statistics, tables, other machines.
    'study': [
        'matplotlib>=3.7',
        'pandas>=1.5',
        'pyarrow>=10',
        'dask>=2023.1',
        'distributed>=2023.1',
        'statsmodels>=0.13',
    ],
    # The page in the browser.
    'console': ['nicegui>=3.0', 'fastapi>=0.100', 'uvicorn>=0.23'],
    # Pinocchio (pin) is what the kinematics and dynamics are compared with.
    # Playwright drives the browser of the system in the tests of the console.
    'test': [
        'pytest>=7',
        'pytest-xdist>=3',
        'pytest-timeout>=2',
        'hypothesis>=6',
        'pin>=2.7',
        'playwright>=1.40',
    ],
    # What the rate of rollouts is compared with; there are no wheels for later Pythons.
    'bench': ["pybullet>=3.2 ; python_version < '3.12'"],
    'colcon': ['colcon-common-extensions'],
    'docs': ['sphinx>=7', 'myst-parser>=3', 'furo', 'sphinx-copybutton'],
    'lint': ['ruff'],
    'types': ['mypy', 'types-PyYAML'],
}


def version() -> str:
    """Return the version of the package, without importing it: what it needs may not be here."""
    tree = ast.parse(Path(PACKAGE, '__init__.py').read_text(encoding='utf-8'))
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], 'id', '') == '__version__':
            return str(ast.literal_eval(node.value))
    raise RuntimeError(f'{PACKAGE}/__init__.py has no __version__')


setup(
    name=PACKAGE,
    version=version(),
    packages=find_packages(include=[PACKAGE, f'{PACKAGE}.*']),
    package_data={PACKAGE: ['py.typed', 'console/assets/*']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{PACKAGE}']),
        (SHARE, ['package.xml']),
        (f'{SHARE}/launch', sorted(glob('launch/*.launch.py'))),
        (
            f'{SHARE}/config',
            sorted(glob('config/*.*')),
        ),
        (f'{SHARE}/config/tasks', sorted(glob('config/tasks/*.yaml'))),
        (f'{SHARE}/config/questionnaires', sorted(glob('config/questionnaires/*.yaml'))),
    ],
    python_requires='>=3.10',
    install_requires=REQUIREMENTS,
    extras_require=EXTRAS,
    zip_safe=True,
    author='The reward_learning_ros authors',
    maintainer='The reward_learning_ros authors',
    maintainer_email='maintainers@users.noreply.a-seed-47f1ca0f.example',
    description='Learn what a person wants from physical corrections of a Franka arm.',
    # With --symlink-install colcon runs a link to this file, in another folder.
    long_description=Path(__file__).resolve().with_name('README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    entry_points={
        'console_scripts': [
            'bag_player = reward_learning_ros.nodes.bag_player:main',
            'correction_recorder = reward_learning_ros.nodes.correction_recorder:main',
            'reward_learning = reward_learning_ros.cli.main:main',
            'reward_inference = reward_learning_ros.nodes.reward_inference:main',
            'session_conductor = reward_learning_ros.nodes.session_conductor:main',
            'session_recorder = reward_learning_ros.nodes.session_recorder:main',
            'simulated_arm = reward_learning_ros.nodes.simulated_arm:main',
            'simulated_participant = reward_learning_ros.nodes.simulated_participant:main',
            'trajectory_playback = reward_learning_ros.nodes.trajectory_playback:main',
        ],
        'reward_learning_ros.tasks': [
            'close = reward_learning_ros.tasks.close:make_task',
            'pour = reward_learning_ros.tasks.pour:make_task',
            'published_push = reward_learning_ros.tasks.published_push:make_task',
            'push = reward_learning_ros.tasks.push:make_task',
            'push_study = reward_learning_ros.tasks.push_study:make_task',
        ],
    },
)

"""What all tests share."""

import os
import signal

import pytest
from hypothesis import settings

# A shell starts what runs in the background with Ctrl-C ignored, and then so does all that the
# tests start in order to interrupt it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No test may hear, or be heard by, another machine.
if os.environ.get('ROS_DISTRO') == 'humble':
    os.environ.setdefault('ROS_LOCALHOST_ONLY', '1')
else:
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')

# As a session's nodes do (`session.processes.environment`).
os.environ.setdefault('FASTDDS_BUILTIN_TRANSPORTS', 'UDPv4')

# Half a minute or more each, the longest first; then whole folders.
LONGEST = (
    'test_session_recovery.py',
    'test_session.py',
    'test_motion_faults.py',
    'test_environment_making.py',
    'test_playback_safety.py',
    'test_session_teleoperated.py',
    'test_console_page.py',
    'test_doctor_arm.py',
    'test_consent.py',
)
PARTS = ('system', 'nodes', 'unit')

# Continuous integration tries the same examples each time; whoever runs the tests by hand tries
# others too, and those that failed once are tried first (`.hypothesis`).
settings.register_profile('default', deadline=None, print_blob=True)
settings.register_profile('ci', settings.get_profile('default'), derandomize=True)
settings.load_profile('ci' if os.environ.get('CI') else 'default')


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Run one file more at a time than there are cores: those of processes wait half their time.

    More than eight would not be sooner over, only busier.
    """
    return min(len(os.sched_getaffinity(0)) + 1, 8)


def pytest_collection_modifyitems(items):
    """Begin with the files that take longest: the many short ones then fill what is left.

    Tests of nodes mostly wait and unit tests compute: files of both take turns.
    """
    paths = list(dict.fromkeys(item.path for item in items))
    parts = {name: [path for path in paths if _part(path) == name] for name in PARTS}
    ranks = {
        path: (part, (number + 0.5) / len(files))
        for part, files in enumerate(parts.values())
        for number, path in enumerate(files)
    }
    items.sort(key=lambda item: _rank(item.path, *ranks[item.path]))


def _part(path):
    return next((name for name in PARTS if name in path.parts), PARTS[-1])


def _rank(path, part, share):
    if path.name in LONGEST:
        return 0, LONGEST.index(path.name)
    return min(part, 1) + 1, share


def pytest_configure(config):
    """Start files in the order of collection, made above.

    xdist takes files of many tests for long ones, but a system test is a minute on its own.
    """
    if hasattr(config.option, 'loadscopereorder'):
        config.option.loadscopereorder = False

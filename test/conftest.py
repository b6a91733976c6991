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

# Twenty seconds of processor time or more each, the longest first; then whole folders.
LONGEST = (
    'test_session.py',
    'test_session_recovery.py',
    'test_motion_faults.py',
    'test_session_teleoperated.py',
    'test_playback_safety.py',
    'test_environment_making.py',
    'test_consent.py',
    'test_participant.py',
    'test_playback.py',
    'test_playback_plans.py',
    'test_guided_arm.py',
    'test_accuracy.py',
    'test_kernel_cache.py',
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
    """Begin with the files that take longest: the many short ones then fill what is left."""
    items.sort(key=lambda item: _rank(item.path))


def _rank(path):
    if path.name in LONGEST:
        return LONGEST.index(path.name)
    part = next((name for name in PARTS if name in path.parts), PARTS[-1])
    return len(LONGEST) + PARTS.index(part)


def pytest_configure(config):
    """Start files in the order of collection, made above.

    xdist takes files of many tests for long ones, but a system test is a minute on its own.
    """
    if hasattr(config.option, 'loadscopereorder'):
        config.option.loadscopereorder = False

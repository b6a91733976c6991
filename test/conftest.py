"""What all tests share."""

import os
import signal

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

# Continuous integration tries the same examples each time; whoever runs the tests by hand tries
# others too, and those that failed once are tried first (`.hypothesis`).
settings.register_profile('default', deadline=None, print_blob=True)
settings.register_profile('ci', settings.get_profile('default'), derandomize=True)
settings.load_profile('ci' if os.environ.get('CI') else 'default')


def pytest_configure(config):
    """Start files in the order of collection: xdist would leave the long few of them to the end.

    It takes files of many tests for long ones, but a system test is a minute on its own.
    """
    if hasattr(config.option, 'loadscopereorder'):
        config.option.loadscopereorder = False

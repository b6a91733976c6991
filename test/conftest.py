"""What all tests share."""

import os
import signal

# A shell starts what runs in the background with Ctrl-C ignored, and then so does all that the
# tests start in order to interrupt it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No test may hear, or be heard by, another machine.
if os.environ.get('ROS_DISTRO') == 'humble':
    os.environ.setdefault('ROS_LOCALHOST_ONLY', '1')
else:
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')

"""What all tests share."""

import os

# No test may hear, or be heard by, another machine.
if os.environ.get('ROS_DISTRO') == 'humble':
    os.environ.setdefault('ROS_LOCALHOST_ONLY', '1')
else:
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')

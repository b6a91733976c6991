"""Starts the console as a ROS 2 node, as the supervisor of a session does."""

from __future__ import annotations

from reward_learning_ros.console.console_process import main

if __name__ == '__main__':
    raise SystemExit(main())

"""`python -m reward_learning_ros.cli`: the command where its executable is not on the path."""

from reward_learning_ros.cli.main import main

if __name__ == '__main__':
    raise SystemExit(main())

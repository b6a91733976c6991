"""The `reward_learning` command."""


def main() -> int:
    return 0

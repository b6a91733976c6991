"""An operator in a process of its own: marks trials as fast as it can, and says what it did."""

from __future__ import annotations

import sys
from pathlib import Path

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.study.ledger import Ledger


def start_all(folder: str) -> None:
    """Start trials until nobody is left."""
    while True:
        try:
            record = Ledger(Path(folder)).start()
        except RewardLearningError:
            return
        print(record.trial.participant, record.trial.number, flush=True)


def repeat(folder: str, participant: str) -> None:
    """Exclude and take back a trial over and over, counting; print what is on the disk."""
    ledger = Ledger(Path(folder))
    for count in range(1_000_000):
        # A long reason: a line that takes more than one page to write can be torn.
        ledger.mark(participant, 1, 'excluded', f'{count} ' + 'x' * 20_000)
        print(count, flush=True)
        ledger.mark(participant, 1, 'planned')


if __name__ == '__main__':
    {'start_all': start_all, 'repeat': repeat}[sys.argv[1]](*sys.argv[2:])

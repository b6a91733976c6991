"""The command line of `reward_learning session` for a configuration."""

from __future__ import annotations

import sys

from reward_learning_ros.parameters import specifications, text_of
from reward_learning_ros.session.session_parameters import SessionParameters

_COMMAND = (sys.executable, '-m', 'reward_learning_ros.cli', 'session')


def session_words(config: SessionParameters, resume: str = '') -> list[str]:
    """Return the command that runs a session, word by word.

    Args:
        config: What differs from the defaults is told.
        resume: Folder of an interrupted session to go on with, whose own parameters apply.
    """
    if resume:
        return [*_COMMAND, '--resume', resume]
    words = [*_COMMAND]
    for name, specification in specifications(SessionParameters).items():
        value = getattr(config, name)
        if value == specification.default:
            continue
        option = f'--{name.replace("_", "-")}'
        if isinstance(value, bool):
            words.append(option if value else option.replace('--', '--no-', 1))
        else:
            words += [option, *map(text_of, value if isinstance(value, tuple) else (value,))]
    return words

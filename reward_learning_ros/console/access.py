"""Who may open a page: the tokens, where they are kept, and the addresses that hold them."""

from __future__ import annotations

import contextlib
import enum
import hmac
import json
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.session.node_parameters import ConsoleParameters

# 256 bits: nobody guesses one.
_TOKEN_BYTES = 32
_MIN_TOKEN_LENGTH = 32


class Role(enum.Enum):
    """The role under which a page is opened: operator or participant."""

    OPERATOR = 'operator'
    PARTICIPANT = 'participant'

    @property
    def home(self) -> str:
        """The page on which they begin."""
        return '/' if self is Role.OPERATOR else '/participant'


class Tokens:
    """The secret tokens of operator and participant."""

    def __init__(self, tokens: Mapping[Role, str]) -> None:
        self._tokens = dict(tokens)

    @classmethod
    def new(cls) -> Tokens:
        """Return random ones."""
        return cls({role: secrets.token_urlsafe(_TOKEN_BYTES) for role in Role})

    def of(self, role: Role) -> str:
        """Return the token of a role."""
        return self._tokens[role]

    def role_of(self, token: str) -> Role | None:
        """Return whose token it is; None if it is nobody's."""
        found = None
        for role, known in self._tokens.items():
            # Compared in constant time, and all of them.
            if hmac.compare_digest(known.encode(), token.encode()):
                found = role
        return found


def default_token_file() -> Path:
    """Return where the tokens of this user are kept."""
    folder = os.environ.get('XDG_RUNTIME_DIR') or os.environ.get('XDG_CACHE_HOME')
    base = Path(folder) if folder else Path.home() / '.cache'
    return base / 'reward_learning_ros' / 'console_tokens.json'


def open_tokens(file: Path) -> Tokens:
    """Return the tokens of a file, which is made if it is not there.

    A console that is started again has the addresses that it had before: open pages go on.

    Raises:
        InvalidInputError: Others than its owner can read it, or it cannot be used.
    """
    with contextlib.suppress(FileExistsError):
        _write_new(file)
    try:
        with file.open(encoding='utf-8') as opened:
            status = os.fstat(opened.fileno())
            content = json.load(opened)
    except (OSError, ValueError) as error:
        raise InvalidInputError(f'{file} cannot be read: {error}; delete it') from error
    if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise InvalidInputError(
            f'{file} has mode {stat.S_IMODE(status.st_mode):o}; allowed: 600, and you own it'
        )
    tokens = {
        role: content.get(role.value) if isinstance(content, dict) else None for role in Role
    }
    for role, token in tokens.items():
        if not isinstance(token, str) or len(token) < _MIN_TOKEN_LENGTH or not token.isascii():
            raise InvalidInputError(f'{file} holds no token of the {role.value}; delete it')
    return Tokens({role: str(token) for role, token in tokens.items()})


def _write_new(file: Path) -> None:
    tokens = Tokens.new()
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise
    except OSError as error:
        raise InvalidInputError(f'{file} cannot be made: {error.strerror}') from error
    with os.fdopen(descriptor, 'w', encoding='utf-8') as opened:
        json.dump({role.value: tokens.of(role) for role in Role}, opened)


def token_file_of(config: ConsoleParameters) -> Path:
    """Return where the tokens of a console are kept."""
    return Path(config.token_file) if config.token_file else default_token_file()


def address_of(config: ConsoleParameters, tokens: Tokens, role: Role) -> str:
    """Return the address that opens the page of a role."""
    host = config.host
    if host in ('0.0.0.0', '::') and config.public_names:
        host = config.public_names[0]
    host = f'[{host}]' if ':' in host else host
    return f'{config.scheme}://{host}:{config.port}{role.home}?token={tokens.of(role)}'

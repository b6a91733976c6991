"""The configuration of the console, without ROS."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from reward_learning_ros.parameters import ParameterError, Parameters, parameter

CONSOLE = 'console'
DEFAULT_PORT = 8099
_LOOPBACK_NAME = 'localhost'


@dataclass(frozen=True, kw_only=True)
class ConsoleParameters(Parameters):
    """Where the page is served, and what it may show."""

    host: str = parameter(
        '127.0.0.1',
        description='Address on which the page is served; beyond this machine only with TLS, or '
        'with insecure',
    )
    port: int = parameter(
        DEFAULT_PORT, description='Port of the page', minimum=1024, maximum=65535
    )
    public_names: tuple[str, ...] = parameter(
        (), description='Further names under which browsers may reach the page'
    )
    tls_certificate: str = parameter('', description='File of the certificate, for https')
    tls_key: str = parameter('', description='File of its key')
    insecure: bool = parameter(
        False,
        description='Whether to serve beyond this machine without TLS: everybody on that network '
        'can then read the token and move the arm',
    )
    token_file: str = parameter(
        '',
        description='File of the tokens, readable by its owner alone; unset, one of the user. '
        'A console that is started again keeps its addresses',
    )
    sessions: str = parameter('sessions', description='Folder in which sessions are kept')
    update_rate: float = parameter(
        20.0,
        description='How often a page is updated',
        minimum=1.0,
        maximum=60.0,
        unit='Hz',
    )
    participant_pulls: bool = parameter(
        False,
        description="Whether the participant's page may pull the simulated arm; nothing else "
        'there moves it',
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.tls_certificate) != bool(self.tls_key):
            raise ParameterError(
                type(self).__name__,
                'tls_key',
                self.tls_key,
                'must be given if and only if tls_certificate is',
            )
        if not self.is_local and not self.tls_certificate and not self.insecure:
            raise ParameterError(
                type(self).__name__,
                'host',
                self.host,
                'must be an address of this machine alone (127.0.0.1), unless tls_certificate '
                'and tls_key are given, or insecure is',
            )

    @property
    def is_local(self) -> bool:
        """Whether only programs of this machine can reach the page."""
        if self.host == _LOOPBACK_NAME:
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def scheme(self) -> str:
        """How a browser reaches it."""
        return 'https' if self.tls_certificate else 'http'

"""Parameters of the player, console, conductor and recorder of a session."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from reward_learning_ros.arm.franka import ARM_CONTROLLER
from reward_learning_ros.parameters import ParameterError, Parameters, parameter
from reward_learning_ros.parameters.shared import (
    ARMS,
    COMPRESSIONS,
    FRANKA,
    SIMULATED,
    WATCH_TIMEOUT_SEC,
)


@dataclass(frozen=True, kw_only=True)
class BagPlayerParameters(Parameters):
    """Parameters of the bag player: which topics of which bag, and how fast."""

    bag: str = parameter(description='Folder of a session, or of a rosbag2')
    rate: float = parameter(
        1.0,
        description='Seconds of the recording per second; 0 is as fast as possible',
        minimum=0.0,
        maximum=1000.0,
    )
    topics: tuple[str, ...] = parameter(
        ('plan', 'corrections', 'playback/status'),
        description='Topics to play, as they are called in a session without a namespace',
    )
    max_pause_sec: float = parameter(
        2.0,
        description='Longer pauses of the recording are cut to this',
        minimum=0.0,
        maximum=3600.0,
        unit='s',
        former_names=('longest_pause_sec',),
    )


CONSOLE = 'console'
DEFAULT_PORT = 8099
_LOOPBACK_NAME = 'localhost'


@dataclass(frozen=True, kw_only=True)
class ConsoleParameters(Parameters):
    """Parameters of the console: address, tokens, and what the page may show."""

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


EVERY_PASS = 'every_pass'
FIRST_PASS = 'first_pass'
NO_CONSENT = 'none'
CONSENTS = (EVERY_PASS, FIRST_PASS, NO_CONSENT)


@dataclass(frozen=True, kw_only=True)
class SessionConductorParameters(Parameters):
    """Parameters of the session conductor: consent, limits of passes, watched nodes."""

    watched_nodes: tuple[str, ...] = parameter(
        (), description='Nodes that must be there before the arm moves'
    )
    watch_timeout_sec: float = parameter(
        WATCH_TIMEOUT_SEC,
        description='How long a watched node may be silent, on a steady clock',
        minimum=0.6,
        maximum=60.0,
        unit='s',
    )
    max_passes: int = parameter(
        12, description='After so many passes the session ends', minimum=1, maximum=1000
    )
    max_corrections: int = parameter(
        0,
        description='After pushes at so many waypoints, and what is learned from them, the '
        'session ends; 0 is no limit',
        minimum=0,
        maximum=1000,
    )
    quiet_pass_accepts: bool = parameter(
        False,
        description='Whether a whole pass without a correction means that the plan is accepted; '
        'a person may also only have watched',
    )
    consent: str = parameter(
        EVERY_PASS,
        description='Who lets the arm move. every_pass: a person, by session/begin, before each '
        'pass. first_pass: a person before the first one, and again after every stop, fault or '
        'restart. none: the session itself, for a simulated arm only. After a hold a person '
        'consents by session/continue, unless it is none',
        choices=CONSENTS,
    )
    arm: str = parameter(
        SIMULATED,
        description='Which arm it is: its services recover it',
        choices=ARMS,
    )
    arm_prefix: str = parameter(
        '', description='Tells the arms of one description apart, left for example; empty for none'
    )
    controllers: tuple[str, ...] = parameter(
        (), description='Controllers that must be active before the arm moves'
    )
    bag: str = parameter(
        '', description="The session's recording: what was done before is counted from it"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.arm == FRANKA and self.consent == NO_CONSENT:
            raise ParameterError(
                type(self).__name__, 'consent', self.consent, f'must be a person with arm {FRANKA}'
            )


# Name of the node.
RECORDER = 'session_recorder'


@dataclass(frozen=True, kw_only=True)
class SessionRecorderParameters(Parameters):
    """Parameters of the session recorder: bag, compression and topics."""

    bag: str = parameter(
        description='Folder of the recording, a rosbag2; one that is there already is gone on with'
    )
    compression: str = parameter(
        'zstd', description='How the recording is compressed', choices=COMPRESSIONS
    )
    flush_period_sec: float = parameter(
        0.5,
        description='How often the recording is made whole: a crash loses what came after',
        minimum=0.05,
        maximum=1.0,
        unit='s',
    )
    records_arm: bool = parameter(
        True,
        description='Whether the thousand samples a second of the arm are recorded too, so that '
        'corrections can be detected again',
    )
    controller: str = parameter(
        ARM_CONTROLLER, description='Joint trajectory controller whose commands are recorded'
    )
    further_topics: tuple[str, ...] = parameter(
        (), description='Topics to record besides, each as `name type`: `joy sensor_msgs/msg/Joy`'
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.bag:
            raise ParameterError(type(self).__name__, 'bag', self.bag, 'must not be empty')
        for text in self.further_topics:
            name, _, type_name = text.partition(' ')
            if not name or type_name.count('/msg/') != 1 or ' ' in type_name:
                raise ParameterError(
                    type(self).__name__,
                    'further_topics',
                    text,
                    'must be `name type`, such as `joy sensor_msgs/msg/Joy`',
                )

    @property
    def further_types(self) -> dict[str, str]:
        """The types of the further topics by name."""
        return dict(text.split(' ') for text in self.further_topics)

"""The gate before every request: token, Host, Origin; on HTTP and on the WebSocket alike.

Any web page can send requests to a port of this machine. It does not know the token, its requests
name it as their Origin, and a name of its own that resolves to 127.0.0.1 shows in Host.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

from reward_learning_ros.console.access import Role, Tokens
from reward_learning_ros.session.node_parameters import ConsoleParameters

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

TOKEN_KEY = 'token'
# Where the gate leaves whose request it is.
ROLE_KEY = 'reward_learning_role'

_LOCAL_NAMES = ('127.0.0.1', 'localhost', '[::1]')
# What a participant's page is made of.
_OF_PARTICIPANTS = re.compile(r'/(participant(/.*)?|_nicegui/.*|_nicegui_ws/.*|favicon\.ico)')
_SAFE_METHODS = ('GET', 'HEAD')
# The frame of NiceGUI compiles templates in the browser, which needs `unsafe-eval`. Nothing is
# loaded from, or sent to, anywhere else.
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; worker-src 'self' blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-src 'self'; frame-ancestors 'self'"
)
_HEADERS = (
    (b'x-content-type-options', b'nosniff'),
    (b'referrer-policy', b'no-referrer'),
    (b'cross-origin-opener-policy', b'same-origin'),
    (b'cross-origin-resource-policy', b'same-origin'),
    (b'x-frame-options', b'SAMEORIGIN'),
)
_POLICY_HEADER = b'content-security-policy'
_REFUSED = 4403


class Gate:
    """ASGI middleware that refuses requests without a valid host, origin or token.

    Args:
        app: The application behind it.
        config: Of the console: under which names it may be reached.
        tokens: Of those who may reach it.
    """

    def __init__(self, app: ASGIApp, config: ConsoleParameters, tokens: Tokens) -> None:
        self._app = app
        self._tokens = tokens
        # Cookies know no ports: two consoles of one machine must not take each other's.
        self._cookie = f'reward_learning_{config.port}'
        self._is_secure = config.scheme == 'https'
        self._hosts = _hosts(config)
        self._origins = frozenset(f'{config.scheme}://{host}' for host in self._hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, refuse or pass on one request."""
        if scope['type'] == 'http':
            await self._http(scope, receive, send)
        elif scope['type'] == 'websocket':
            refusal, role = self._judged(scope)
            if refusal:
                await receive()
                await send({'type': 'websocket.close', 'code': _REFUSED, 'reason': refusal})
            else:
                scope[ROLE_KEY] = role
                await self._app(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal, role = self._judged(scope)
        if refusal:
            await _respond(send, 403, refusal)
            return
        query = parse_qsl(scope['query_string'].decode('latin-1'), keep_blank_values=True)
        if any(name == TOKEN_KEY for name, _ in query):
            assert role is not None
            rest = urlencode([pair for pair in query if pair[0] != TOKEN_KEY])
            target = role.home if scope['path'] == '/' else scope['path']
            # The address is left without the token: it shows in no history and no screenshot.
            location = target + (f'?{rest}' if rest else '')
            await _respond(
                send,
                303,
                'the token is kept as a cookie',
                ((b'location', location.encode('latin-1')), (b'set-cookie', self._set(role))),
            )
            return
        scope[ROLE_KEY] = role
        await self._app(scope, receive, _with_headers(send))

    def _judged(self, scope: Scope) -> tuple[str, Role | None]:
        """Return why a request is refused, empty if it is not, and whose it is."""
        headers = _headers(scope)
        hosts = headers.get('host', ())
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 'this is not a name of the console', None
        origins = headers.get('origin', ())
        is_socket = scope['type'] == 'websocket'
        must_tell = is_socket or scope['method'] not in _SAFE_METHODS
        if any(origin.lower() not in self._origins for origin in origins):
            return 'the request comes from another page', None
        if must_tell and len(origins) != 1:
            return 'the request does not say from which page it comes', None
        role = self._role(scope, headers)
        if role is None:
            return 'open the address that the console printed: it holds the token', None
        if role is Role.PARTICIPANT and not _OF_PARTICIPANTS.fullmatch(scope['path']):
            return "the participant's address opens the participant's page only", None
        return '', role

    def _role(self, scope: Scope, headers: dict[str, tuple[str, ...]]) -> Role | None:
        query = parse_qsl(scope['query_string'].decode('latin-1'))
        given = [value for name, value in query if name == TOKEN_KEY]
        if given:
            return self._tokens.role_of(given[-1])
        found = set()
        for text in headers.get('cookie', ()):
            try:
                cookies = SimpleCookie(text)
            except CookieError:
                continue
            for role in Role:
                morsel = cookies.get(self._cookie_of(role))
                if morsel is not None and self._tokens.role_of(morsel.value) is role:
                    found.add(role)
        # An operator who looks at the participant's page stays an operator.
        return next((role for role in Role if role in found), None)

    def _cookie_of(self, role: Role) -> str:
        return f'{self._cookie}_{role.value}'

    def _set(self, role: Role) -> bytes:
        secure = '; Secure' if self._is_secure else ''
        token = self._tokens.of(role)
        return (
            f'{self._cookie_of(role)}={token}; HttpOnly; SameSite=Strict; Path=/{secure}'.encode()
        )


def _hosts(config: ConsoleParameters) -> frozenset[str]:
    names: Iterable[str] = (*_LOCAL_NAMES, config.host, *config.public_names)
    bracketed = {f'[{name}]' if ':' in name and name[0] != '[' else name for name in names}
    return frozenset(f'{name.lower()}:{config.port}' for name in bracketed)


def _headers(scope: Scope) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, value in scope['headers']:
        key = name.decode('latin-1').lower()
        found[key] = (*found.get(key, ()), value.decode('latin-1'))
    return found


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message['type'] == 'http.response.start':
            headers = list(message.get('headers', ()))
            # A page may have a stricter policy of its own.
            if not any(name.lower() == _POLICY_HEADER for name, _ in headers):
                headers.append((_POLICY_HEADER, _POLICY.encode()))
            message['headers'] = [*headers, *_HEADERS]
        await send(message)

    return send_with_headers


async def _respond(
    send: Send, status: int, text: str, headers: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    body = f'{text}\n'.encode()
    await send(
        {
            'type': 'http.response.start',
            'status': status,
            'headers': [
                (b'content-type', b'text/plain; charset=utf-8'),
                (b'content-length', str(len(body)).encode()),
                (b'cache-control', b'no-store'),
                *headers,
                *_HEADERS,
            ],
        }
    )
    await send({'type': 'http.response.body', 'body': body})

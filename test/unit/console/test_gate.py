"""The gate before every request: token, Host, Origin; on HTTP and on the WebSocket."""

from __future__ import annotations

import asyncio
import json

import pytest

from reward_learning_ros.console.access import Role, Tokens, address_of, open_tokens
from reward_learning_ros.console.security import ROLE_KEY, Gate
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.session.node_parameters import ConsoleParameters

HOST = '127.0.0.1:8099'
ORIGIN = f'http://{HOST}'


class Behind:
    """The application behind the gate: notes as whom somebody came through."""

    def __init__(self):
        self.roles = []

    async def __call__(self, scope, receive, send):
        self.roles.append(scope.get(ROLE_KEY))
        if scope['type'] == 'http':
            await send({'type': 'http.response.start', 'status': 200, 'headers': []})
            await send({'type': 'http.response.body', 'body': b'inside'})
        else:
            await send({'type': 'websocket.accept'})


@pytest.fixture
def tokens():
    return Tokens.new()


@pytest.fixture
def behind():
    return Behind()


@pytest.fixture
def gate(behind, tokens):
    return Gate(behind, ConsoleParameters(), tokens)


def ask(gate, *, kind='http', path='/', query='', method='GET', **headers):
    """Send one request to the gate and return all that it answers."""
    scope = {
        'type': kind,
        'path': path,
        'method': method,
        'query_string': query.encode(),
        'headers': [(name.encode(), text.encode()) for name, text in headers.items() if text],
    }
    if kind == 'websocket':
        del scope['method']
    sent = []

    async def receive():
        return {'type': f'{kind}.connect'}

    async def send(message):
        sent.append(message)

    asyncio.run(gate(scope, receive, send))
    return sent


def cookie(tokens, role=Role.OPERATOR):
    return f'reward_learning_8099_{role.value}={tokens.of(role)}'


def test_a_token_in_the_address_becomes_a_cookie_that_no_script_reads(gate, tokens, behind):
    answer = ask(gate, query=f'token={tokens.of(Role.OPERATOR)}&x=1', host=HOST)[0]
    headers = dict(answer['headers'])
    assert answer['status'] == 303
    assert headers[b'location'] == b'/?x=1'
    given = headers[b'set-cookie'].decode()
    assert given.startswith(cookie(tokens))
    assert {'HttpOnly', 'SameSite=Strict', 'Path=/'} <= {part.strip() for part in given.split(';')}
    assert behind.roles == []


@pytest.mark.parametrize('query', ['', 'token=', 'token=wrong', 'token=%C3%BC'])
def test_without_the_token_nothing_comes_through(gate, tokens, behind, query):
    assert ask(gate, query=query, host=HOST)[0]['status'] == 403
    assert behind.roles == []
    assert ask(gate, host=HOST, cookie=cookie(tokens))[0]['status'] == 200
    assert behind.roles == [Role.OPERATOR]


@pytest.mark.parametrize('host', ['evil.example:8099', '127.0.0.1', '127.0.0.1:80', None])
@pytest.mark.parametrize('kind', ['http', 'websocket'])
def test_another_host_is_refused_with_a_good_cookie_too(gate, tokens, behind, host, kind):
    ask(gate, kind=kind, host=host, origin=ORIGIN, cookie=cookie(tokens))
    assert behind.roles == []


@pytest.mark.parametrize(
    'origin', ['http://evil.example', 'null', 'https://127.0.0.1:8099', 'http://127.0.0.1:8098']
)
@pytest.mark.parametrize('kind', ['http', 'websocket'])
def test_another_origin_is_refused_with_a_good_cookie_too(gate, tokens, behind, origin, kind):
    ask(gate, kind=kind, host=HOST, origin=origin, cookie=cookie(tokens))
    assert behind.roles == []


@pytest.mark.parametrize('values', [{'kind': 'websocket'}, {'method': 'POST'}])
def test_what_can_change_something_must_say_where_it_comes_from(gate, tokens, behind, values):
    ask(gate, host=HOST, cookie=cookie(tokens), **values)
    assert behind.roles == []
    ask(gate, host=HOST, origin=ORIGIN, cookie=cookie(tokens), **values)
    assert behind.roles == [Role.OPERATOR]


@pytest.mark.parametrize(
    ('path', 'comes_through'),
    [
        ('/participant', True),
        ('/_nicegui/3/static/x.js', True),
        ('/_nicegui_ws/socket.io/', True),
        ('/', False),
        ('/study', False),
        ('/participants', False),
    ],
)
def test_a_participant_opens_their_own_page_only(gate, tokens, behind, path, comes_through):
    ask(gate, path=path, host=HOST, cookie=cookie(tokens, Role.PARTICIPANT))
    assert bool(behind.roles) is comes_through


def test_an_operator_who_opens_the_participants_address_stays_an_operator(gate, tokens, behind):
    ask(gate, host=HOST, cookie=f'{cookie(tokens, Role.PARTICIPANT)}; {cookie(tokens)}')
    assert behind.roles == [Role.OPERATOR]


def test_the_cookie_of_one_role_with_the_token_of_another_is_nobodys(gate, tokens, behind):
    forged = f'reward_learning_8099_operator={tokens.of(Role.PARTICIPANT)}'
    ask(gate, host=HOST, cookie=forged)
    assert behind.roles == []


def test_every_answer_forbids_what_is_not_from_here(gate, tokens):
    headers = dict(ask(gate, host=HOST, cookie=cookie(tokens))[0]['headers'])
    policy = headers[b'content-security-policy'].decode()
    assert "default-src 'self'" in policy
    assert "connect-src 'self'" in policy
    assert 'http' not in policy
    assert '*' not in policy


def test_tokens_are_kept_for_the_next_start_and_only_for_their_owner(tmp_path):
    file = tmp_path / 'run' / 'tokens.json'
    first = open_tokens(file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert all(open_tokens(file).of(role) == first.of(role) for role in Role)
    assert first.of(Role.OPERATOR) != first.of(Role.PARTICIPANT)
    file.chmod(0o644)
    with pytest.raises(InvalidInputError, match='644'):
        open_tokens(file)


@pytest.mark.parametrize('content', [{}, [], {'operator': 'short', 'participant': 'short'}])
def test_a_file_without_tokens_is_refused(tmp_path, content):
    file = tmp_path / 'tokens.json'
    file.touch(mode=0o600)
    file.write_text(json.dumps(content))
    with pytest.raises(InvalidInputError, match='no token'):
        open_tokens(file)


@pytest.mark.parametrize('host', ['0.0.0.0', '192.168.1.7', 'robot.lab'])
def test_beyond_this_machine_it_needs_tls_or_a_word(host):
    with pytest.raises(InvalidInputError, match='tls_certificate'):
        ConsoleParameters(host=host)
    assert ConsoleParameters(host=host, insecure=True).scheme == 'http'
    secure = ConsoleParameters(host=host, tls_certificate='c.pem', tls_key='k.pem')
    assert secure.scheme == 'https'


def test_the_address_of_a_page_holds_the_token_of_its_role(tokens):
    config = ConsoleParameters(host='::1', port=9000)
    assert address_of(config, tokens, Role.PARTICIPANT) == (
        f'http://[::1]:9000/participant?token={tokens.of(Role.PARTICIPANT)}'
    )

"""Install packages with uv, or with pip where uv would not do what pip is told to.

uv takes a fifth of the time, and what it has downloaded serves the next environment too. It does
not read the settings of pip, so they are handed to it; with a setting that has no counterpart,
pip does the work.
"""

import ast
import os
import re
import subprocess
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

# What a person's own settings must not redirect: everything goes into the venv.
REDIRECTIONS = ('PIP_TARGET', 'PIP_PREFIX', 'PIP_ROOT', 'PIP_CONSTRAINT', 'PIP_REQUIREMENT')
PIP_VARIABLES = {
    'PIP_USER': '0',
    'PIP_NO_INPUT': '1',
    'PIP_PROGRESS_BAR': 'off',
    'PIP_DISABLE_PIP_VERSION_CHECK': '1',
}
# Settings of uv itself that change how it works, but not what it installs.
UV_VARIABLES = ('UV_CACHE_DIR', 'UV_LINK_MODE')
# Settings of pip: those with an option of uv, those with a variable, and those without meaning
# for what is installed into a venv.
UV_OPTIONS = {
    'index-url': '--default-index',
    'extra-index-url': '--index',
    'find-links': '--find-links',
    'trusted-host': '--allow-insecure-host',
}
UV_SWITCHES = {'no-index': '--no-index', 'no-cache-dir': '--no-cache'}
UV_SETTINGS = {
    'cert': ('SSL_CERT_FILE',),
    'proxy': ('HTTP_PROXY', 'HTTPS_PROXY'),
    'timeout': ('UV_HTTP_TIMEOUT',),
    'default-timeout': ('UV_HTTP_TIMEOUT',),
    'retries': ('UV_HTTP_RETRIES',),
}
WITHOUT_MEANING = (
    'break-system-packages',
    'config-file',
    'disable-pip-version-check',
    'no-color',
    'no-compile',
    'no-input',
    'no-python-version-warning',
    'no-warn-script-location',
    'progress-bar',
    'quiet',
    'require-virtualenv',
    'root-user-action',
    'user',
    'verbose',
    *(name[len('PIP_') :].lower() for name in REDIRECTIONS),
)
LOST_NETWORK = re.compile(
    'name resolution|name or service not known|dns error|unreachable|connection refused|'
    'connection reset|connection aborted|connection closed|connection broken|timed out|'
    'newconnectionerror|tcp connect error|remotedisconnected|incompleteread|'
    'error decoding response body|end of file before message length|'
    r'\b5\d\d server error|server error \(5\d\d|http error 5\d\d|too many 5\d\d error responses|'
    'cannot connect to proxy|tunnel error|'
    # An older pip takes what came before the end for all.
    'wheel .* is invalid',
    re.IGNORECASE,
)
CLOSED_PROXY = re.compile(
    r'\b407 (client error|proxy)|error \(407|http error 407|'
    'proxy authentication required|proxy authorization required',
    re.IGNORECASE,
)
FULL_DISK = re.compile(r'no space left on device|disk quota exceeded|os error 28\b', re.IGNORECASE)


class Command(NamedTuple):
    """A process that installs something, with its variables."""

    words: List[str]
    variables: Dict[str, str]

    def with_arguments(
        self, arguments: List[str], variables: Optional[Dict[str, str]] = None
    ) -> 'Command':
        """Return the command with more arguments, and more variables."""
        return Command([*self.words, *arguments], dict(self.variables, **(variables or {})))


def pip(venv: Path, variables: Dict[str, str]) -> Command:
    """Return the beginning of an installation by pip."""
    kept = {name: value for name, value in variables.items() if name not in REDIRECTIONS}
    kept.update(PIP_VARIABLES)
    # Python compiles what is imported; compiling everything at once takes longer.
    return Command([str(venv / 'bin' / 'python'), '-m', 'pip', 'install', '--no-compile'], kept)


def uv(venv: Path, variables: Dict[str, str], settings: Dict[str, str]) -> Optional[Command]:
    """Return the beginning of an installation by uv; None where it could not be like pip's."""
    translated = translate(settings)
    if translated is None:
        return None
    options, settings_of_uv = translated
    kept = {
        name: value
        for name, value in variables.items()
        if not name.startswith('UV_') or name in UV_VARIABLES
    }
    kept.update(settings_of_uv)
    if '--no-cache' not in options and not _can_cache(kept):
        options.append('--no-cache')
    words = [str(venv / 'bin' / 'uv'), 'pip', 'install', '--no-config']
    words += ['--python', str(venv / 'bin' / 'python')]
    # As pip does: of all indexes the best version.
    words += ['--index-strategy', 'unsafe-best-match', *options]
    return Command(words, kept)


def pip_settings(command: Command) -> Dict[str, str]:
    """Return what the files and variables of pip say about installing."""
    listed = subprocess.run(
        [*command.words[:3], 'config', 'list'],
        env=command.variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        universal_newlines=True,
    )
    return parse_settings(listed.stdout)


def parse_settings(listed: str) -> Dict[str, str]:
    """Return the settings in the output of `pip config list`, as they hold for installing."""
    found: Dict[str, Dict[str, str]] = {}
    for line in listed.splitlines():
        name, _, value = line.partition('=')
        section, _, key = name.rpartition('.')
        try:
            found.setdefault(section, {})[key] = str(ast.literal_eval(value))
        except (ValueError, SyntaxError):
            continue
    settings: Dict[str, str] = {}
    for section in ('global', 'install', ':env:'):
        settings.update(found.get(section, {}))
    return settings


def translate(settings: Dict[str, str]) -> Optional[Tuple[List[str], Dict[str, str]]]:
    """Return the options and variables of uv that do what pip is told to, None if none do."""
    options: List[str] = []
    variables: Dict[str, str] = {}
    for key, value in settings.items():
        if key in UV_OPTIONS:
            options += [word for item in value.split() for word in (UV_OPTIONS[key], item)]
        elif key in UV_SWITCHES:
            options += [UV_SWITCHES[key]] if value.lower() in ('1', 'true', 'yes', 'on') else []
        elif key in UV_SETTINGS:
            variables.update((name, value) for name in UV_SETTINGS[key])
        elif key not in WITHOUT_MEANING:
            return None
    return options, variables


def _can_cache(variables: Dict[str, str]) -> bool:
    """Tell whether uv can keep what it downloads; it refuses to start where it cannot."""
    home = variables.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    folder = variables.get('UV_CACHE_DIR') or os.path.join(home, 'uv')
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def fetched_share(log: str, count: int, installed: int) -> Tuple[float, str]:
    """Return how much is done of installing a number of packages, and that in words."""
    megabytes = {name: _megabytes(size) for name, size in _ANNOUNCED.findall(log)}
    if megabytes:
        done = sum(megabytes.get(name, 0.0) for name in _FETCHED.findall(log))
        total = sum(megabytes.values())
        share = 0.8 * done / total + 0.2 * installed / count
        return share, f'{done:.0f} of {total:.0f} MB'
    seen = min(len(_BY_PIP.findall(log)), count)
    return 0.6 * seen / count + 0.4 * installed / count, f'{max(seen, installed)} of {count}'


_ANNOUNCED = re.compile(r'^Downloading (\S+) \(([\d.]+ ?[KMG]iB)\)$', re.MULTILINE)
_FETCHED = re.compile(r'^ Downloaded (\S+)$', re.MULTILINE)
_BY_PIP = re.compile(r'^\s*(?:Downloading|Using cached|Processing) \S', re.MULTILINE)
_UNITS = {'K': 1 / 1024.0, 'M': 1.0, 'G': 1024.0}


def _megabytes(size: str) -> float:
    return float(size[:-3]) * _UNITS[size[-3]]

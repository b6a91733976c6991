"""Build the site of the documentation, without a network; a warning is an error.

python -m tools.documents.build [--output FOLDER] [--serve PORT]
"""

from __future__ import annotations

import argparse
import functools
import http.server
import subprocess
import sys
from pathlib import Path

from tools.pins import ROOT

DOCS = ROOT / 'docs'


def main(arguments: list[str] | None = None) -> int:
    """Build the pages, serve them if asked to, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').split('\n')[0])
    parser.add_argument('--output', type=Path, default=ROOT / 'build' / 'docs', metavar='FOLDER')
    parser.add_argument(
        '--serve', type=int, metavar='PORT', help='then show them at http://127.0.0.1:PORT'
    )
    options = parser.parse_args(arguments)
    folder: Path = options.output.absolute()
    code = build(folder)
    print(f'{folder / "index.html"}')
    if code or options.serve is None:
        return code
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(('127.0.0.1', options.serve), handler) as server:
        print(f'http://127.0.0.1:{server.server_port}/ (Ctrl-C ends it)', flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


def build(folder: Path) -> int:
    """Build all pages from nothing, and return Sphinx's exit code."""
    # Pages are generated from code that Sphinx does not watch: nothing is kept from last time.
    options = ['--fail-on-warning', '--keep-going', '--fresh-env', '--quiet', '--builder', 'html']
    trees = ['--doctree-dir', str(folder.with_name(f'{folder.name}-doctrees'))]
    command = [sys.executable, '-m', 'sphinx', *options, *trees, str(DOCS), str(folder)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == '__main__':
    sys.exit(main())

"""What is to be in an environment, and what its stamp says is in it."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from tools.interpreters import Interpreter
from tools.pins import ROOT

PACKAGE = 'reward_learning_ros'
STAMP = f'{PACKAGE}.stamp'


class Recipe(NamedTuple):
    """Everything that decides what is in an environment."""

    venv: Path
    interpreter: Interpreter
    sees_system_packages: bool
    # What installs the rest, and each layer with its packages, as lines of requirements.
    installer: List[str]
    layers: Dict[str, List[str]]
    # Whether the lines are all that is needed, in just these versions; else pip resolves them.
    is_resolved: bool
    # The only versions that pip may choose, where it chooses.
    constraints: List[str]
    variables: Dict[str, str]
    # A text whose change asks for a new installation of this package; None if it is not needed.
    package: Optional[str] = None
    # Modules that compile what would otherwise be compiled when it is used first, each with its
    # arguments; they run at the same time, and again when the sources have changed.
    compilers: Tuple[Tuple[str, ...], ...] = ()
    sources: str = ''


def contents(recipe: Recipe) -> Dict[str, Any]:
    """Return what the stamp of a finished environment says."""
    # A venv that was moved, or whose Python was replaced, does not run.
    base = [str(recipe.venv), *recipe.interpreter, str(recipe.sees_system_packages)]
    resolution = [*recipe.installer, str(recipe.is_resolved), *recipe.constraints]
    return {
        'interpreter': list(recipe.interpreter),
        'base': _digest([*base, *resolution]),
        'layers': {name: _digest(lines) for name, lines in recipe.layers.items()},
        'package': None if recipe.package is None else _digest([str(ROOT), recipe.package]),
        'kernels': _digest([recipe.sources]) if recipe.compilers else None,
    }


def read_stamp(venv: Path) -> Dict[str, Any]:
    """Return what a stamp says is in its venv; nothing if there is none."""
    try:
        found = json.loads((venv / STAMP).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_stamp(venv: Path, found: Dict[str, Any]) -> None:
    """Write a stamp, whole or not at all."""
    written = venv / (STAMP + '.new')
    written.write_text(json.dumps(found))
    written.rename(venv / STAMP)


def can_be_kept(wanted: Dict[str, Any], found: Dict[str, Any]) -> bool:
    """Tell whether a venv can be added to: no change was cut short, no package is another one."""
    if found.get('is_changing') or found.get('base') != wanted['base']:
        return False
    layers, asked = found.get('layers', {}), wanted['layers']
    return all(layers[name] == asked[name] for name in layers if name in asked)


def is_current(recipe: Recipe) -> bool:
    """Tell whether an environment holds all that a recipe asks for."""
    wanted, found = contents(recipe), read_stamp(recipe.venv)
    return (
        can_be_kept(wanted, found)
        and set(wanted['layers']) <= set(found.get('layers', {}))
        and all(wanted[part] in (None, found.get(part)) for part in ('package', 'kernels'))
    )


def interpreter_of(venv: Path) -> Optional[Interpreter]:
    """Return the Python that a venv was made from, or None if either is not there any more."""
    found = read_stamp(venv).get('interpreter')
    return Interpreter(*found) if found and os.path.exists(found[0]) else None


def _digest(texts: List[str]) -> str:
    return hashlib.sha256('\n'.join(texts).encode()).hexdigest()

"""Build what a release uploads, and try it in an empty environment; nothing is uploaded.

python -m tools.release_check [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from tools.pins import ROOT

# What a laptop without ROS does with the wheel: load a task, infer, and ask for a command's help.
_TRY = """
from reward_learning_ros import core
task = core.load_task('cup')
corrections = core.simulate_corrections(task, [1.0, 0.0], beta=20.0, count=2, seed=0)
posterior = core.infer(task, corrections, beta=20.0, seed=0)
print('cup: mean of theta', posterior.mean.round(2).tolist())
assert posterior.mean[0] > posterior.mean[1]
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the steps, and return the exit code of the first that fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').split('\n')[0])
    parser.add_argument('--keep', type=Path, metavar='FOLDER', help='leave what was built there')
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix='release-') as folder:
        work = Path(folder)
        built = options.keep.absolute() if options.keep else work / 'dist'
        try:
            # Only a release needs these two, so no layer holds them.
            builder = _empty_environment(work / 'builder')
            _run([builder, '-m', 'pip', 'install', '--quiet', 'build', 'twine'], work)
            _run([builder, '-m', 'build', '--outdir', str(built), str(ROOT)], work)
            packages = sorted(str(path) for path in built.iterdir())
            _run([builder, '-m', 'twine', 'check', '--strict', *packages], work)
            python = _empty_environment(work / 'venv')
            (wheel,) = built.glob('*.whl')
            _run([python, '-m', 'pip', 'install', '--quiet', str(wheel)], work)
            _run([python, '-c', _TRY], work)
            _run([str(Path(python).with_name('reward_learning')), '--version'], work)
            _run([str(Path(python).with_name('reward_learning')), 'calibrate', '--help'], work)
        except subprocess.CalledProcessError as error:
            print(f'error: {" ".join(error.cmd[:4])} … ended with {error.returncode}')
            return 1
    print('ready: ' + ', '.join(Path(name).name for name in packages))
    return 0


def _empty_environment(folder: Path) -> str:
    venv.create(folder, with_pip=True)
    return str(folder / 'bin' / 'python')


def _run(command: list[str], folder: Path) -> None:
    print('+ ' + ' '.join(command[:5]).replace('\n', ' '), flush=True)
    subprocess.run(command, cwd=folder, check=True)


if __name__ == '__main__':
    sys.exit(main())

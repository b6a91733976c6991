#!/usr/bin/env python3
"""Find or make the Python environment of this repository, then run a command in it.

    tools/environment.py [--ros auto|sourced|jazzy|kilted] [--python 3.12] COMMAND [ARGUMENT ...]

With ROS 2 sourced, the environment is a venv over it that uses its rclpy. Without, it is a venv
with the PyPI wheels of ROS 2, in the versions of tools/pins.txt. Nothing is installed outside the
repository. The script needs nothing but the standard library, and any Python 3 may start it.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINS = ROOT / 'tools' / 'pins.txt'
SUPPORTED = ('3.10', '3.11', '3.12', '3.13')
# Preferred order when the Python that started this is not a supported one.
CANDIDATES = ('3.12', '3.11', '3.13', '3.10')
EXTRAS = ('sim', 'study', 'test', 'develop')
ROS_PACKAGES = (
    'rclpy',
    'rmw-fastrtps-cpp',
    'builtin-interfaces',
    'rosgraph-msgs',
    'std-msgs',
    'geometry-msgs',
    'nav-msgs',
    'sensor-msgs',
    'trajectory-msgs',
    'visualization-msgs',
    'diagnostic-msgs',
    'std-srvs',
)
# The wheels' bootstrapper marks the process that it prepared. Inherited by another venv, the
# mark would keep that one from finding its own libraries.
BOOTSTRAP_MARK = '_ROS_WHEELS_BOOTSTRAP_COMPLETE'


class EnvironmentProblem(Exception):
    """Something is missing that only the user can install; the message says how."""


def main(arguments=None):
    """Prepare the environment and replace this process by the command."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument(
        '--ros',
        choices=('auto', 'sourced', 'jazzy', 'kilted'),
        default='auto',
        help='which ROS 2 to use; auto takes the sourced one, else the wheels of Jazzy',
    )
    parser.add_argument('--python', choices=SUPPORTED, help='which Python to use')
    parser.add_argument('command', nargs=argparse.REMAINDER, help='what to run in it')
    options = parser.parse_args(arguments)
    try:
        ros = options.ros
        if ros == 'auto':
            ros = 'sourced' if os.environ.get('ROS_DISTRO') else 'jazzy'
        if ros == 'sourced':
            venv, environment = prepare_sourced(options.python)
        else:
            venv, environment = prepare_wheels(ros, options.python)
    except EnvironmentProblem as problem:
        print('error: {}'.format(problem), file=sys.stderr)
        return 1
    if not options.command:
        print(venv)
        return 0
    os.chdir(str(ROOT))
    try:
        os.execvpe(options.command[0], options.command, environment)
    except OSError as error:
        print('error: {}: {}'.format(options.command[0], error.strerror), file=sys.stderr)
        return 127


def prepare_wheels(distribution, version):
    """Return the venv with the wheels of a ROS 2 distribution, and the variables to run in it."""
    interpreter, version = find_python(version)
    suffix = '' if distribution == 'jazzy' else '-' + distribution
    # A default Python keeps the plain name; the test matrix has one venv for each other one.
    if version != find_python(None)[1]:
        suffix += '-' + version
    venv = ROOT / ('.venv' + suffix)
    pins = pins_of('common') + pins_of(distribution)
    requirements = ['ros-{}-{}'.format(distribution, name) for name in ROS_PACKAGES]
    create(venv, interpreter, version, pins, requirements, ())
    environment = activated(venv)
    for name in ('PYTHONPATH', 'LD_LIBRARY_PATH', BOOTSTRAP_MARK):
        environment.pop(name, None)
    environment['ROS_DISTRO'] = distribution
    environment['AMENT_PREFIX_PATH'] = str(venv)
    return venv, environment


def prepare_sourced(version):
    """Return the venv over the sourced ROS 2, and the variables to run in it."""
    distribution = os.environ.get('ROS_DISTRO')
    if not distribution:
        raise EnvironmentProblem(
            'no ROS 2 is sourced. Source one (`source /opt/ros/jazzy/setup.bash`), or let the '
            'wheels be used: `make ROS=jazzy …`'
        )
    found = re.findall(r'python(3\.\d+)/(?:site|dist)-packages', os.environ.get('PYTHONPATH', ''))
    if not found:
        raise EnvironmentProblem(
            'ROS_DISTRO={} is set, but PYTHONPATH names no Python packages of it. Source its '
            'setup.bash again, or unset ROS_DISTRO to use the wheels.'.format(distribution)
        )
    if version and version != found[0]:
        raise EnvironmentProblem(
            'the sourced ROS 2 {} is built for Python {}, not {}'.format(
                distribution, found[0], version
            )
        )
    interpreter, version = find_python(found[0])
    check = 'import rclpy, numpy; print(numpy.__version__)'
    asked = subprocess.run(
        [interpreter, '-c', check], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if asked.returncode:
        raise EnvironmentProblem(
            '{} cannot import the rclpy of the sourced ROS 2 {}:\n{}'.format(
                interpreter, distribution, asked.stderr.strip()
            )
        )
    # ROS 2's messages are compiled against the NumPy that it came with: keep exactly that one and
    # let the rest follow from it.
    pins = ['numpy=={}'.format(asked.stdout.strip().splitlines()[-1])]
    venv = ROOT / '.venv-sourced-{}'.format(distribution)
    create(venv, interpreter, version, pins, [], ('--system-site-packages',))
    return venv, activated(venv)


def create(venv, interpreter, version, pins, requirements, venv_options):
    """Make the venv unless it already holds just this."""
    base = digest(version, interpreter, *pins, *requirements, *venv_options, *EXTRAS)
    # A new entry point or extra needs a new installation, but not a new venv.
    whole = base + ' ' + digest((ROOT / 'setup.py').read_text())
    stamp = venv / 'reward_learning_ros.stamp'
    found = stamp.read_text() if stamp.is_file() else ''
    if found == whole:
        return
    environment = dict(os.environ)
    environment.pop(BOOTSTRAP_MARK, None)
    if not found.startswith(base):
        say('making {} with Python {} (once; a minute or two)'.format(venv.name, version))
        make_venv(venv, interpreter, version, venv_options, environment)
    else:
        say('updating {}'.format(venv.name))
    constraints = venv / 'constraints.txt'
    constraints.write_text('\n'.join(pins) + '\n')
    package = '{}[{}]'.format(ROOT, ','.join(EXTRAS))
    pip = [str(venv / 'bin' / 'python'), '-m', 'pip']
    install = [*pip, 'install', '--quiet', '--disable-pip-version-check', '-c', str(constraints)]
    steps = (
        # The build tools first, pinned too: the package itself is built without isolation.
        [*install, 'setuptools', 'wheel'],
        [*install, *requirements, '--no-build-isolation', '--editable', package],
    )
    log = venv / 'install.log'
    for step in steps:
        with open(str(log), 'a') as output:
            failed = subprocess.run(
                step, cwd=str(ROOT), env=environment, stdout=output, stderr=subprocess.STDOUT
            ).returncode
        if failed:
            last = '\n'.join(log.read_text().splitlines()[-15:])
            raise EnvironmentProblem(
                'pip could not install the packages; the next run starts over. Its last words '
                '(all of them: {}):\n{}'.format(log, last)
            )
    stamp.write_text(whole)


def make_venv(venv, interpreter, version, venv_options, environment):
    """Make an empty venv in place of whatever is there."""
    shutil.rmtree(str(venv), ignore_errors=True)
    made = subprocess.run(
        [interpreter, '-m', 'venv', *venv_options, str(venv)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )
    if made.returncode:
        shutil.rmtree(str(venv), ignore_errors=True)
        raise EnvironmentProblem(
            'Python {} cannot make a virtual environment. On Debian or Ubuntu: '
            '`sudo apt install python{}-venv`\n{}'.format(version, version, made.stdout.strip())
        )


def digest(*texts):
    """Return a fingerprint of texts."""
    return hashlib.sha256('\n'.join(texts).encode()).hexdigest()


def find_python(version):
    """Return a supported interpreter and its version, the wanted one if a version is given."""
    running = '{}.{}'.format(*sys.version_info[:2])
    wanted = (version,) if version else (running, *CANDIDATES)
    for candidate in wanted:
        if candidate not in SUPPORTED:
            continue
        if candidate == running:
            return getattr(sys, '_base_executable', None) or sys.executable, candidate
        path = shutil.which('python' + candidate)
        if path and runs_as(path, candidate):
            return path, candidate
        pyenv = Path.home() / '.pyenv' / 'versions'
        root = Path(os.environ.get('PYENV_ROOT', str(pyenv.parent))) / 'versions'
        for directory in sorted(root.glob(candidate + '.*')):
            path = directory / 'bin' / 'python'
            if path.exists():
                return str(path), candidate
    if version:
        raise EnvironmentProblem(
            'Python {0} is not here. On Debian or Ubuntu: `sudo apt install python{0} '
            'python{0}-venv`'.format(version)
        )
    raise EnvironmentProblem(
        'this is Python {}, and none of {} is on the PATH. On Debian or Ubuntu: `sudo apt install '
        'python3 python3-venv`'.format(running, ', '.join(SUPPORTED))
    )


def runs_as(path, version):
    """Tell whether an interpreter starts and is of the version (a pyenv shim may be neither)."""
    code = 'import sys; print("%d.%d" % sys.version_info[:2])'
    asked = subprocess.run(
        [path, '-c', code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    return asked.returncode == 0 and asked.stdout.strip() == version


def pins_of(section):
    """Return the lines of one section of the pins file."""
    lines, current = [], None
    for line in PINS.read_text().splitlines():
        text = line.strip()
        if text.startswith('['):
            current = text.strip('[]')
        elif text and not text.startswith('#') and current == section:
            lines.append(text)
    if not lines:
        raise EnvironmentProblem('{} has no section [{}]'.format(PINS, section))
    return lines


def activated(venv):
    """Return the environment variables of the activated venv."""
    environment = dict(os.environ)
    environment['VIRTUAL_ENV'] = str(venv)
    environment['PATH'] = '{}{}{}'.format(venv / 'bin', os.pathsep, environment.get('PATH', ''))
    environment.pop('PYTHONHOME', None)
    # A session on a laboratory network must not talk to the neighbour's arm unless told to.
    environment.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    return environment


def say(text):
    """Print one line about what is happening, apart from the command's own output."""
    print('[environment] ' + text, file=sys.stderr, flush=True)


if __name__ == '__main__':
    sys.exit(main())

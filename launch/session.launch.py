"""A session: the nodes that `reward_learning session` starts, from the same description.

When the session has ended, playback ends first, then the other nodes, then who records, and the
bringup of a real arm with the launch itself. Ctrl-C of `ros2 launch` reaches all at once: the last
set-points of playback end at rest, and the driver stops the arm when its controllers are gone.
"""

import signal
import sys

from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    ExecuteProcess,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
    Shutdown,
)
from launch.events.process import SignalProcess
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution, ThisLaunchFileDir
from launch_ros.actions import Node

from launch import LaunchDescription
from reward_learning_ros.core.tasks import load_task
from reward_learning_ros.parameters import from_texts, specifications, text_of
from reward_learning_ros.session.description import CONDUCTOR, PACKAGE, PLAYBACK, RECORDER, begin
from reward_learning_ros.session.launching import launch_parameters
from reward_learning_ros.session.parameters import SessionParameters
from reward_learning_ros.session.supervisor import may_start_again

RESUME = 'resume'


def generate_launch_description():
    """Return an argument for each parameter of a session, and what follows from them."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                RESUME,
                default_value='',
                description='Folder of an interrupted session to go on with; its own parameters '
                'apply',
            ),
            *(
                DeclareLaunchArgument(
                    name,
                    default_value=text_of(specification.default),
                    description=f'{specification.description}; {specification.allowed}',
                )
                for name, specification in specifications(SessionParameters).items()
            ),
            OpaqueFunction(function=_session),
        ]
    )


def _session(context):
    """Return the nodes of the session that the launch arguments describe."""
    texts = {
        name: LaunchConfiguration(name).perform(context)
        for name in specifications(SessionParameters)
    }
    resume = LaunchConfiguration(RESUME).perform(context)
    folder, config, description = begin(from_texts(SessionParameters, texts), resume or None)
    session = _Session(folder, {node.name: node for node in description.nodes})
    actions = [LogInfo(msg=f'session in {folder.path}')]
    if description.bringup is not None:
        actions.append(
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(
                    PathJoinSubstitution([ThisLaunchFileDir(), 'franka.launch.py'])
                ),
                launch_arguments=description.bringup.items(),
            )
        )
    if not load_task(config.task).needs_preparation:
        return [*actions, *session.start_all()]
    # Beside the busy nodes this takes much longer, and in here nobody could interrupt it.
    return [*actions, _command('prepare', config.task, on_exit=session.on_prepared)]


def _command(*words, on_exit):
    """Return the action that runs a command of `reward_learning`."""
    return ExecuteProcess(
        cmd=[sys.executable, '-m', f'{PACKAGE}.cli', *words], output='screen', on_exit=on_exit
    )


class _Session:
    """Starts nodes, starts those again that die, and concludes when the conductor has ended."""

    def __init__(self, folder, nodes):
        self.nodes = nodes
        self._folder = folder
        self._starts = dict.fromkeys(nodes, 0)
        self._actions = {}
        self._is_ended = False
        self._interrupted = set()

    def on_prepared(self, event, context):
        """Return the actions after the task was prepared, or could not be."""
        if context.is_shutdown:
            return None
        if event.returncode != 0:
            return Shutdown(reason='the task cannot be prepared')
        return self.start_all()

    def start_all(self):
        """Return the actions that start all nodes."""
        return [self.start(name) for name in self.nodes]

    def start(self, name):
        """Return the action that starts a node."""
        node = self.nodes[name]
        self._starts[name] += 1
        self._actions[name] = Node(
            package=node.package,
            executable=node.executable,
            name=node.name,
            namespace=node.namespace,
            parameters=launch_parameters(node),
            remappings=list(node.remappings),
            arguments=list(node.arguments),
            output='both',
            on_exit=lambda event, context: self._on_exit(name, event.returncode, context),
        )
        return self._actions[name]

    def _on_exit(self, name, code, context):
        del self._actions[name]
        if context.is_shutdown:
            return None
        if name == CONDUCTOR and code == 0:
            self._is_ended = True
        if self._is_ended:
            return self._on_end(name)
        if not may_start_again(code, self._starts[name]):
            return Shutdown(reason=f'{name} ended with code {code}, and does so every time')
        return [
            LogInfo(msg=f'{name} ended with code {code}; it is started again'),
            self.start(name),
        ]

    def _on_end(self, name):
        if name == RECORDER:
            end = Shutdown(reason='the session has ended')
            return _command('conclude', str(self._folder.path), on_exit=end)
        # Playback first, who records last; a group waits until the one before has ended.
        for group in ({PLAYBACK}, set(self.nodes) - {PLAYBACK, RECORDER}, {RECORDER}):
            running = group.intersection(self._actions)
            if running:
                return [self._interrupt(other) for other in sorted(running - self._interrupted)]
        return None

    def _interrupt(self, name):
        self._interrupted.add(name)
        action = self._actions[name]
        return EmitEvent(
            event=SignalProcess(
                signal_number=signal.SIGINT, process_matcher=lambda process: process is action
            )
        )

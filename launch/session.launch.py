"""A session: what `reward_learning session` does, as a launch file.

It is run by the same supervisor, so that there is one order in which it ends: after Ctrl-C too,
playback brings the arm to rest first, then the controllers of a real arm end, then the rest.
"""

from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration

from launch import LaunchDescription
from reward_learning_ros.parameters import from_texts, specifications, text_of
from reward_learning_ros.session.session_parameters import SessionParameters, session_words

RESUME = 'resume'
# How long the supervisor may take to end everything, with the bringup of a real arm and a report,
# before launch gives it a second and a third signal.
SHUTDOWN_TIMEOUT_SEC = '60'


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
    """Return the process that runs the session that the launch arguments describe."""
    texts = {
        name: LaunchConfiguration(name).perform(context)
        for name in specifications(SessionParameters)
    }
    # A bad value is refused here, before anything is started.
    config = from_texts(SessionParameters, texts)
    return [
        ExecuteProcess(
            cmd=session_words(config, LaunchConfiguration(RESUME).perform(context)),
            output='screen',
            sigterm_timeout=SHUTDOWN_TIMEOUT_SEC,
            sigkill_timeout=SHUTDOWN_TIMEOUT_SEC,
            on_exit=Shutdown(reason='the session has ended'),
        )
    ]

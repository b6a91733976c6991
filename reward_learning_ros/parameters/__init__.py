"""One frozen dataclass per node or command, from which everything else is derived.

Imports core; no ROS.

The dataclass is the only place of defaults, ranges and descriptions. From it follow validation,
the configuration file, the command-line options and (in `nodes.ros_parameters`) the ROS
parameters:

    @dataclass(frozen=True, kw_only=True)
    class PlaybackParameters(Parameters):
        speed_scale: float = parameter(
            1.0, description='Share of the planned speed', minimum=0.01, maximum=1.0
        )
        tool_frame: str = parameter(
            'fr3_hand_tcp', description='Frame of the tool', read_only=True
        )

    PlaybackParameters(speed_scale=2)
    # ParameterError: PlaybackParameters.speed_scale = 2.0: must be a number, 0.01 to 1.0
"""

from reward_learning_ros.parameters.sources import (
    add_arguments,
    from_arguments,
    from_file,
    from_mapping,
    from_texts,
    mapping_from_file,
    text_of,
    to_mapping,
)
from reward_learning_ros.parameters.specification import (
    ParameterError,
    Parameters,
    Specification,
    parameter,
    specifications,
    validate,
)

__all__ = [
    'ParameterError',
    'Parameters',
    'Specification',
    'add_arguments',
    'from_arguments',
    'from_file',
    'from_mapping',
    'from_texts',
    'mapping_from_file',
    'parameter',
    'specifications',
    'text_of',
    'to_mapping',
    'validate',
]

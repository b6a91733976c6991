"""What is known about θ as std_msgs/Float64MultiArray with labelled dimensions."""

from __future__ import annotations

from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout

from reward_learning_ros.interface import ThetaSamples, ThetaSummary
from reward_learning_ros.interface.records import FloatArray
from reward_learning_ros.interface.theta import STATISTICS, label_of


def theta_summary_to_message(summary: ThetaSummary) -> Float64MultiArray:
    """Return a summary as statistic × feature."""
    return _message(
        summary.table, label_of('statistic', STATISTICS), label_of('feature', summary.features)
    )


def theta_samples_to_message(samples: ThetaSamples) -> Float64MultiArray:
    """Return samples as draw × feature."""
    return _message(samples.samples, label_of('draw'), label_of('feature', samples.features))


def _message(table: FloatArray, rows: str, columns: str) -> Float64MultiArray:
    height, width = table.shape
    return Float64MultiArray(
        layout=MultiArrayLayout(
            dim=[
                MultiArrayDimension(label=rows, size=height, stride=height * width),
                MultiArrayDimension(label=columns, size=width, stride=width),
            ]
        ),
        data=table.ravel().tolist(),
    )

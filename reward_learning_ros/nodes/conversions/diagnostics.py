"""Diagnostics as diagnostic_msgs/DiagnosticStatus and DiagnosticArray."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from reward_learning_ros.interface import Diagnostic, DiagnosticReport
from reward_learning_ros.nodes.conversions.basics import header_message


def diagnostic_to_message(diagnostic: Diagnostic) -> DiagnosticStatus:
    """Return one diagnostic as a message."""
    return DiagnosticStatus(
        # A byte of a message is `bytes` in rclpy.
        level=bytes([diagnostic.level]),
        name=diagnostic.name,
        message=diagnostic.message,
        hardware_id=diagnostic.hardware_id,
        values=[KeyValue(key=key, value=value) for key, value in diagnostic.values.items()],
    )


def diagnostic_report_to_message(report: DiagnosticReport) -> DiagnosticArray:
    """Return a report as a message; diagnostics have no frame."""
    return DiagnosticArray(
        header=header_message(report.stamp_ns, ''),
        status=[diagnostic_to_message(diagnostic) for diagnostic in report.diagnostics],
    )

"""A participant's answers and an operator's marks as DiagnosticStatus."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus

from reward_learning_ros.interface import OperatorMark, QuestionnaireAnswers
from reward_learning_ros.interface.study_records import answers_diagnostic_of, mark_diagnostic_of
from reward_learning_ros.nodes.conversions.diagnostics import diagnostic_to_message


def answers_to_message(answers: QuestionnaireAnswers) -> DiagnosticStatus:
    """Return answers as a diagnostic whose values are the record's fields and each answer."""
    return diagnostic_to_message(answers_diagnostic_of(answers))


def mark_to_message(mark: OperatorMark) -> DiagnosticStatus:
    """Return a mark as a diagnostic whose values are the mark's fields."""
    return diagnostic_to_message(mark_diagnostic_of(mark))

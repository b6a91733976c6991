"""The addresses of the pages, each built anew for who opens it."""

from __future__ import annotations

from nicegui import ui

from reward_learning_ros.console.console_node import ConsoleNode
from reward_learning_ros.console.control import ControlDesk
from reward_learning_ros.console.operator_page import OperatorPage
from reward_learning_ros.console.participant_page import ParticipantPage


def add_pages(node: ConsoleNode) -> None:
    """Add all pages."""
    desk = ControlDesk()

    @ui.page('/')
    def operator() -> None:
        OperatorPage(node, desk)

    @ui.page('/participant')
    def participant() -> None:
        ParticipantPage(node)

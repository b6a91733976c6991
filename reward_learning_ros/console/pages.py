"""The addresses of the pages; each is built again for every browser that opens it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fastapi import HTTPException, Response
from fastapi.responses import FileResponse
from nicegui import app, ui

from reward_learning_ros.console.analysis import report_of
from reward_learning_ros.console.console_node import ConsoleNode
from reward_learning_ros.console.control import ControlDesk
from reward_learning_ros.console.finished_session import folder_named
from reward_learning_ros.console.launcher import SessionLauncher
from reward_learning_ros.console.operator_page import OperatorPage
from reward_learning_ros.console.participant_page import ParticipantPage
from reward_learning_ros.console.recordings_page import build_recordings_page
from reward_learning_ros.console.study_page import StudyPage
from reward_learning_ros.core.errors import InvalidInputError

# A report is one file with its styles and pictures in it: it needs nothing, and runs nothing.
_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"


def add_pages(node: ConsoleNode) -> None:
    """Register the pages of the console with NiceGUI."""
    desk = ControlDesk()
    launcher = SessionLauncher()

    @ui.page('/')
    def operator() -> None:
        OperatorPage(node, desk, launcher)

    @ui.page('/study')
    def study() -> None:
        StudyPage(node, launcher)

    @ui.page('/participant')
    def participant() -> None:
        ParticipantPage(node)

    sessions = Path(node.config.sessions)

    @ui.page('/recordings')
    def recordings(session: str = '') -> None:
        build_recordings_page(sessions, session)

    @app.get('/recordings/report')
    def report(session: str) -> Response:
        return _report(lambda: folder_named(sessions, session).report, session)

    @app.get('/study/report')
    def study_report(study: str) -> Response:
        return _report(lambda: report_of(sessions, study), study)


def _report(find: Callable[[], Path], name: str) -> Response:
    try:
        file = find()
    except InvalidInputError as error:
        raise HTTPException(404, str(error)) from error
    if not file.is_file():
        raise HTTPException(404, f'{name} has no report')
    return FileResponse(
        file, media_type='text/html', headers={'content-security-policy': _REPORT_POLICY}
    )

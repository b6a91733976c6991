"""The report of a session: one page that needs nothing but itself."""

from __future__ import annotations

from reward_learning_ros.study.session_data import SessionData


def session_report(data: SessionData) -> str:
    """Return the report of a session as one HTML page, without any link to elsewhere.

    Args:
        data: The session; it may have been aborted before anything happened.
    """
    raise NotImplementedError

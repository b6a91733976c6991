"""Services without an executor: requests wait until taken, and tell when they were sent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node
from rclpy.service import Service


@dataclass(frozen=True, kw_only=True)
class ServiceRequest:
    """A request that waits for its response.

    Attributes:
        request: what is asked for.
        age_sec: how long ago it was sent, by the wall clock of sender and receiver; None where
            the middleware does not tell.
    """

    request: Any
    age_sec: float | None
    _service: Service
    _header: Any

    def respond(self, response: Any) -> None:
        """Send the response."""
        self._service.send_response(response, self._header)


class PolledService:
    """A service whose requests are taken when they are wanted.

    The callback of an executor is not told when its request was sent.
    """

    def __init__(self, node: Node, service_type: Any, name: str) -> None:
        self._type = service_type
        self._service = node.create_service(service_type, name, self._never_called)
        # An executor serves the services in this list. There is no public way to keep one out of
        # it; the list is the same from Humble to Kilted.
        node._services.remove(self._service)

    def _never_called(self, request: Any, response: Any) -> Any:
        raise AssertionError('no executor knows of this service')

    def take(self) -> Iterator[ServiceRequest]:
        """Yield the requests that wait, in the order in which they came."""
        handle = self._service.handle
        while True:
            with handle:
                request, header = handle.service_take_request(self._type.Request)
            if header is None:
                return
            sent_ns = header.source_timestamp
            yield ServiceRequest(
                request=request,
                age_sec=(time.time_ns() - sent_ns) / 1e9 if sent_ns > 0 else None,
                _service=self._service,
                _header=header,
            )

"""Fixtures that give each ROS test a ROS 2 of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from helpers.domains import claimed_domain
from helpers.ros import PrivateRos


@pytest.fixture
def domain_id() -> Iterator[int]:
    """Return a ROS domain that no other test has, not even of another run at the same time."""
    with claimed_domain() as claimed:
        yield claimed


@pytest.fixture
def make_ros(domain_id: int) -> Iterator[Callable[..., PrivateRos]]:
    """Return a function that makes a context in the test's domain, given ROS arguments."""
    made: list[PrivateRos] = []

    def make(*arguments: str, domain: int = domain_id) -> PrivateRos:
        made.append(PrivateRos(domain, arguments))
        return made[-1]

    yield make
    for ros in made:
        ros.close()


@pytest.fixture
def ros(make_ros: Callable[..., PrivateRos]) -> PrivateRos:
    """Return a context and an executor in the test's domain; `ros.wait_until` spins."""
    return make_ros()

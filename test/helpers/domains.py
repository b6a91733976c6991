"""ROS domains that nobody else on this machine has, for tests."""

from __future__ import annotations

from tools.domains import DOMAINS, claimed_domain

__all__ = ['DOMAINS', 'claimed_domain']

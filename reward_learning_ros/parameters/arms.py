"""The arms that a session may be done on: said once, for sessions and for commands."""

from __future__ import annotations

SIMULATED = 'simulated'
FRANKA = 'franka'
ARMS = (SIMULATED, FRANKA)

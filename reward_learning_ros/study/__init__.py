"""A study: protocol, ledger, questionnaires, tidy tables, analysis and statistics.

Imports core, parameters, interface, tasks, recording, figures and session; no ROS.
"""

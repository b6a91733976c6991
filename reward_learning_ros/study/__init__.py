"""A study: protocol, ledger, tidy tables, analysis and statistics.

Imports core, figures and recording. No ROS.
"""

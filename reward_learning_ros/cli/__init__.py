"""The command line, one file per command.

Imports core, parameters, interface, arm, tasks, playback, sensing, learning, recording, figures,
session, study, experiments, nodes and console.
"""

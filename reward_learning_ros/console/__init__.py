"""The console: a page in the browser from which a session is watched, run and taught.

Imports core, parameters, interface, arm, tasks, recording, session, study and nodes.

One process beside the nodes. What it knows it heard on topics, and what it does is a service or a
topic that a script can use too; it can be killed and started again at any moment.
"""

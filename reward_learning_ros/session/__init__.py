"""A whole session: its configuration, its nodes, its folder, its processes and its outcome."""

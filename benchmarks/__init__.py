"""The numbers of the package, measured: one module for each part, each with a `run() -> dict`."""

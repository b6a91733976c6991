"""The style of figures, plots, pictures of tasks and HTML pages.

Imports core and sensing; no ROS.
"""

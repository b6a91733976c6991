"""Style, plots, pictures of tasks and HTML pages.

Imports core, tasks and sensing; Matplotlib where it is used. No ROS.
"""

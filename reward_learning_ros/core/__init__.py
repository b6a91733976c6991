"""Bayesian reward learning, tasks and planning: no ROS, no physics engine."""

"""Hostile input for all that reads what others wrote."""

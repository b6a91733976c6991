"""Faults made on purpose while the simulated arm moves, and what the arm does then."""

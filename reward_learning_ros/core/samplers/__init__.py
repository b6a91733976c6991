"""Samplers of θ, one file per algorithm, and the compiled kernels that they share."""

"""Learn what a person wants from physical corrections of a Franka arm."""

__version__ = '0.1.0'

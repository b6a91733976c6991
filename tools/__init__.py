"""What builds, checks and maintains this repository; no part of the installed package."""

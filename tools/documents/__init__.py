"""Build the site of the documentation, and keep what it says true."""

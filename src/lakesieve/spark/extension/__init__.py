"""File skipping without a Python driver: a jar, and the process that answers its requests."""

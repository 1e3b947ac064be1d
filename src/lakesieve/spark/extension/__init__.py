"""The rule for sessions without a Python driver: a jar, and the process that answers it."""

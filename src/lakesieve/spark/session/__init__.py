"""Spark sessions, and where a session finds the indexes of a table."""

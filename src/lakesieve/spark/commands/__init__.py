"""Rows changed and looked up by key, and what a table needs."""

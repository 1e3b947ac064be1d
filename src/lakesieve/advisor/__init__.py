"""Advise which columns to index, from what queries ask and what trial indexes show."""

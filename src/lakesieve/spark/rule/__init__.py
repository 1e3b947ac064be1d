"""The optimizer rule: scans and their filters to the data files that they read."""

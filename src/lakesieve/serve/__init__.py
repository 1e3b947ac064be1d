"""The REST catalog that plans scans with indexes."""

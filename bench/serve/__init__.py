"""The server: point queries of its clients, and how fast it plans."""

"""The index core against its peers: the same keys and files, the same probes, side by side."""

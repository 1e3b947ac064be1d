"""The Python side of the optimizer rule, which leaves data files out of scans."""

"""The Python side of the optimizer rule, which removes data files from scans."""

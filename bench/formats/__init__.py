"""One table in every format: no skipping, lakesieve, and each format's own best means."""

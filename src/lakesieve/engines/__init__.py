"""Engines without Spark: their scans open only the files that can hold a match.

Each module needs its engine's own package, and is imported by its name:

>>> from lakesieve.engines import pyiceberg                               # doctest: +SKIP
>>> pyiceberg.enable()                                                    # doctest: +SKIP
"""

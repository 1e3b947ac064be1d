"""The versions of Spark that are supported, and Java compiled for the one that runs."""

"""Apache Hudi: the timeline, file slices, and tables read without an engine."""

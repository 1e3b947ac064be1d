"""Apache Hudi tables: the timeline, file slices, and a reader without an engine."""

"""Apache Hudi through a Spark session."""

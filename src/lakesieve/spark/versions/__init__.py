"""The supported versions of Spark, and the classes of the JVM that a session uses."""

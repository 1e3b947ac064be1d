"""The supported versions of Spark, and access to the classes of a session's JVM."""

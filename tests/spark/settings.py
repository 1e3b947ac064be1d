"""Settings of every session of the tests: their tables are tiny, their queries many."""

from __future__ import annotations

__all__ = ["BY_DEFAULT", "SETTINGS"]

# to compile a query, and to plan it again after each stage, takes longer than so few rows do
BY_DEFAULT = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}
SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "America/New_York",
    "spark.ui.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # two sessions share two cores: what is slow is not what a test is about
    "spark.lakesieve.planning.seconds": "60",
}

"""Settings of sessions whose queries are about few rows."""

from __future__ import annotations

INTERPRETED = {
    # to compile a query, and to plan it again after each stage, takes longer than so few rows do
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

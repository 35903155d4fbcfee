"""Which releases of kraftlake wrote a lake."""

from __future__ import annotations

from pyspark.sql.types import IntegerType, StringType, TimestampType

from pipelines.tables.contract import Column, Contract

# Types are objects here: nobody who writes it has, or needs, a Spark session to parse DDL.
LAKE_VERSIONS = Contract(
    name="bronze.lake_versions",
    description="Each release of kraftlake that wrote the lake.",
    columns=(
        Column("at", TimestampType(), "when it was noted", nullable=False),
        Column(
            "action",
            StringType(),
            "created, or written (by another release than before)",
            nullable=False,
        ),
        Column("schema_version", IntegerType(), "of the tables from then on", nullable=False),
        Column("release", StringType(), "of kraftlake, as `kraftlake --version`", nullable=False),
    ),
    keys=("at",),
)

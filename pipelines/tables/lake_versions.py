"""Which releases of kraftlake wrote a lake, and when its tables changed."""

from __future__ import annotations

from pyspark.sql.types import IntegerType, StringType, TimestampType

from pipelines.tables.contract import Column, Contract

# Types are objects here: nobody who writes it has, or needs, a Spark session to parse DDL.
LAKE_VERSIONS = Contract(
    name="bronze.lake_versions",
    description="Each release that wrote the lake, and each change of its tables' schema version.",
    columns=(
        Column("at", TimestampType(), "when it was noted", nullable=False),
        Column(
            "action",
            StringType(),
            "created, written (by another release than before) or upgraded",
            nullable=False,
        ),
        Column("schema_version", IntegerType(), "of the tables from then on", nullable=False),
        Column("release", StringType(), "of kraftlake, as `kraftlake --version`", nullable=False),
    ),
    keys=("at",),
)

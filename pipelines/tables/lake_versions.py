"""Which releases of kraftlake wrote a lake."""

from __future__ import annotations

from pipelines.tables.contract import Column, Contract

LAKE_VERSIONS = Contract(
    name="bronze.lake_versions",
    description="Each release of kraftlake that wrote the lake.",
    columns=(
        Column("at", "timestamp", "when it was noted", nullable=False),
        Column(
            "action",
            "string",
            "created, or written (by another release than before)",
            nullable=False,
        ),
        Column("schema_version", "int", "of the tables from then on", nullable=False),
        Column("release", "string", "of kraftlake, as `kraftlake --version`", nullable=False),
    ),
    keys=("at",),
)

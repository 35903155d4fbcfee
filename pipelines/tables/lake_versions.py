"""Which releases of kraftlake wrote a lake."""

from __future__ import annotations

from pipelines.tables.contract import Contract, required

LAKE_VERSIONS = Contract(
    name="bronze.lake_versions",
    description="Each release of kraftlake that wrote the lake.",
    columns=(
        required("at", "timestamp", "when it was noted"),
        required("action", "string", "created, or written (by another release than before)"),
        required("schema_version", "int", "of the tables from then on"),
        required("release", "string", "of kraftlake, as `kraftlake --version`"),
    ),
    keys=("at",),
)

"""dbt's sources of a lake: YAML made from the contracts of its tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from pipelines.tables.contract import Contract
from pipelines.tables.gold import GOLD
from pipelines.tables.silver import SILVER

LAYERS = {"silver": SILVER, "gold": GOLD}
"""The tables that a model may read, by layer. An own table may read the same tables."""


def yaml(layer: str) -> str:
    """The file of a layer. JSON texts and lists are valid YAML."""
    return "\n".join(_lines(layer, LAYERS[layer])) + "\n"


def _lines(layer: str, tables: Sequence[Contract]) -> Iterator[str]:
    yield "# Made from the contracts: REWRITE_SOURCES=1 python -m pytest tests/dbt/test_sources.py"
    yield "version: 2"
    yield "sources:"
    yield f"  - name: {layer}"
    yield "    tables:"
    for table in tables:
        place = f"{{{{ env_var('KRAFTLAKE_LAKE') }}}}/{layer}/{table.table_name}"
        yield f"      - name: {table.table_name}"
        yield f"        description: {json.dumps(table.description)}"
        yield "        config:"
        yield f"          meta: {{plugin: delta, delta_table_path: {json.dumps(place)}}}"
        yield "        data_tests:"
        yield f"          - keys_are_unique: {{arguments: {{columns: {json.dumps(table.keys)}}}}}"
        yield "        columns:"
        for column in table.columns:
            yield f"          - name: {column.name}"
            yield f"            data_type: {json.dumps(column.type)}"
            yield f"            description: {json.dumps(column.description)}"

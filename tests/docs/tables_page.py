"""The tables' contracts as a page of Markdown: docs/reference/tables.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pipelines.tables.contract import FEED_RETENTION_DAYS, Column, Contract
from pipelines.tables.of_a_lake import TABLES
from replica.metadata.changes.catalogue import CHANGES

_HEAD = """\
# The tables of a lake

The test tests/docs/test_tables.py makes this page from the contracts in `pipelines/tables`, and
fails when the two differ. Offsets, sizes and counts are `bigint`, ids and epochs are `int`, times
are `timestamp` in UTC, and an open end is NULL. In every table about replicas, `(cluster_id,
node_id, directory_id)` names the replica. `kraftlake sql --lake LAKE --tables` prints the tables of
a lake.
"""


def markdown(contracts: Iterable[Contract] = TABLES) -> str:
    """The text of docs/reference/tables.md."""
    tables = (line for one in contracts for line in _table(one))
    return "\n".join([_HEAD, *tables, *_changes()])


def _changes() -> Iterator[str]:
    yield "## The types of gold.metadata_changes\n"
    yield "Where no fields are named here, `old` and `new` are the whole entity as JSON. Where one"
    yield "field is named, they are its value; where several are named, an object of them.\n"
    yield "| change | entity | fields | |"
    yield "|---|---|---|---|"
    for one in CHANGES:
        fields = ", ".join(f"`{name}`" for name in one.value)
        yield f"| `{one.name}` | {one.entity} | {fields} | {one.meaning} |"
    yield ""


def _table(contract: Contract) -> Iterator[str]:
    yield f"## {contract.name}\n"
    yield contract.description
    yield f"\nKey: {', '.join(f'`{key}`' for key in contract.keys)}.{_properties(contract)}\n"
    yield "| column | type | |"
    yield "|---|---|---|"
    for column in contract.columns:
        yield f"| `{column.name}` | `{column.type}` | {_meaning(column)} |"
    yield ""


def _properties(contract: Contract) -> str:
    if not contract.change_feed:
        return ""
    return f" Delta keeps its change data feed for {FEED_RETENTION_DAYS} days."


def _meaning(column: Column) -> str:
    text = column.description.replace("|", "\\|")
    return text if column.nullable else f"{text}; never NULL"

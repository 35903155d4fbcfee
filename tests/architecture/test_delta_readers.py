"""delta-rs reads no data file that nobody has looked at, and Arrow reads no stream of its: a footer
that lies would make it panic, and a panic in a stream ends the process."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.trees import nodes_of

ROOT = Path(__file__).parents[2]
READING = {"register", "merge", "delete"}
"""Methods by which delta-rs reads a table's files; load_cdf is behind refuse_commit_elsewhere."""


def unchecked(text: str) -> Iterator[str]:
    """The calls in which delta-rs reads a table that did not go through `readable`, or in which
    Arrow reads an answer of delta-rs."""
    if "deltalake" not in text and "pipelines.lake.delta_rs" not in text:
        return
    for node in nodes_of(text):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        words = [ast.unparse(node.func.value), *map(ast.unparse, node.args)]
        if node.func.attr in READING and not any(one.startswith("readable(") for one in words):
            yield f"{node.lineno}: {ast.unparse(node)[:60]}"
        if node.func.attr in ("from_stream", "_import_from_c"):
            yield f"{node.lineno}: {ast.unparse(node)[:60]}"


OTHERS = {
    "jobs/cli/asking/sql_duckdb.py": "DuckDB's register, of data sets that pyarrow reads",
}


def test_every_table_is_looked_at_before_delta_rs_reads_it() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{one}"
        for folder in ("pipelines", "jobs", "kraftlake")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if str(path.relative_to(ROOT)) not in OTHERS
        for one in unchecked(path.read_text())
    }
    assert found == set()


@pytest.mark.parametrize(
    "code",
    [
        "QueryBuilder().register('t', table)",
        "table.merge(rows, where)",
        "open_table(uri).delete(where)",
        "pa.RecordBatchReader.from_stream(reader)",
    ],
)
def test_what_reads_without_a_look_is_found(code: str) -> None:
    assert [*unchecked(f"import deltalake\n{code}")]
    assert not [*unchecked("import deltalake\nbuilder.register('t', readable(table))")]

"""The lake where it lies, read by Polars, DataFusion and pandas: all of its tables, with all of
their columns, and questions of the docs answered as `kraftlake sql` answers them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datafusion
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from kraftlake import open_lake
from pipelines.lake.json_view import json_view
from pipelines.tables.bronze import BRONZE, LOG_RECORDS, SNAPSHOT_RECORDS
from pipelines.tables.gold import GOLD, QUALITY_RESULTS
from pipelines.tables.silver import LEADER_EPOCHS, SILVER
from replica.errors import UsageError
from tests.kraftlake_process import kraftlake
from tests.pipelines.checksums import checksum

QUICK = (SNAPSHOT_RECORDS, LEADER_EPOCHS)
"""Between them they have columns of each kind."""
RECORDS = LOG_RECORDS.name
DYNAMIC = "Lr3UIdBxT-GFPYE5uprmrg"
WHO_LED = f"""
    SELECT epoch, leader_id, start_offset FROM gold.leader_epoch_history
    WHERE cluster_id = '{DYNAMIC}' ORDER BY epoch
"""
Rows = list[tuple[Any, ...]]


def asked(lake: Path, query: str, *options: str) -> Rows:
    """What our own SQL answers."""
    done = kraftlake("sql", "--lake", lake, "--json", *options, query)
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line).values()) for line in done.stdout.splitlines()]


def place(lake: Path, table: str) -> str:
    return str(lake.joinpath(*table.split(".")))


def with_table(lake: Path, table: str) -> datafusion.SessionContext:
    """A session of DataFusion that knows the table as t."""
    session = datafusion.SessionContext()
    session.register_table("t", DeltaTable(place(lake, table)))
    return session


def by_polars(lake: Path, table: str) -> pa.Table:
    return pl.scan_delta(place(lake, table)).collect().to_arrow()


def by_datafusion(lake: Path, table: str) -> pa.Table:
    session = with_table(lake, table)  # it must live until the rows are read
    return session.table("t").to_arrow_table()


def by_pandas(lake: Path, table: str) -> pa.Table:
    """The types of pandas lose what is NULL; those of Arrow that it can hold keep it."""
    frame = DeltaTable(place(lake, table)).to_pandas(types_mapper=pd.ArrowDtype)
    return pa.Table.from_pandas(frame, preserve_index=False)


@pytest.mark.parametrize("read", [by_polars, by_datafusion, by_pandas])
@pytest.mark.parametrize(
    "table",
    [
        pytest.param(one.name, marks=[] if one in QUICK else [pytest.mark.slow])
        for one in (*BRONZE, *SILVER, *GOLD, QUALITY_RESULTS)
    ],
)
def test_an_engine_reads_every_row_and_column_that_delta_rs_reads(
    built_lake: Path, table: str, read: Callable[[Path, str], pa.Table]
) -> None:
    expected = DeltaTable(place(built_lake, table)).to_pyarrow_dataset().to_table()
    found = read(built_lake, table)
    assert set(found.column_names) == set(expected.column_names)
    assert checksum(found) == checksum(expected)


def test_all_engines_give_the_same_leaders(built_lake: Path) -> None:
    expected = asked(built_lake, WHO_LED)
    assert len(expected) > 3
    table, names = "gold.leader_epoch_history", ["epoch", "leader_id", "start_offset"]
    frame = pl.scan_delta(place(built_lake, table)).filter(pl.col("cluster_id") == DYNAMIC)
    assert frame.sort("epoch").select(names).collect().rows() == expected
    session = with_table(built_lake, table)
    answer = session.sql(WHO_LED.replace(table, "t")).to_pylist()
    assert [tuple(row.values()) for row in answer] == expected
    rows = DeltaTable(place(built_lake, table)).to_pandas()
    chosen = rows[rows["cluster_id"] == DYNAMIC].sort_values("epoch")[names]
    assert list(chosen.itertuples(index=False, name=None)) == expected


GHOSTS = f"""
    SELECT DISTINCT payload->>'name' AS name, payload->>'topicId' AS id FROM {RECORDS}
    WHERE record_type = 'TOPIC_RECORD' AND payload->>'name' LIKE 'ghost-%' ORDER BY name
"""


@pytest.fixture(scope="module")
def ghosts(built_lake: Path) -> Rows:
    """The topics that the majority never accepted, by our own SQL."""
    found = asked(built_lake, GHOSTS, "--engine", "duckdb")
    assert len(found) > 3
    return found


def test_polars_looks_into_payloads_by_the_json_view(built_lake: Path, ghosts: Rows) -> None:
    rows = open_lake(built_lake).batches(RECORDS, ["record_type", "payload"])
    view = pl.from_arrow(rows.read_all())
    assert isinstance(view, pl.DataFrame)
    fields = [pl.col("payload").str.json_path_match(f"$.{name}") for name in ("name", "topicId")]
    topics = view.filter(pl.col("record_type") == "TOPIC_RECORD").select(
        fields[0].alias("name"), fields[1].alias("id")
    )
    chosen = topics.filter(pl.col("name").str.starts_with("ghost-")).unique().sort("name")
    assert chosen.rows() == ghosts


def test_datafusion_looks_into_payloads_by_the_json_view(built_lake: Path, ghosts: Rows) -> None:
    session = datafusion.SessionContext()
    session.from_arrow(json_view(built_lake, RECORDS, ["record_type", "payload"]), name="t")
    found = session.sql(
        """SELECT DISTINCT regexp_match(payload, '"name":"(ghost-[^"]*)"')[1] AS name,
           regexp_match(payload, '"topicId":"([^"]*)"')[1] AS id
           FROM t WHERE record_type = 'TOPIC_RECORD' AND payload LIKE '%"name":"ghost-%'
           ORDER BY name"""
    ).to_pylist()
    assert [(row["name"], row["id"]) for row in found] == ghosts


def test_pandas_looks_into_payloads_by_the_json_view(built_lake: Path, ghosts: Rows) -> None:
    frame = json_view(built_lake, RECORDS, ["record_type", "payload"]).read_pandas()
    topics = frame[frame["record_type"] == "TOPIC_RECORD"]["payload"].map(json.loads)
    found = {(one["name"], one["topicId"]) for one in topics}
    assert sorted(one for one in found if one[0].startswith("ghost-")) == ghosts


def test_duckdb_looks_into_payloads_by_the_json_view(built_lake: Path, ghosts: Rows) -> None:
    with duckdb.connect() as database:
        database.register("t", json_view(built_lake, RECORDS))
        assert database.execute(GHOSTS.replace(RECORDS, "t")).fetchall() == ghosts


def test_a_view_of_what_the_lake_has_not_is_refused_by_name(built_lake: Path) -> None:
    with pytest.raises(UsageError, match=r"gold\.nope: the lake has no such table"):
        json_view(built_lake, "gold.nope")
    with pytest.raises(UsageError, match="no column nope"):
        json_view(built_lake, RECORDS, ["nope"])

"""Every table of a lake read by Spark, delta-rs and DuckDB: the same rows, whoever reads."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.delta import Lake, read
from pipelines.tables.bronze import BRONZE, DAMAGE, LOG_RECORDS, REPLICA_STATE
from pipelines.tables.contract import Contract
from pipelines.tables.gold import GOLD, QUALITY_RESULTS
from pipelines.tables.silver import SILVER
from tests.pipelines.checksums import checksum

TABLES = (*BRONZE, *SILVER, *GOLD, QUALITY_RESULTS)
QUICK = (LOG_RECORDS, REPLICA_STATE)
"""Together these tables have columns of each kind."""
WITH_VARIANT = {"bronze.log_records", "bronze.snapshot_records"}

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    "contract",
    [
        pytest.param(table, id=table.name, marks=[] if table in QUICK else [pytest.mark.slow])
        for table in TABLES
    ],
)
def test_spark_delta_rs_and_duckdb_read_the_same_rows(
    spark: SparkSession, built_lake: Path, contract: Contract
) -> None:
    names = [c.name for c in contract.columns if c.type != "variant"]
    table = DeltaTable(Lake(built_lake).path_of(contract))
    by_spark = read(spark, Lake(built_lake), contract).select(*names).toArrow()
    by_delta_rs = table.to_pyarrow_dataset().to_table(columns=names)
    assert checksum(by_delta_rs) == checksum(by_spark)
    if table.file_uris():  # DuckDB reads no empty list of files
        assert checksum(_by_duckdb(table, names)) == checksum(by_spark)
    else:
        assert by_spark.num_rows == 0
    assert by_spark.num_rows or contract is DAMAGE, "nothing was compared"


@pytest.mark.parametrize("contract", TABLES, ids=lambda contract: contract.name)
def test_tables_ask_no_feature_of_their_readers_that_outside_readers_lack(
    built_lake: Path, contract: Contract
) -> None:
    table = DeltaTable(Lake(built_lake).path_of(contract))
    protocol, properties = table.protocol(), table.metadata().configuration
    if contract.name in WITH_VARIANT:
        assert set(protocol.reader_features or ()) == {"variantType"}
    else:
        assert (protocol.min_reader_version, protocol.reader_features) == (1, None)
    assert properties.get("delta.columnMapping.mode", "none") == "none"
    unwanted = ("delta.enableTypeWidening", "delta.enableDeletionVectors")
    assert [name for name in unwanted if properties.get(name, "false") != "false"] == []
    assert properties.get("delta.checkpointPolicy", "classic") == "classic"


def _by_duckdb(table: DeltaTable, names: list[str]) -> pa.Table:
    """Each file's rows once: a table without partitions or deletion vectors is its files."""
    columns = ", ".join(f'"{name}"' for name in names)
    query = f"SELECT {columns} FROM read_parquet($files)"
    return duckdb.sql(query, params={"files": table.file_uris()}).to_arrow_table()

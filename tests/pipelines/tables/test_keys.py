"""The names of key columns that code without Spark uses are those of the contracts."""

from __future__ import annotations

from pipelines.tables import bronze, keys


def test_the_columns_of_a_key_are_those_that_the_key_names() -> None:
    told = {
        keys.REPLICA_KEYS: bronze.REPLICA,
        keys.BATCH_KEYS: bronze.BATCH_KEY,
        keys.SNAPSHOT_KEYS: bronze.SNAPSHOT_KEY,
    }
    for names, columns in told.items():
        assert names == tuple(column.name for column in columns)

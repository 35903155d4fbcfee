"""The names of key columns that code without Spark uses are those of the contracts."""

from __future__ import annotations

from pipelines.tables import bronze, keys


def test_the_keys_are_those_of_the_contracts() -> None:
    assert bronze.REPLICA_KEYS == keys.REPLICA_KEYS
    assert bronze.SNAPSHOT_KEYS == keys.SNAPSHOT_KEYS
    assert bronze.BATCH_KEYS == keys.BATCH_KEYS
    assert bronze.FINDING_KEYS == keys.FINDING_KEYS

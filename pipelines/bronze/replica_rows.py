"""Conditions for the rows of one replica, by which Delta leaves files out."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines import delta
from pipelines.tables.bronze import REPLICA_KEYS
from replica.model.keys import ReplicaId


def of_replica(replica: ReplicaId) -> Column:
    """The condition for Spark."""
    return F.expr(sql_of_replica(replica, delta.spark_text))


def sql_of_replica(replica: ReplicaId, text: Callable[[str], str] = delta.text) -> str:
    """The condition as SQL. text: makes a literal in the SQL of the engine; by default that of
    delta-rs."""
    values = (text(replica.cluster_id), str(replica.node_id), text(replica.directory_id))
    return " AND ".join(f"{name} = {v}" for name, v in zip(REPLICA_KEYS, values, strict=True))

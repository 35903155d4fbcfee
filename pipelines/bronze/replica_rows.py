"""Conditions for the rows of one replica, by which Delta leaves files out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines import delta
from pipelines.catalog.statements import literal
from replica.model.keys import ReplicaId


def of_replica(replica: ReplicaId) -> Column:
    """The condition for Spark."""
    return F.expr(sql_of_replica(replica, literal))


def sql_of_replica(replica: ReplicaId, text: Callable[[str], str] = delta.text) -> str:
    """The condition as SQL. text: writes a text as a literal of the engine's SQL. By default the
    engine is delta-rs."""
    return " AND ".join(
        f"{name} = {text(value) if isinstance(value, str) else value}"
        for name, value in asdict(replica).items()
    )

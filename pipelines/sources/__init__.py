"""Spark Python Data Sources over Kafka's files: kraft_log, kraft_snapshot, kraft_replica and
kraft_captures.

    from pipelines.sources import register

    register(spark)
    spark.read.format("kraft_log").load("/var/lib/kafka/__cluster_metadata-0")

`kraftlake.register` is the same function.

- The formats: `kraft_log` (with kraft_snapshot), `kraft_replica`, `kraft_captures`; `streams` reads
  the first two as streams.
- What they share: `files` (what lies below a path), `marks` (whether a log has changed), `owners`
  (whose files they are), `ranges` and `rows` (a file's records), `replica_rows`, `failures`.
"""

from __future__ import annotations

import secrets

from pyspark.sql import SparkSession

from pipelines.sources.kraft_captures import KraftCapturesDataSource
from pipelines.sources.kraft_log import KraftLogDataSource, KraftSnapshotDataSource
from pipelines.sources.kraft_replica import KraftReplicaDataSource

_KEY = secrets.token_bytes(32)


def register(spark: SparkSession) -> None:
    """Makes the sources known to a session. Another call changes nothing.

    Afterwards equal secrets have equal fingerprints in everything that the sources read, unless
    options say otherwise: the key of fingerprints is made once for this process.
    """
    for source in (KraftLogDataSource, KraftSnapshotDataSource):
        spark.dataSource.register(_keyed(source))
    spark.dataSource.register(KraftReplicaDataSource)
    spark.dataSource.register(KraftCapturesDataSource)


def _keyed(source: type[KraftLogDataSource]) -> type[KraftLogDataSource]:
    class Keyed(source):  # type: ignore[valid-type,misc] # a local class is pickled with its key
        key = _KEY

    return Keyed

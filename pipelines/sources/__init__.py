"""Spark Python Data Sources over Kafka's files: kraft_log and kraft_snapshot.

from pipelines.sources import register
register(spark)
spark.read.format("kraft_log").load("/var/lib/kafka/__cluster_metadata-0")
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from pipelines.sources.kraft_log import KraftLogDataSource, KraftSnapshotDataSource


def register(spark: SparkSession) -> None:
    """Make both sources known to a session. Another call changes nothing."""
    spark.dataSource.register(KraftLogDataSource)
    spark.dataSource.register(KraftSnapshotDataSource)

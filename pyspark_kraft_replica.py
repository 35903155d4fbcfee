"""By this module Spark finds the format kraft_replica without `kraftlake.register`: it imports what is
called pyspark_* on its path, and registers each DefaultSource."""

from __future__ import annotations

from pipelines.sources.kraft_replica import KraftReplicaDataSource as DefaultSource

__all__ = ["DefaultSource"]

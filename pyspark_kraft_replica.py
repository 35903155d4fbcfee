"""By this module Spark finds the format kraft_replica without `kraftlake.register`. Spark imports
each module pyspark_* on its path, and registers the DefaultSource of each."""

from __future__ import annotations

from pipelines.sources.kraft_replica import KraftReplicaDataSource as DefaultSource

__all__ = ["DefaultSource"]

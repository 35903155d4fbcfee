"""By this module Spark finds the format kraft_log without `kraftlake.register`: it imports what is
called pyspark_* on its path, and registers each DefaultSource."""

from __future__ import annotations

from pipelines.sources.kraft_log import KraftLogDataSource as DefaultSource

__all__ = ["DefaultSource"]

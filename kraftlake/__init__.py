"""kraftlake for PySpark: Kafka's metadata logs as DataFrames, and what they tell.

    import kraftlake

    kraftlake.register(spark)
    logs = spark.read.format("kraft_log").load("captures/")
    kraftlake.divergence_points(logs).show()

`register` makes the formats kraft_log, kraft_snapshot, kraft_replica and kraft_captures known to a
session, and `leader_epochs`, `leader_epoch_history`, `divergence_points` and `snapshot_validity`
take DataFrames of these formats and give DataFrames. `spark_session` starts Spark with the jars and
settings of Delta. docs/how-to/pyspark.md shows all of it.

`PackageTable` is what a package's entry point `kraftlake.tables` names: a table that the package
adds to lakes. docs/how-to/your-own-table.md has an example.
"""

from __future__ import annotations

from pipelines.frames import (
    divergence_points,
    leader_epoch_history,
    leader_epochs,
    snapshot_validity,
)
from pipelines.own_tables.packages import PackageTable
from pipelines.sources import register
from pipelines.spark.session import spark_session

__all__ = [
    "PackageTable",
    "divergence_points",
    "leader_epoch_history",
    "leader_epochs",
    "register",
    "snapshot_validity",
    "spark_session",
]

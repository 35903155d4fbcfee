"""Functions for notebooks, which take DataFrames and return DataFrames, without a lake.

    logs = spark.read.format("kraft_log").load("captures/")
    snapshots = spark.read.format("kraft_snapshot").load("captures/")
    divergence_points(logs).show()
    snapshot_validity(snapshots, logs).show()

`tables` has the four functions. `cluster` makes bronze's rows of one cluster from the rows of the
sources. The functions of silver and gold make their rows from bronze's rows.
"""

from __future__ import annotations

from pipelines.frames.tables import (
    divergence_points as divergence_points,
)
from pipelines.frames.tables import (
    leader_epoch_history as leader_epoch_history,
)
from pipelines.frames.tables import (
    leader_epochs as leader_epochs,
)
from pipelines.frames.tables import (
    snapshot_validity as snapshot_validity,
)

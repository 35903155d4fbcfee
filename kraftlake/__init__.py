"""kraftlake for programs and notebooks: Kafka's metadata logs as values, tables and DataFrames.

    import kraftlake

    for row in kraftlake.check("node1/", "node2/", "node3/"):
        print(row)

- `directories`: directories of nodes, without a lake. `check`, `state`, `timeline` and
  `what_happened` give what the commands of these names print with --json; `decode` gives the
  records of a file.
- `lakes`: `open_lake` gives a lake, its tables as Arrow and as DataFrames.
- For PySpark: `register` makes the formats kraft_log, kraft_snapshot, kraft_replica and
  kraft_captures known to a session. `leader_epochs`, `leader_epoch_history`, `divergence_points`
  and `snapshot_validity` take DataFrames of these formats and give DataFrames. `spark_session`
  starts Spark with the jars and settings of Delta. docs/how-to/pyspark.md shows all of it.
- `PackageTable` is what a package's entry point `kraftlake.tables` names: a table that the package
  adds to lakes. docs/how-to/your-own-table.md has an example.
- `simulate` runs a quorum under random faults, and `raft` is the consensus core.
- `KraftlakeError` is the base of all errors that a user can mend.

What a name needs is imported when the name is asked for: the core is enough for directories.
docs/reference/python.md shows each name.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kraftlake.directories import check, decode, state, timeline, what_happened
    from kraftlake.lakes import open_lake
    from pipelines.frames import (
        divergence_points,
        leader_epoch_history,
        leader_epochs,
        snapshot_validity,
    )
    from pipelines.own_tables.packages import PackageTable
    from pipelines.sources import register
    from pipelines.spark.session import spark_session
    from replica import raft
    from replica.errors import KraftlakeError
    from replica.simulate.faulty_run import run as simulate

__all__ = [
    "KraftlakeError",
    "PackageTable",
    "check",
    "decode",
    "divergence_points",
    "leader_epoch_history",
    "leader_epochs",
    "open_lake",
    "raft",
    "register",
    "simulate",
    "snapshot_validity",
    "spark_session",
    "state",
    "timeline",
    "what_happened",
]

_MODULES = {
    "kraftlake.directories": ("check", "decode", "state", "timeline", "what_happened"),
    "kraftlake.lakes": ("open_lake",),
    "pipelines.frames": (
        "divergence_points", "leader_epoch_history", "leader_epochs", "snapshot_validity",
    ),
    "pipelines.own_tables.packages": ("PackageTable",),
    "pipelines.sources": ("register",),
    "pipelines.spark.session": ("spark_session",),
    "replica.errors": ("KraftlakeError",),
}  # fmt: skip
"""By the name of a module, the names that it offers here."""
_RENAMED = {"raft": ("replica.raft", None), "simulate": ("replica.simulate.faulty_run", "run")}
"""By the name here: a module, and the name in it; None for the module itself."""
_PLACES: dict[str, tuple[str, str | None]] = {
    **_RENAMED,
    **{name: (module, name) for module, names in _MODULES.items() for name in names},
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _PLACES[name]
    found = import_module(module)
    value = found if attribute is None else getattr(found, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__]

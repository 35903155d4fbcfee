"""`kraftlake mcp`: checks the lake or the directories, and serves them until the client
disconnects."""

from __future__ import annotations

from jobs.cli.commands.options import lake_unless
from jobs.cli.commands.sharing import McpOptions
from jobs.cli.memory_bound import bound_of
from jobs.cli.option_values import check_there
from pipelines.lake import Lake
from replica.errors import UsageError


def run(options: McpOptions) -> int:
    """Serves on standard input and output. Returns 0 when the client has closed them.

    Raises UsageError where neither a lake nor paths are given, where a path doesn't exist, or where
    the lake keeps its secrets.
    """
    lake, paths = lake_unless(options.paths, options.lake, "mcp"), options.paths or ()
    bound = bound_of(options.memory)
    from jobs.cli.sharing.mcp_limits import CallLimits
    from jobs.cli.sharing.mcp_server import Served, server_of

    if lake is not None:
        _check(lake)
    check_there(paths)
    served = Served(
        lake=None if lake is None else str(lake),
        paths=tuple(paths),
        limits=CallLimits(options.rows, seconds=options.seconds, memory=bound),
    )
    server_of(served).run("stdio")
    return 0


def _check(lake: Lake) -> None:
    from pipelines.capture.known import seal_of
    from pipelines.lake.redaction import lake_key
    from pipelines.lake.seal import OPEN
    from pipelines.lake.tables import tables_of

    tables_of(lake)
    if seal_of(lake, lake_key(lake), keeps_secrets=False) == OPEN:
        raise UsageError(
            f"--lake {lake}: was made with --keep-secrets, and a program that asks must not see "
            "secrets: make a lake of the same captures without --keep-secrets"
        )

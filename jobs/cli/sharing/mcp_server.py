"""`kraftlake mcp`: a lake or directories for programs that speak the Model Context Protocol.

A client starts this process and talks to it on standard input and output. Every tool only reads: it
runs one of kraftlake's own commands with --json on what the server was started with, within limits.
No argument of a tool can name another place or show what is redacted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from jobs.cli.sharing.mcp_limits import CallLimits, output_of
from pipelines.sql_text import runs_to_explain

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_LAKE_QUESTIONS = (
    "Tables are named bronze.x, silver.x and gold.x; the tool `tables` lists them. The dialect is "
    "DataFusion's, close to PostgreSQL's; offset is a reserved word: write \"offset\"."
)
_ABOUT = (
    "Reads the metadata log of Apache Kafka clusters (KRaft): what happened, who led when, what "
    "changed, what is wrong, and whether a planned change is safe. Offsets are those of the "
    "metadata log, times UTC in ms since the epoch. Secrets are replaced by fingerprints that "
    "begin with ***. An answer with a value of `cut` is not complete: ask for less."
)

_FINDINGS = {
    "info": "SELECT * FROM gold.findings",
    "warning": "SELECT * FROM gold.findings WHERE severity IN ('warning', 'error')",
    "error": "SELECT * FROM gold.findings WHERE severity = 'error'",
}
"""By severity, the query for the findings in a lake of that severity or worse."""

Severity = Literal["info", "warning", "error"]
Cluster = Annotated[str | None, Field(description="Id of the cluster, where there are several")]
Moment = Annotated[str | None, Field(description="A time: ISO 8601 in UTC, or ms since the epoch")]
Offset = Annotated[int | None, Field(ge=0, description="An offset of the metadata log")]


@dataclass(frozen=True, slots=True)
class Served:
    """What the server serves: a lake, by its place, or directories, by their paths."""

    lake: str | None = None
    paths: tuple[str, ...] = ()
    limits: CallLimits = field(default_factory=CallLimits)

    async def ask(
        self, command: str, fine: Collection[int] = (0,), **options: object
    ) -> dict[str, Any]:
        """The rows that a command prints about the served lake or directories, in the form of
        rows_of. fine: as in output_of. options: by name, with _ for -; None and False leave an
        option out. Raises ToolError with the command's error."""
        words = [command, "--json", *_words(options)]
        if self.lake is not None:
            return await self.rows_of([*words, f"--lake={self.lake}"], fine)
        return await self.rows_of([*words, "--", *self.paths], fine)

    async def ask_lake(self, *words: str) -> dict[str, Any]:
        """The rows that `sql` prints, in the form of rows_of. Raises ToolError where directories
        are served, and with the command's error."""
        if self.lake is None:
            raise ToolError("this server was started with directories; SQL needs --lake")
        return await self.rows_of(["sql", "--json", f"--lake={self.lake}", *words])

    async def rows_of(self, words: Sequence[str], fine: Collection[int] = (0,)) -> dict[str, Any]:
        """The result of a tool: `rows`, which the command of these words prints, and `cut`, the
        limit that was reached or "". fine: as in output_of. Raises ToolError with the command's
        error."""
        told = await output_of(words, self.limits, fine)
        if told.error:
            raise ToolError(told.error)
        return {"rows": list(told.rows), "cut": told.why_cut}


def _words(options: Mapping[str, object]) -> list[str]:
    """The options as words. An option and its value are one word, so that no value can be taken for
    an option."""
    words: list[str] = []
    for name, value in options.items():
        word = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(word)
        elif value is not None and value is not False:
            words.append(f"{word}={value}")
    return words


def server_of(served: Served) -> MCPServer:
    """The server with its tools."""
    server = MCPServer("kraftlake", instructions=_ABOUT, log_level="ERROR")
    _add_what_happened(server, served)
    _add_what_is_wrong(server, served)
    _add_what_is(server, served)
    _add_what_to_do(server, served)
    if served.lake is not None:
        _add_sql(server, served)
    return server


def _add_what_happened(server: MCPServer, served: Served) -> None:
    @server.tool(annotations=_READS)
    async def what_happened() -> dict[str, Any]:
        """Begin here: the verdict on each cluster, with what is wrong, since when, and the next
        steps. Of directories also the few events that led to it."""
        if served.lake is None:
            return await served.ask("what-happened", fine=(0, 1))
        return await served.ask_lake("--question", "verdicts")

    if served.lake is None:

        @server.tool(annotations=_READS)
        async def timeline(
            event: Annotated[
                str | None, Field(description="Only such events: election, 'broker_*', ...")
            ] = None,
            from_time: Moment = None,
            to_time: Moment = None,
            cluster: Cluster = None,
        ) -> dict[str, Any]:
            """What happened by clock time: elections with their probable cause, voters, brokers,
            fencing, snapshots, divergences and truncations."""
            return await served.ask(
                "timeline", event=event, from_time=from_time, to_time=to_time, cluster=cluster
            )

    @server.tool(annotations=_READS)
    async def who_led() -> dict[str, Any]:
        """Who led the metadata quorum when: leader, epoch and start offset of each election."""
        if served.lake is None:
            return await served.ask("timeline", event="election")
        return await served.ask_lake("--question", "leader-epochs")

    @server.tool(annotations=_READS)
    async def history(
        topic: str | None = None,
        broker: Annotated[int | None, Field(ge=0)] = None,
        principal: Annotated[str | None, Field(description="Such as User:alice")] = None,
        config: Annotated[str | None, Field(description="Name of a config")] = None,
        from_time: Moment = None,
        to_time: Moment = None,
        cluster: Cluster = None,
    ) -> dict[str, Any]:
        """The changes of a topic, broker, principal or config, oldest first, with old and new
        values. Name at least one of them."""
        return await served.ask(
            "history",
            topic=topic,
            broker=broker,
            principal=principal,
            config=config,
            from_time=from_time,
            to_time=to_time,
            cluster=cluster,
        )


def _add_what_is_wrong(server: MCPServer, served: Served) -> None:
    @server.tool(annotations=_READS)
    async def findings(
        severity: Annotated[Severity, Field(description="At least of this severity")] = "warning",
    ) -> dict[str, Any]:
        """What is wrong with files, logs, snapshots and the cluster: rule, place and message. The
        tool `explain` says what a rule means."""
        if served.lake is None:
            return await served.ask("check", fine=(0, 1), family="all", severity=severity)
        return await served.ask_lake("--", _FINDINGS[severity])

    @server.tool(annotations=_READS)
    async def explain(rule: str) -> dict[str, Any]:
        """What a finding means, what Kafka does then, and what to do next."""
        return await served.rows_of(["explain", "--json", "--", rule])

    @server.tool(annotations=_READS)
    async def runbook(name: str) -> dict[str, Any]:
        """A runbook, step by step. A verdict, and the answer about a change, have the name of their
        runbook."""
        return await served.rows_of(["explain", "--json", f"--runbook={name}"])


def _add_what_is(server: MCPServer, served: Served) -> None:
    @server.tool(annotations=_READS)
    async def state(
        at_offset: Offset = None,
        at_time: Moment = None,
        entity: Annotated[
            str | None, Field(description="topic, partition, config, broker, acl, voters, ...")
        ] = None,
        topic: str | None = None,
        name: Annotated[str | None, Field(description="Such as orders-0; * may be used")] = None,
        cluster: Cluster = None,
    ) -> dict[str, Any]:
        """The cluster's metadata as it was at an offset or a time. Without both it is the newest
        metadata."""
        return await served.ask(
            "state",
            at_offset=at_offset,
            at_time=at_time,
            cluster=cluster,
            entity=entity,
            topic=topic,
            name=name,
        )

    @server.tool(annotations=_READS)
    async def exposure(cluster: Cluster = None) -> dict[str, Any]:
        """What the failure of each rack, broker, pair of brokers and voter would take away now."""
        return await served.ask("state", exposure=True, cluster=cluster)

    @server.tool(annotations=_READS)
    async def sizes(cluster: Cluster = None) -> dict[str, Any]:
        """How many topics, partitions and so on there are, and what fills the log."""
        return await served.ask("state", sizes=True, cluster=cluster)

    @server.tool(annotations=_READS)
    async def effective_configs(
        topic: str | None = None,
        broker: Annotated[int | None, Field(ge=0)] = None,
        group: str | None = None,
        cluster: Cluster = None,
    ) -> dict[str, Any]:
        """The value of each config that is in force for a topic, a broker or a group, what set it,
        since when, and which values it hides. Name one of the three."""
        return await served.ask(
            "state", effective=True, topic=topic, broker=broker, group=group, cluster=cluster
        )


def _add_what_to_do(server: MCPServer, served: Served) -> None:
    @server.tool(annotations=_READS)
    async def is_it_safe(
        stop_brokers: Annotated[
            list[int] | None, Field(description="Ids of brokers that stop at the same time")
        ] = None,
        stop_rack: str | None = None,
        remove_voter: Annotated[int | None, Field(ge=0)] = None,
        add_voter: Annotated[int | None, Field(ge=0)] = None,
        decommission: Annotated[
            list[int] | None, Field(description="Ids of brokers that leave for good")
        ] = None,
        roll: Annotated[bool, Field(description="Restart all nodes, one at a time")] = False,
        upgrade: Annotated[
            str | None, Field(description="Raise metadata.version to this release, such as 4.4")
        ] = None,
        downgrade: Annotated[
            str | None, Field(description="Lower metadata.version to this release")
        ] = None,
        downgrade_binaries: Annotated[
            str | None, Field(description="Run this older release on the directories as they are")
        ] = None,
        to_dynamic: Annotated[bool, Field(description="To kraft.version 1")] = False,
        finish_migration: Annotated[
            bool, Field(description="End a migration from ZooKeeper")
        ] = False,
        cluster: Cluster = None,
    ) -> dict[str, Any]:
        """The verdict on the cluster, then whether planned changes are safe, unsafe or unknown,
        with the reasons, and `first`: what to do before. Where is_conditional is true, the answer
        holds only if somebody has checked what `needs` names. Nothing is changed."""
        return await served.ask(
            "plan",
            fine=(0, 1, 3, 4),
            stop_broker=_listed(stop_brokers),
            stop_rack=stop_rack,
            remove_voter=remove_voter,
            add_voter=add_voter,
            decommission=_listed(decommission),
            roll=roll,
            upgrade=upgrade,
            downgrade=downgrade,
            downgrade_binaries=downgrade_binaries,
            to_dynamic=to_dynamic,
            finish_migration=finish_migration,
            cluster=cluster,
        )

    if served.lake is None:

        @server.tool(annotations=_READS)
        async def recovery_plan() -> dict[str, Any]:
            """With which replica a broken quorum should go on, what that costs, and the steps.
            Nothing is changed."""
            return await served.ask("recover", fine=(0, 1), plan=True)


def _listed(ids: Sequence[int] | None) -> str | None:
    return None if ids is None else ",".join(map(str, ids))


def _add_sql(server: MCPServer, served: Served) -> None:
    @server.tool(annotations=_READS)
    async def tables() -> dict[str, Any]:
        """The tables and views of the lake, with their columns and what these mean."""
        return await served.ask_lake("--tables")

    @server.tool(annotations=_READS, description=f"The answer to one SELECT. {_LAKE_QUESTIONS}")
    async def sql(query: Annotated[str, Field(min_length=2)]) -> dict[str, Any]:
        if runs_to_explain(query):
            raise ToolError("ANALYZE runs what it explains: ask for EXPLAIN alone, or the query")
        return await served.ask_lake("--", query)

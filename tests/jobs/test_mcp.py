"""`kraftlake mcp`, asked by the client of the protocol's own Python SDK."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from jobs.cli.sharing.mcp_limits import CallLimits, output_of
from jobs.cli.sharing.mcp_server import Served, server_of
from replica.doctor.preflight.answer import ChangeSafety
from tests.jobs.conftest import Kraftlake

Talk = Callable[[Client], Awaitable[Any]]
CLUSTER = "Lr3UIdBxT-GFPYE5uprmrg"


def asked(talk: Talk, served: Served) -> Any:
    """What a conversation comes to with a server in this process."""

    async def run() -> Any:
        async with Client(server_of(served)) as client:
            return await talk(client)

    return anyio.run(run)


def asked_as_a_process(talk: Talk, *arguments: str | Path) -> Any:
    """The same with a server that the client starts, as its users do."""

    async def run() -> Any:
        started = StdioServerParameters(
            command=sys.executable, args=["-m", "jobs.cli", "mcp", *map(str, arguments)]
        )
        async with Client(stdio_client(started)) as client:
            return await talk(client)

    return anyio.run(run)


async def rows(client: Client, tool: str, **arguments: object) -> list[dict[str, Any]]:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    assert answer.structured_content["cut"] == ""
    found: list[dict[str, Any]] = answer.structured_content["rows"]
    return found


async def refused(client: Client, tool: str, **arguments: object) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return " ".join(block.text for block in answer.content if block.type == "text")


def test_the_tools_of_a_lake_answer_leaders_changes_and_any_select(built_lake: Path) -> None:
    async def talk(client: Client) -> None:
        led = await rows(client, "who_led")
        assert [(row["epoch"], row["leader"]) for row in led if row["cluster"] == "Lr3U"][:3] == [
            (1, 2),
            (2, 3),
            (3, 1),
        ]
        counted = await rows(client, "sql", query="SELECT count(*) AS n FROM gold.findings")
        assert counted[0]["n"] > 0
        found = await rows(client, "findings", severity="warning")
        assert "log-divergence" in {row["rule"] for row in found}
        moved = await rows(
            client, "state", cluster=CLUSTER, at_offset=1523, entity="partition", name="t-7-0-0"
        )
        assert json.loads(moved[0]["value"])["leader"] == 11

    asked(talk, Served(lake=str(built_lake)))


def test_directories_answer_without_a_lake(data: Path) -> None:
    split = data / "kafka-4.1.1-dynamic" / "split"
    nodes = tuple(str(split / node) for node in ("1", "2", "3"))

    async def talk(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"timeline", "findings", "is_it_safe"} <= names
        assert "sql" not in names
        elections = await rows(client, "timeline", event="election")
        assert elections
        assert elections[0]["cause"]
        verdict, planned = await rows(client, "is_it_safe", remove_voter=3)
        assert verdict["level"] in ("outage", "attention", "incomplete", "healthy")
        assert planned["answer"] in set(ChangeSafety)
        told = await rows(client, "explain", rule="log-divergence")
        assert told[0]["next_step"]

    asked(talk, Served(paths=nodes))


def test_directories_tell_the_incident_the_way_out_and_the_configs_in_force(data: Path) -> None:
    split = data / "kafka-4.1.1-dynamic" / "split"
    nodes = tuple(str(split / node) for node in ("1", "2", "3"))

    async def talk(client: Client) -> None:
        told = await rows(client, "what_happened")
        assert [row["kind"] for row in told][:2] == ["verdict", "event"]
        runbook = await rows(client, "runbook", name=told[0]["runbook"])
        assert runbook[0]["text"].startswith("# ")
        ranked = await rows(client, "recovery_plan")
        assert {"replica", "verdict"} <= {row["kind"] for row in ranked}
        configs = await rows(client, "effective_configs", broker=11)
        assert {row["config"] for row in configs} == {"min.insync.replicas"}
        _, roll = await rows(client, "is_it_safe", roll=True)
        assert "node 11" in {reason["subject"] for reason in roll["reasons"]}
        _, leaves = await rows(client, "is_it_safe", decommission=[11])
        assert leaves["answer"] in set(ChangeSafety)
        _, older = await rows(client, "is_it_safe", downgrade_binaries="3.9")
        assert older["reasons"]
        assert "no runbook of that name" in await refused(client, "runbook", name="../check")

    asked(talk, Served(paths=nodes))


def test_a_change_that_is_safe_if_its_needs_hold_is_an_answer(data: Path) -> None:
    final = data / "kafka-4.1.1-dynamic" / "final"

    async def talk(client: Client) -> None:
        _, planned = await rows(client, "is_it_safe", remove_voter=3)
        assert planned["is_conditional"]
        assert planned["needs"]

    asked(talk, Served(paths=tuple(str(final / node) for node in ("1", "2", "3"))))


def test_a_lake_tells_the_verdict_on_each_cluster(built_lake: Path) -> None:
    async def talk(client: Client) -> None:
        told = await rows(client, "what_happened")
        assert CLUSTER in {row["cluster_id"] for row in told}
        assert all(row["headline"] for row in told)

    asked(talk, Served(lake=str(built_lake)))


def test_every_tool_says_that_it_only_reads() -> None:
    async def talk(client: Client) -> None:
        for tool in (await client.list_tools()).tools:
            assert tool.annotations is not None, tool.name
            assert tool.annotations.read_only_hint is True, tool.name
            assert tool.description, tool.name

    asked(talk, Served(lake="lake"))
    asked(talk, Served(paths=("node",)))


def test_no_argument_writes_names_another_place_or_shows_secrets(
    built_lake: Path, tmp_path: Path
) -> None:
    async def talk(client: Client) -> None:
        assert "sql only reads" in await refused(client, "sql", query="DROP TABLE gold.findings")
        assert "sql only reads" in await refused(
            client, "sql", query=f"COPY (SELECT 1) TO '{tmp_path}/x.csv'"
        )
        hidden = f"EXPLAIN ANALYZE FORMAT indent COPY (SELECT 1) TO '{tmp_path}/x' STORED AS CSV"
        assert "ANALYZE runs" in await refused(client, "sql", query=hidden)
        assert "ANALYZE runs" in await refused(client, "sql", query="explain analyze select 1")
        await refused(client, "sql", query="--file=/etc/passwd")
        await refused(client, "sql", query="SELECT * FROM '/etc/passwd'")
        no_option = {"cluster": CLUSTER, "topic": "--keep-secrets"}
        assert "no topic of that name" in await refused(client, "history", **no_option)
        await refused(client, "explain", rule="--json")

    asked(talk, Served(lake=str(built_lake)))
    assert list(tmp_path.iterdir()) == []


def test_an_answer_is_cut_at_the_rows_that_were_allowed_and_says_so(built_lake: Path) -> None:
    async def talk(client: Client) -> None:
        answer = await client.call_tool("sql", {"query": "SELECT * FROM bronze.log_records"})
        assert answer.structured_content is not None
        assert len(answer.structured_content["rows"]) == 7
        assert answer.structured_content["cut"] == "7 rows"

    asked_as_a_process(talk, "--lake", built_lake, "--rows", "7")


def test_an_answer_is_cut_at_its_bytes(built_lake: Path) -> None:
    words = ("sql", "--json", f"--lake={built_lake}", "--", "SELECT * FROM bronze.log_records")
    told = anyio.run(partial(output_of, words, CallLimits(size_bytes=20_000)))
    assert told.why_cut == "20000 bytes"
    assert 0 < len(told.rows) < 200


def test_a_question_that_takes_too_long_is_ended(built_lake: Path) -> None:
    endless = "SELECT sum(a.crc * b.crc * c.crc) FROM " + ", ".join(
        f"bronze.log_records {name}" for name in ("a", "b", "c")
    )
    words = ("sql", "--json", f"--lake={built_lake}", "--", endless)
    told = anyio.run(partial(output_of, words, CallLimits(seconds=2)))
    assert told.error == "no answer within 2 s: ask for less"


def test_a_question_that_takes_too_much_memory_is_ended(built_lake: Path) -> None:
    large = (
        "SELECT max(m) FROM (SELECT value % 90000000 AS v, max(value::varchar || "
        "repeat('x', 90)) AS m FROM generate_series(1, 90000000) AS s(value) GROUP BY 1)"
    )

    async def talk(client: Client) -> None:
        assert "memory" in (await refused(client, "sql", query=large)).lower()
        assert await rows(client, "sql", query="SELECT 1 AS one") == [{"one": 1}]

    limits = CallLimits(memory=300 << 20)
    asked(talk, Served(lake=str(built_lake), limits=limits))


def test_a_lake_that_keeps_its_secrets_is_refused(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    node = data / "kafka-4.1.1-dynamic" / "split" / "1"
    lake = tmp_path / "lake"
    assert kraftlake("ingest", "--lake", lake, "--keep-secrets", node).code == 0
    assert "was made with --keep-secrets" in kraftlake("mcp", "--lake", lake).error


def test_a_missing_place_is_refused_before_the_server_starts(
    kraftlake: Kraftlake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KRAFTLAKE_LAKE", raising=False)
    assert "no such file or directory" in kraftlake("mcp", tmp_path / "gone").error
    assert "no such folder" in kraftlake("mcp", "--lake", tmp_path / "gone").error
    assert "name directories, or a lake" in kraftlake("mcp").error


def test_a_folder_called_jobs_where_the_server_starts_is_not_run(
    built_lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(tmp_path / "jobs", ignore_errors=True)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "cli.py").write_text("raise SystemExit(77)\n")
    monkeypatch.chdir(tmp_path)
    words = ("sql", "--json", f"--lake={built_lake}", "--", "SELECT 1 AS one")
    told = anyio.run(partial(output_of, words, CallLimits()))
    assert told.rows == ({"one": 1},)

"""`kraftlake publish`: options, files and the webhook; tests/interop has Kafka."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.feeds import kafka_topics
from pipelines.feeds.values import FEEDS
from tests.interop.kafka_node import free_ports
from tests.jobs.conftest import Kraftlake
from tests.kraftlake_process import REPOSITORY, command_line
from tests.pipelines.feeds.feed_table import CHANGES, FINDINGS, FeedTable, change, finding
from tests.pipelines.feeds.receiver import Receiver


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """With a change, and a finding that is an error."""
    lake = tmp_path / "lake"
    FeedTable(lake, CHANGES).replace([change(1)])
    FeedTable(lake, FINDINGS).replace([finding("crc"), finding("old", severity="info")])
    return lake


@pytest.mark.parametrize("table", [CHANGES, FINDINGS])
def test_the_schema_is_the_one_in_conf(kraftlake: Kraftlake, table: str) -> None:
    ended = kraftlake("publish", "--schema", "--table", table)
    shipped = REPOSITORY / "conf" / "feeds" / f"{table}.schema.json"
    assert (ended.code, ended.out) == (0, shipped.read_text())


def test_files_get_what_is_there_and_then_what_changes(
    kraftlake: Kraftlake, lake: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    first = kraftlake("publish", "--lake", lake, "--to", out, "--json")
    assert first.rows == [{"table": CHANGES, "version": 1, "is_snapshot": True, "changes": 1}]
    assert first.complaints == [
        f"publish: {CHANGES} version 1, the whole table: 1",
        f"publish: 1 change of {CHANGES} published",
    ]
    again = kraftlake("publish", "--lake", lake, "--to", out)
    assert (again.code, again.out) == (0, "")
    assert again.complaints == [f"publish: 0 changes of {CHANGES} published"]
    (path,) = out.glob("*.jsonl")
    assert [json.loads(line)["op"] for line in path.read_text().splitlines()] == ["read"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_follow_ends_in_order_when_it_is_told_to(lake: Path, tmp_path: Path, number: int) -> None:
    command = ["publish", "--lake", lake, "--to", tmp_path / "out", "--follow", "--interval", "0.1"]
    with subprocess.Popen(
        command_line(*command),
        cwd=REPOSITORY,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == f"publish: {CHANGES} version 1, the whole table: 1\n"
        table = FeedTable(lake, CHANGES)
        assert table.replace([change(1), change(2)]) == 2
        assert process.stderr.readline() == f"publish: {CHANGES} version 2: 1\n"
        process.send_signal(number)
        assert process.stderr.read() == f"publish: 2 changes of {CHANGES} published\n"
        assert process.wait(60) == 0


_WAITING = """
import os
import pyarrow as pa
from jobs.publish import _wait
from tests.bench.memory import resident

def read(times):
    table = pa.table({"a": pa.array(range(300_000)).cast(pa.string())})
    for _ in range(times):
        table = pa.concat_tables([table, table]).combine_chunks().sort_by([("a", "ascending")])

read(1)
_wait(0)
before, _ = resident(os.getpid())
read(3)
_wait(0)
after, _ = resident(os.getpid())
print((after - before) // 2**20)
"""
"""A process that reads a table, waits for the next version, and prints by how many MiB it grew."""


def test_a_process_that_waits_gives_back_the_memory_of_reading() -> None:
    grown = subprocess.run(
        [sys.executable, "-c", _WAITING], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert int(grown.stdout) < 20, grown.stdout


def test_new_errors_go_to_the_webhook_and_no_secret_is_shown(
    kraftlake: Kraftlake, lake: Path, tmp_path: Path
) -> None:
    url, header = tmp_path / "url", tmp_path / "header"
    header.write_text("Authorization: Bearer T0P-SECRET\n")
    with Receiver(404, 500) as receiver:
        url.write_text(receiver.url + "\n")
        command = (
            "publish",
            "--lake",
            lake,
            "--table",
            FINDINGS,
            "--progress",
            tmp_path / "sent.json",
            "--webhook",
            f"@{url}",
            "-H",
            f"@{header}",
            "-H",
            "X-Team: kafka",
        )
        refused = kraftlake(*command)
        assert refused.code == 1
        place = f"http://127.0.0.1:{receiver.port}"
        assert refused.error == f"{place}: answered 404 to a finding: is it the right URL?"
        sent = kraftlake(*command)
        assert (sent.code, sent.out) == (0, "")
        assert sent.complaints[-1] == f"publish: 1 change of {FINDINGS} published"
        assert "SECRET" not in sent.err
        assert receiver.messages == ["crc"] * 3
        assert receiver.paths[0] == "/hooks/T0P-SECRET?token=T0P-SECRET"
        assert receiver.headers[0]["Authorization"] == "Bearer T0P-SECRET"
        assert receiver.headers[0]["X-Team"] == "kafka"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ((), "publish: name one of --topic, --to, --webhook"),
        (("--to", "x", "--topic", "y"), "publish: name one of --topic, --to, --webhook"),
        (
            ("--to", "x", "--table", "gold.x"),
            f"--table gold.x: expected one of {', '.join(FEEDS)}, or own.NAME",
        ),
        (("--to", "x", "--from", "0"), "--from 0: expected snapshot or latest"),
        (("--topic", "x"), "--topic: --bootstrap HOST:PORT is missing"),
        (("--topic", "x", "-X", "y"), "-X: expected NAME=VALUE, such as linger.ms=50"),
        (
            ("--topic", "x", "--producer-config", "/no"),
            "--producer-config /no: No such file or direct",
        ),
        (
            ("--topic", "x", "-b", "localhost:1", "-X", "acks=0"),
            "acks: kraftlake sets it itself; leave it out",
        ),
        (
            ("--topic", "x", "-b", "localhost:1", "-X", "lingr.ms=0"),
            'No such configuration property: "lingr.ms"; see --producer-config and -X',
        ),
        (
            ("--topic", "x", "-b", "localhost:1", "--progress-topic", "x"),
            "--progress-topic x: name another topic than --topic",
        ),
        (("--webhook", "http://localhost/"), "--webhook: say --table gold.findings, whose new"),
        (
            ("--webhook", "http://localhost/", "--table", FINDINGS),
            "--webhook: --progress FILE is missing, where it keeps how far it is",
        ),
        (
            ("--webhook", "SECRET", "--table", FINDINGS, "--progress", "x"),
            "--webhook: expected a URL such as https://host/path",
        ),
        (
            ("--webhook", "@/no", "--table", FINDINGS, "--progress", "x"),
            "--webhook /no: No such file or directory",
        ),
        (
            (
                "--webhook",
                "http://localhost/",
                "--table",
                FINDINGS,
                "--progress",
                "x",
                "-H",
                "S",
            ),
            "--webhook-header: expected 'NAME: VALUE', or @FILE with that in it",
        ),
    ],
)
def test_a_wrong_call_is_one_line(
    kraftlake: Kraftlake, lake: Path, options: tuple[str, ...], error: str
) -> None:
    ended = kraftlake("publish", "--lake", lake, *options)
    assert ended.code == 2
    assert ended.error.startswith(error)
    assert "SECRET" not in ended.err


def test_a_lake_is_needed(kraftlake: Kraftlake, tmp_path: Path) -> None:
    said = "publish: --lake L is missing, and KRAFTLAKE_LAKE is not set"
    assert kraftlake("publish", "--to", tmp_path).error == said


def test_a_cluster_that_does_not_answer_is_one_line(
    kraftlake: Kraftlake, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_topics, "_TIMEOUT_S", 1.0)
    nobody = f"127.0.0.1:{free_ports(1)[0]}"
    ended = kraftlake("publish", "--lake", lake, "-b", nobody, "--topic", "x")
    assert ended.code == 75
    assert ended.error.startswith(f"{nobody}: ")
    assert "Connect" in ended.error

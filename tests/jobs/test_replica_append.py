"""`kraftlake replica append` and `describe` on quorums of our own; Kafka's are in tests/interop."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from replica.model.kafka_errors import ErrorCode
from tests.interop.kafka_node import free_ports
from tests.jobs.conftest import Kraftlake
from tests.jobs.test_consume import metadata_values
from tests.replica.admin.scripted import Scripted
from tests.replica.consumer.quorum import CLUSTER_ID, TOPIC, in_thread
from tests.replica.node.running import TOPIC as SCRIPTED_TOPIC


@pytest.fixture(scope="module")
def quorum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("opaque")
    with in_thread(folder, (b"first",), voters=1, administrators="*") as bootstrap:
        yield bootstrap


@pytest.fixture(scope="module")
def metadata_quorum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("metadata")
    shape = {"voters": 1, "topic_id": None, "administrators": "*"}
    with in_thread(folder, (), **shape) as bootstrap:
        yield bootstrap


def consumed(kraftlake: Kraftlake, bootstrap: str, offset: int) -> list[dict[str, object]]:
    """The records from an offset on, to the end."""
    read = ("consume", "-b", bootstrap, "--topic", TOPIC, "--from", offset, "--until-end", "--json")
    ended = kraftlake(*map(str, read))
    assert ended.code == 0, ended.err
    return ended.rows


def test_lines_are_committed_and_told_by_offset_and_epoch(
    quorum: str, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    lines = tmp_path / "lines"
    lines.write_bytes(b"one\n\ntwo")
    ended = kraftlake("replica", "append", "-b", quorum, "--topic", TOPIC, "--json", lines)
    assert ended.code == 0, ended.err
    first = ended.rows[0]["offset"]
    assert [row["offset"] for row in ended.rows[:2]] == [first, first + 1]
    found = consumed(kraftlake, quorum, first)
    assert [row["value"] for row in found] == ["one", "", "two"]
    assert [row["epoch"] for row in found] == [row["epoch"] for row in ended.rows]


def test_append_takes_the_lines_that_consume_prints(
    quorum: str, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    record = {"key": "k", "value": {"base64": "/wA="}, "headers": [["h", None], ["g", "x"]]}
    lines = tmp_path / "records"
    lines.write_text(json.dumps(record))
    append = ("replica", "append", "-b", quorum, "--topic", TOPIC, "--records", lines)
    (text,) = kraftlake(*append).lines
    offset = int(text.removeprefix("offset ").partition(",")[0])
    (found,) = consumed(kraftlake, quorum, offset)
    assert {name: found[name] for name in record} == record
    lines.write_text(json.dumps(found))
    assert kraftlake(*append).lines[0].startswith(f"offset {offset + 1}, epoch ")


def test_a_whole_file_is_one_raw_value(quorum: str, tmp_path: Path, kraftlake: Kraftlake) -> None:
    raw = tmp_path / "raw"
    raw.write_bytes(b"a\nb\n\xff")
    append = ("replica", "append", "-b", quorum, "--topic", TOPIC, "--raw", "--json", raw)
    (row,) = kraftlake(*append).rows
    (found,) = consumed(kraftlake, quorum, row["offset"])
    assert found["value"] == {"base64": base64.b64encode(b"a\nb\n\xff").decode()}


def test_stdin_is_the_input_by_default(quorum: str, process: Kraftlake) -> None:
    ended = process("replica", "append", "-b", quorum, "--topic", TOPIC, stdin="from stdin\n")
    assert ended.code == 0, ended.err
    assert ended.lines[0].startswith("offset ")


def test_a_line_that_is_no_record_is_named_and_nothing_is_appended(
    quorum: str, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    lines = tmp_path / "records"
    lines.write_text('{"key": "k"}\n{"k": 1}\n')
    ended = kraftlake("replica", "append", "-b", quorum, "--topic", TOPIC, "--records", lines)
    assert ended.code == 2
    assert ended.error == f'{lines}, line 2: "k": expected key, value and headers alone'


def test_an_append_without_the_role_names_the_key_for_administrators(
    tmp_path: Path, kraftlake: Kraftlake
) -> None:
    lines = tmp_path / "lines"
    lines.write_text("x\n")
    with in_thread(tmp_path, (), voters=1) as bootstrap:
        ended = kraftlake("replica", "append", "-b", bootstrap, "--topic", TOPIC, lines)
    assert ended.code == 1
    assert ended.error.startswith(f"line 1: {bootstrap}: TOPIC_AUTHORIZATION_FAILED")
    assert "kraftlake.principals.administrator" in ended.error
    assert ended.error.endswith("no records before are in the log, and none behind")


def test_a_metadata_log_takes_metadata_records_alone(
    metadata_quorum: str, data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    lines = tmp_path / "records"
    append = ("replica", "append", "-b", metadata_quorum, "--records", "--json", lines)
    lines.write_text('{"value": "hello"}\n')
    refused = kraftlake(*append)
    assert refused.code == 1
    assert "INVALID_RECORD (record 0 is no metadata record: byte 0: " in refused.error
    values = [base64.b64encode(value).decode() for value in metadata_values(data)]
    lines.write_text("".join(json.dumps({"value": {"base64": v}}) + "\n" for v in values))
    ended = kraftlake(*append)
    assert ended.code == 0, ended.err
    read = kraftlake("consume", "-b", metadata_quorum, "--until-end", "--json")
    types = {row["offset"]: row["type"] for row in read.rows}
    assert types[ended.rows[0]["offset"]] == "TOPIC_RECORD"


def test_a_quorum_is_described_in_a_table_with_a_verdict(quorum: str, kraftlake: Kraftlake) -> None:
    ended = kraftlake("replica", "describe", "-b", quorum, "--topic", TOPIC)
    assert ended.code == 0, ended.err
    assert ended.lines[0].startswith(f"cluster {CLUSTER_ID}, leader 1, epoch ")
    assert ended.lines[2].split()[:4] == ["node", "directory", "role", "log_end"]
    assert ended.lines[4].split()[2] == "leader"
    assert "1 of 1 voters caught up" in ended.lines[5]


def test_a_quorum_is_described_as_json(quorum: str, kraftlake: Kraftlake) -> None:
    (row,) = kraftlake("replica", "describe", "-b", quorum, "--topic", TOPIC, "--json").rows
    (replica,) = row["replicas"]
    assert (row["cluster_id"], row["leader_id"], replica["node_id"]) == (CLUSTER_ID, 1, 1)
    assert (replica["role"], replica["is_voter"], replica["lag"]) == ("leader", True, 0)
    assert replica["log_end_offset"] == row["high_watermark"]
    assert replica["last_fetch"] is None
    assert {verdict["severity"] for verdict in row["verdicts"]} == {"info"}


def test_no_leader_is_one_line_with_each_nodes_reason(kraftlake: Kraftlake) -> None:
    (port,) = free_ports(1)
    ended = kraftlake("replica", "describe", "-b", f"127.0.0.1:{port}", "--timeout", "0.2")
    assert ended.code == 75
    assert ended.error == (
        f"no leader within 0.2 s: 127.0.0.1:{port}: no connection: Connection refused"
    )


@pytest.mark.parametrize("command", ["describe", "append"])
def test_an_address_that_is_none_is_a_usage_error(command: str, kraftlake: Kraftlake) -> None:
    ended = kraftlake("replica", command, "-b", "nowhere")
    assert ended.code == 2
    assert ended.error == "--bootstrap nowhere: expected HOST:PORT, several with commas between"


def test_values_of_two_kinds_exclude_each_other(quorum: str, kraftlake: Kraftlake) -> None:
    ended = kraftlake("replica", "append", "-b", quorum, "--raw", "--records")
    assert (ended.code, ended.error) == (2, "--raw and --records exclude each other: take one")


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    found = tmp_path / "lines"
    found.write_text("a\nb\n")
    return found


def test_records_that_may_be_in_the_log_are_named_and_not_sent_again(
    lines: Path, kraftlake: Kraftlake
) -> None:
    node = Scripted(ErrorCode.REQUEST_TIMED_OUT)
    with node.in_thread():
        bootstrap = f"127.0.0.1:{node.port}"
        ended = kraftlake("replica", "append", "-b", bootstrap, "--topic", SCRIPTED_TOPIC, lines)
    assert (ended.code, node.asked) == (1, 1)
    assert ended.error == (
        f"lines 1 to 2: nobody knows whether that is in the log: {bootstrap}: REQUEST_TIMED_OUT; "
        "no records before are in the log, and none behind; look with `kraftlake consume` before "
        "you send them again"
    )


def test_at_least_once_sends_again_and_says_so(lines: Path, kraftlake: Kraftlake) -> None:
    node = Scripted(ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NONE)
    with node.in_thread():
        where = ("-b", f"127.0.0.1:{node.port}", "--topic", SCRIPTED_TOPIC)
        ended = kraftlake("replica", "append", *where, "--at-least-once", lines)
    assert (ended.code, node.asked) == (0, 2)
    assert ended.lines == ["offsets 7 to 8"]
    assert ended.complaints[0].startswith("lines 1 to 2: sent again, and may be there twice: ")

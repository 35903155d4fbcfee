"""`kraftlake consume` on quorums of our own; Kafka's brokers are in tests/interop."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from replica.format.record import records_of
from replica.format.segment import scan
from replica.metadata.codec import decode
from tests.jobs.conftest import Kraftlake
from tests.kraftlake_process import REPOSITORY, command_line
from tests.replica.consumer.quorum import TOPIC, in_thread

KINDS = ("TOPIC_RECORD", "USER_SCRAM_CREDENTIAL_RECORD", "NO_OP_RECORD")
VALUES = (b"one", b"two \xc3\xbc", b"\xff\x00", b"four")


def metadata_values(data: Path) -> list[bytes]:
    """A record of each of KINDS, as Kafka wrote it."""
    whole = (data / "generated-all-types" / "00000000000000000000.log").read_bytes()
    found = {}
    for batch in scan(whole).batches:
        end = batch.position + batch.header.size_bytes
        for record in records_of(batch.header, whole[batch.position : end]):
            if record.value and not batch.header.is_control:
                found.setdefault(decode(record.value).type, record.value)
    return [found[kind] for kind in KINDS]


@pytest.fixture(scope="module")
def metadata_quorum(
    data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path]]:
    """Bootstrap, and the folder of the log that it serves."""
    folder = tmp_path_factory.mktemp("metadata")
    with in_thread(folder, metadata_values(data), voters=1, topic_id=None) as bootstrap:
        yield bootstrap, folder / "1" / "log" / "__cluster_metadata-0"


@pytest.fixture(scope="module")
def quorum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Offset 0 is the leader's own record, VALUES follow."""
    with in_thread(tmp_path_factory.mktemp("opaque"), VALUES, voters=1) as bootstrap:
        yield bootstrap


def test_metadata_records_are_printed_as_dump_prints_them(
    metadata_quorum: tuple[str, Path], tmp_path: Path, kraftlake: Kraftlake
) -> None:
    bootstrap, log = metadata_quorum
    key = tmp_path / "key"
    key.write_bytes(b"the same for both")
    keyed = ("--redact-key", key)
    dumped = kraftlake("dump", "--json", "--logs-only", *keyed, log)
    read = kraftlake("consume", "-b", bootstrap, "--until-end", "--json", *keyed)
    assert (read.code, read.err) == (0, "")
    assert read.rows == [{k: v for k, v in row.items() if k != "file"} for row in dumped.rows]
    assert [row["type"] for row in read.rows[-3:]] == list(KINDS)
    assert read.rows[-2]["data"]["salt"].startswith("***")

    text = kraftlake("consume", "-b", bootstrap, "--until-end", *keyed)
    assert text.lines == kraftlake("dump", "--logs-only", *keyed, log).lines[1:]


def test_secrets_are_shown_only_where_that_is_asked_for(
    metadata_quorum: tuple[str, Path], kraftlake: Kraftlake
) -> None:
    bootstrap, log = metadata_quorum
    read = kraftlake("consume", "-b", bootstrap, "--until-end", "--json", "--keep-secrets")
    dumped = kraftlake("dump", "--json", "--logs-only", "--keep-secrets", log)
    assert read.rows[-2]["data"] == dumped.rows[-2]["data"]


def test_records_of_other_topics_are_printed_by_key_and_value(
    quorum: str, kraftlake: Kraftlake
) -> None:
    asked = ("consume", "-b", quorum, "--topic", TOPIC, "--until-end")
    rows = kraftlake(*asked, "--json").rows
    assert rows[0]["type"] == "LEADER_CHANGE"
    assert [row["value"] for row in rows[1:]] == ["one", "two ü", {"base64": "/wA="}, "four"]
    assert [(row["offset"], row["key"], row["headers"]) for row in rows[1:]] == [
        (offset, None, []) for offset in range(1, 5)
    ]
    lines = kraftlake(*asked).lines
    assert lines[3].startswith("         3     1  ")
    assert lines[3].endswith("null  \\xff\\x00")


def test_reading_begins_where_it_is_told_to(quorum: str, kraftlake: Kraftlake) -> None:
    asked = ("consume", "-b", quorum, "--topic", TOPIC, "--until-end", "--json")
    for start, offsets in (("3", [3, 4]), ("4:1", [4]), ("5", []), ("latest", [])):
        ended = kraftlake(*asked, "--from", start)
        assert (ended.code, [row["offset"] for row in ended.rows]) == (0, offsets), start


def test_an_offset_that_is_not_there_is_an_error(quorum: str, kraftlake: Kraftlake) -> None:
    ended = kraftlake("consume", "-b", quorum, "--topic", TOPIC, "--from", "99", "--until-end")
    assert ended.code == 1
    assert "offset 99 is not in the leader's log, which has offsets 0 to 4" in ended.err


def test_an_epoch_that_the_leader_does_not_know_is_an_error(
    quorum: str, kraftlake: Kraftlake
) -> None:
    ended = kraftlake("consume", "-b", quorum, "--topic", TOPIC, "--from", "3:9", "--until-end")
    assert ended.code == 1
    assert "read up to offset 2 in epoch 9, but the leader's log doesn't know" in ended.error


def test_an_unknown_topic_is_an_error_after_the_timeout(quorum: str, kraftlake: Kraftlake) -> None:
    ended = kraftlake("consume", "-b", quorum, "--topic", "none", "--timeout", "0.1")
    assert ended.code == 1
    assert "none-0: UNKNOWN_TOPIC_OR_PARTITION (for 0.1 s)" in ended.err


def test_an_address_without_a_listener_is_named(kraftlake: Kraftlake) -> None:
    ended = kraftlake("consume", "-b", "127.0.0.1:1", "--timeout", "0.1")
    assert ended.code == 1
    assert "error: 127.0.0.1:1: no connection: Connection refused (for 0.1 s)" in ended.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-b", "localhost"), "--bootstrap localhost: expected HOST:PORT"),
        (("-b", ":9092"), "--bootstrap :9092: expected HOST:PORT"),
        (("-b", "h:1", "--from", "first"), "--from first: expected earliest, latest, OFFSET"),
        (("-b", "h:1", "--from", "-1"), "--from -1: expected earliest, latest, OFFSET"),
        (("-b", "h:1", "--replica-selector", "far"), "expected one of leader, rack"),
        (("-b", "h:1", "--replica-selector", "rack"), "client.rack: missing"),
    ],
)
def test_wrong_options_of_consume_are_usage_errors(
    arguments: tuple[str, ...], said: str, kraftlake: Kraftlake
) -> None:
    ended = kraftlake("consume", *arguments)
    assert ended.code == 2
    assert said in ended.error


def test_ctrl_c_ends_it_without_a_traceback(quorum: str) -> None:
    reading = subprocess.Popen(
        command_line("consume", "-b", quorum, "--topic", TOPIC),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    )
    assert reading.stdout is not None
    lines = [reading.stdout.readline() for _ in range(5)]
    reading.send_signal(signal.SIGINT)
    out, err = reading.communicate(timeout=60)
    assert (reading.returncode, out, err) == (130, "", "")
    assert lines[-1].endswith("null  four\n")


def test_a_node_that_never_answers_is_given_up_after_the_timeout(kraftlake: Kraftlake) -> None:
    """A request to it would wait 30 s for its answer."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        arguments = ("-b", f"127.0.0.1:{port}", "--until-end", "--timeout", "1")
        ended = subprocess.run(
            command_line("consume", *arguments),
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=25,
            check=False,
        )
    assert ended.returncode == 1
    assert f"127.0.0.1:{port}: no answer (for 1 s)" in ended.stderr


def test_a_host_with_too_long_a_part_is_told_in_one_line(kraftlake: Kraftlake) -> None:
    host = f"{'a' * 64}.example"
    ended = kraftlake("consume", "-b", f"{host}:9092", "--until-end", "--timeout", "0.1")
    assert ended.code == 1
    assert f"{host}:9092: no host name" in ended.err
    assert "Traceback" not in ended.err

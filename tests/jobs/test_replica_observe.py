"""`kraftlake replica observe` on a quorum of our own; Kafka's is in tests/interop."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.observer_process import ObserverProcess, log_bytes
from tests.jobs.conftest import Kraftlake
from tests.jobs.test_consume import metadata_values
from tests.replica.consumer.quorum import CLUSTER_ID, in_thread

OTHER_CLUSTER = "gT_wAAAAAAAAAAAAAAAAAA"


@pytest.fixture(scope="module")
def quorum(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Bootstrap, and the folder of the log that it holds."""
    folder = tmp_path_factory.mktemp("metadata")
    with in_thread(folder, metadata_values(data), voters=1, topic_id=None) as bootstrap:
        yield bootstrap, folder / "1" / "log" / "__cluster_metadata-0"


def test_one_shot_ends_with_the_log_recorded_and_says_how_far(
    quorum: tuple[str, Path], tmp_path: Path, kraftlake: Kraftlake
) -> None:
    bootstrap, log = quorum
    folder = tmp_path / "recording"
    ended = kraftlake(
        "replica", "observe", "-b", bootstrap, "-o", folder, "--until-caught-up", "--json"
    )

    assert ended.code == 0, ended.err
    (row,) = ended.rows
    assert row["cluster_id"] == CLUSTER_ID
    assert row["directory"] == str(folder)
    assert row["log_start_offset"] == 0
    assert row["log_end_offset"] == row["high_watermark"] == 4
    assert log_bytes(folder / "__cluster_metadata-0") == log_bytes(log)
    assert f"recording cluster {CLUSTER_ID} as node {row['node_id']}" in ended.err
    assert "caught up at offset 4" in ended.err


def test_a_recording_goes_on_after_kill_9_and_stops_in_order(
    quorum: tuple[str, Path], tmp_path: Path, kraftlake: Kraftlake
) -> None:
    bootstrap, log = quorum
    observer = ObserverProcess(tmp_path / "recording", bootstrap, "--node-id", "70")
    with observer:
        observer.wait_for("caught up at offset 4")
        observer.kill()
        observer.start()
        observer.wait_for("caught up at offset 4", times=2)
        assert observer.stop() == 0
    assert "going on at offset 4" in observer.log
    assert "stopped gracefully" in observer.log
    assert log_bytes(observer.partition) == log_bytes(log)
    assert kraftlake("check", observer.folder).code == 0
    assert len(kraftlake("dump", "--json", observer.folder).rows) == 4


def test_events_are_told_as_json_where_that_is_asked(
    quorum: tuple[str, Path], tmp_path: Path, kraftlake: Kraftlake
) -> None:
    call = ("replica", "observe", "-b", quorum[0], "-o", tmp_path / "r", "--until-caught-up")
    ended = kraftlake(*call, "--log-format", "json")

    told = [json.loads(line) for line in ended.complaints]
    events = [each["event"] for each in told]
    assert events[:2] == ["recording", "connected"]
    assert events[-1] == "stopped"
    assert {"starting", "caught-up"} <= set(events)


def refused(quorum: tuple[str, Path], kraftlake: Kraftlake, folder: Path, *options: str) -> str:
    bootstrap = () if "-b" in options else ("-b", quorum[0])
    ended = kraftlake("replica", "observe", *bootstrap, "-o", folder, *options)
    assert ended.code == 2
    return ended.error


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--node-id", "1"), "node id 1 is a voter's of this quorum: leave --node-id out"),
        (("--node-id", "7", "--anonymous"), "--anonymous and --node-id exclude each other"),
        (("--cluster-id", OTHER_CLUSTER), f"--cluster-id {OTHER_CLUSTER}: these nodes belong to"),
        (("--listen", "9099"), "--listen 9099: expected HOST:PORT"),
        (("--listen", ":9099"), "--listen :9099: readers need a host and a port"),
        (("--metrics", "9404"), "--metrics 9404: expected HOST:PORT"),
        (("--broker-config", "server.properties"), "--broker-config goes with --metrics"),
        (("-b", "localhost:9093,"), "--bootstrap localhost:9093,: expected HOST:PORT"),
        (("-b", ":9093"), "--bootstrap :9093: expected HOST:PORT"),
        (("--log-format", "xml"), "--log-format xml: expected one of text, json"),
    ],
)
def test_wrong_options_of_observe_are_refused_in_one_line(
    quorum: tuple[str, Path],
    tmp_path: Path,
    kraftlake: Kraftlake,
    options: tuple[str, ...],
    error: str,
) -> None:
    assert refused(quorum, kraftlake, tmp_path / "r", *options).startswith(error)
    assert not (tmp_path / "r").exists()


def test_a_folder_with_other_files_is_refused(
    quorum: tuple[str, Path], tmp_path: Path, kraftlake: Kraftlake
) -> None:
    (tmp_path / "notes.txt").write_text("mine")

    assert "holds files, but no recording" in refused(quorum, kraftlake, tmp_path)


def test_a_listener_that_is_taken_is_one_line(
    quorum: tuple[str, Path], tmp_path: Path, kraftlake: Kraftlake
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        call = ("replica", "observe", "-b", quorum[0], "-o", tmp_path / "r", "--listen", listen)
        ended = kraftlake(*call)

    assert ended.code == 2
    assert f"listeners: {listen}: " in ended.complaints[-1]
    assert "Address already in use" in ended.complaints[-1]


def test_a_port_for_metrics_that_is_taken_is_one_line(
    quorum: tuple[str, Path], tmp_path: Path, kraftlake: Kraftlake
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        metrics = f"127.0.0.1:{taken.getsockname()[1]}"
        call = ("replica", "observe", "-b", quorum[0], "-o", tmp_path / "r", "--metrics", metrics)
        ended = kraftlake(*call)

    assert ended.code == 2
    assert f"--metrics {metrics}: " in ended.complaints[-1]


def test_a_quorum_without_an_answer_in_time_is_one_line(
    tmp_path: Path, kraftlake: Kraftlake
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    call = ("replica", "observe", "-b", f"127.0.0.1:{port}", "-o", tmp_path / "r")
    ended = kraftlake(*call, "--until-caught-up", "--timeout", "0.5")

    assert ended.code == 1
    assert f"no leader of the quorum was found: 127.0.0.1:{port}" in ended.complaints[0]
    assert ended.complaints[-1].endswith(
        "the recording has not caught up within 0.5 s; the next run continues it"
    )

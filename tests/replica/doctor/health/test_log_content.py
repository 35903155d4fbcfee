"""The records of a log by type: the bulk reader counts them as they are counted one by one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from replica.doctor.check.examined import examine
from replica.doctor.health.log_content import UNKNOWN, LogContent
from replica.doctor.health.of_directories import content_of
from replica.format.batch import with_records
from replica.format.compression import GZIP, compress
from replica.format.discovery import discover
from replica.format.record import Record, encode_records
from replica.format.segment import scan
from replica.metadata.codec import encode
from tests.replica.doctor.check.editing import append, flip
from tests.replica.doctor.health.test_recorded import DATA, newest_log
from tests.replica.metadata.image.made import topic
from tests.replica.scan.readers import only_the_bulk_reader, only_the_scalar_reader

NODES = ("kafka-3.7.2-static/split/2", "kafka-4.1.1-dynamic/final/12")


def of(folder: Path) -> LogContent:
    (found,) = discover([str(folder)])
    return content_of(examine(found))


@pytest.fixture(autouse=True)
def _all_by_records(monkeypatch: pytest.MonkeyPatch) -> None:
    only_the_scalar_reader(monkeypatch)


@pytest.fixture
def all_in_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the bulk reader count files of any size."""
    pytest.importorskip("numba")
    only_the_bulk_reader(monkeypatch)


@pytest.mark.parametrize("node", NODES)
def test_runs_of_the_bulk_reader_are_counted_as_records_are(
    node: str, request: pytest.FixtureRequest
) -> None:
    scalar = of(DATA / node)
    request.getfixturevalue("all_in_runs")
    assert of(DATA / node) == scalar
    assert scalar.counts["PARTITION_RECORD"] > 100
    assert scalar.counts["LEADER_CHANGE"] > 0


def test_unknown_and_short_records_are_counted_as_unknown(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    node = Path(shutil.copytree(DATA / NODES[1], tmp_path / "node"))
    append(newest_log(node), b"\x01\x78\x00what", b"\x01", b"", b"\x01\xff\x01\x00")
    scalar = of(node)
    request.getfixturevalue("all_in_runs")
    assert (scalar.counts[UNKNOWN], scalar.sizes[UNKNOWN]) == (4, 7 + 1 + 0 + 4)
    assert of(node) == scalar


def test_a_compressed_batch_is_counted(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The kernel of the bulk reader leaves it to the other reader."""
    node = Path(shutil.copytree(DATA / NODES[1], tmp_path / "node"))
    log = newest_log(node)
    before = of(node).counts["TOPIC_RECORD"]
    last = scan(log.read_bytes()).batches[-1].header
    record = Record(last.next_offset, last.max_timestamp, None, encode(topic()))
    body = compress(GZIP, encode_records([record], last.next_offset, last.max_timestamp))
    header = last._replace(
        base_offset=last.next_offset,
        attributes=GZIP,
        last_offset_delta=0,
        record_count=1,
        base_timestamp=last.max_timestamp,
    )
    with log.open("ab") as file:
        file.write(with_records(header, body))
    scalar = of(node)
    request.getfixturevalue("all_in_runs")
    assert scalar.counts["TOPIC_RECORD"] == before + 1
    assert of(node) == scalar


def test_a_batch_with_a_wrong_crc_is_not_counted(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    node = Path(shutil.copytree(DATA / NODES[1], tmp_path / "node"))
    before = of(node).counts.total()
    flip(newest_log(node), 1_000)
    scalar = of(node)
    request.getfixturevalue("all_in_runs")
    assert scalar.counts.total() < before
    assert of(node) == scalar


def test_an_empty_log_holds_nothing(tmp_path: Path) -> None:
    node = Path(shutil.copytree(DATA / NODES[1], tmp_path / "node"))
    for path in (node / "__cluster_metadata-0").glob("*.log"):
        path.unlink()
    assert of(node) == LogContent()

"""Every command says of a log that a Kafka of tomorrow wrote up to where its state is known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from jobs.cli.main import app
from jobs.cli.outcome import run
from replica.metadata.records import NEWEST_KAFKA
from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.check.tomorrow import FIRST_OFFSET, write_tomorrow

UNKNOWN = f"is not known to this release, which reads up to Kafka {NEWEST_KAFKA}"


def in_a_lake(test: Callable[..., None]) -> Callable[..., None]:
    """Those tests ask a lake, which takes a minute to build."""
    return pytest.mark.spark(pytest.mark.slow(test))


@pytest.fixture(scope="module")
def nodes(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tomorrow") / "nodes"
    write_tomorrow(data / "kafka-4.4.0-dynamic/live", folder)
    return folder


def test_check_warns_and_calls_no_directory_sound(kraftlake: Kraftlake, nodes: Path) -> None:
    ended = kraftlake("check", str(nodes))
    assert ended.code == 1
    assert f"the state from offset {FIRST_OFFSET} on {UNKNOWN}" in ended.out
    rows = [line for line in ended.lines if line.endswith("/__cluster_metadata-0")]
    assert rows
    assert not any(" ok " in line for line in rows)
    assert "HEALTHY" not in ended.out


def test_dump_shows_the_unknown_records_as_bytes(kraftlake: Kraftlake, nodes: Path) -> None:
    ended = kraftlake("dump", "--json", "--type", "REGISTER_BROKER_RECORD", str(nodes / "1"))
    first = ended.rows[0]
    assert (first["offset"], first["version"]) == (FIRST_OFFSET, 5)
    assert set(first["data"]) == {"apiKey", "version", "body"}


@pytest.fixture(scope="module")
def lake(nodes: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("lake") / "lake"
    assert run(app, ["ingest", "--lake", str(lake), str(nodes / "1"), str(nodes / "3")]) == 0
    assert run(app, ["build", "--lake", str(lake)]) == 0
    return lake


@in_a_lake
@pytest.mark.parametrize("moment", [[], ["--at-offset", "29"], ["--at-offset", "941"]])
def test_state_behind_the_unknown_record_is_an_error_that_names_it(
    lake: Path, moment: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(app, ["state", "--lake", str(lake), *moment]) == 2
    told = capsys.readouterr().err
    assert f"the state from offset {FIRST_OFFSET} on {UNKNOWN}" in told
    assert f"the record at offset {FIRST_OFFSET} is of REGISTER_BROKER_RECORD" in told


@in_a_lake
def test_state_up_to_the_unknown_record_is_told(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["state", "--lake", str(lake), "--json", "--at-offset", str(FIRST_OFFSET)]
    assert run(app, asked) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["entity"] for row in rows} >= {"feature", "controller", "voters"}


@in_a_lake
@pytest.mark.parametrize("engine", ["delta-rs", "spark"])
@pytest.mark.parametrize("moment", [[], ["--at-offset", "29"]])
def test_views_above_an_unknown_record_are_refused_by_both_engines(
    lake: Path, engine: str, moment: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    query = "SELECT * FROM gold.topics_at"
    assert run(app, ["sql", "--lake", str(lake), "--engine", engine, *moment, query]) == 2
    assert f"the state from offset {FIRST_OFFSET} on {UNKNOWN}" in capsys.readouterr().err


@in_a_lake
def test_history_has_no_version_that_is_valid_behind_it(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = (
        "SELECT max(valid_to_offset) AS last, count(*) - count(valid_to_offset) AS open, "
        "count(*) AS versions FROM gold.metadata_history"
    )
    assert run(app, ["sql", "--lake", str(lake), "--json", query]) == 0
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert row["versions"] > 0
    assert (row["last"], row["open"]) == (FIRST_OFFSET, 0)


@in_a_lake
def test_the_report_says_up_to_where_it_knows(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report.html"
    run(app, ["report", "--lake", str(lake), "-o", str(page)])
    told = capsys.readouterr()
    assert f"he metadata state from offset {FIRST_OFFSET} on {UNKNOWN}" in told.out + told.err
    assert f"he metadata state from offset {FIRST_OFFSET} on {UNKNOWN}" in page.read_text()


@in_a_lake
def test_gold_findings_are_what_check_says(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT DISTINCT rule, severity FROM gold.findings"
    assert run(app, ["sql", "--lake", str(lake), "--json", query]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = {(row["rule"], row["severity"]) for row in rows}
    assert ("unknown-record-version", "warning") in found
    assert ("snapshot-not-known", "warning") in found

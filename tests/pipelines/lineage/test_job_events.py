"""OpenLineage events around a job, read back from where they were sent."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from pipelines.lake import Lake
from pipelines.lineage.events import rows_written
from pipelines.lineage.job_events import job_events
from pipelines.lineage.settings import wanted_transport
from replica.errors import UsageError


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """None of whoever runs the tests. What the client itself sets is undone."""
    before = dict(os.environ)
    for name in before:
        if name.startswith(("OPENLINEAGE", "KRAFTLAKE_LINEAGE", "KRAFTLAKE_CONF")):
            monkeypatch.delenv(name)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    yield
    for name in set(os.environ) - set(before):
        del os.environ[name]


@pytest.fixture
def events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that KRAFTLAKE_LINEAGE names."""
    file = tmp_path / "events.jsonl"
    monkeypatch.setenv("KRAFTLAKE_LINEAGE", str(file))
    return file


@pytest.fixture
def lake(tmp_path: Path) -> str:
    """Two tables by name; events read nothing but their Delta logs."""
    root = str(tmp_path / "lake")
    _write(root, "bronze/captures", 2)
    _write(root, "silver/voter_sets", 1)
    return root


def _write(root: str, table: str, rows: int) -> None:
    content = pa.table({"n": pa.array(range(rows))})
    write_deltalake(f"{root}/{table}", content, mode="overwrite")


def _judge(root: str, run_id: str) -> None:
    columns = {
        **{"run_id": run_id, "table_name": "silver.voter_sets", "expectation": "expect_x"},
        **{"meaning": "x holds", "columns": ["epoch"], "action": "stop", "success": False},
        "unexpected_rows": 3,
    }
    path = f"{root}/gold/quality_results"
    write_deltalake(path, pa.Table.from_pylist([columns]), mode="append")


def _told(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _tables(datasets: list[dict[str, Any]]) -> Mapping[str, dict[str, Any]]:
    return {one["facets"]["symlinks"]["identifiers"][0]["name"]: one for one in datasets}


def test_a_job_tells_what_it_read_and_which_versions_it_wrote(events: Path, lake: str) -> None:
    with job_events("build", Lake(lake), pytest.fail, tables="bronze") as run_id:
        _write(lake, "silver/voter_sets", 5)
        _write(lake, "silver/voter_sets", 6)
        _write(lake, "gold/findings", 4)
    start, end = _told(events)
    assert (start["eventType"], end["eventType"]) == ("START", "COMPLETE")
    assert {one["run"]["runId"] for one in (start, end)} == {run_id}
    assert start["outputs"] == []
    (captures,) = end["inputs"]
    assert (captures["namespace"], captures["name"]) == ("file", f"{lake}/bronze/captures")
    assert captures["facets"]["version"]["datasetVersion"] == "0"
    written = _tables(end["outputs"])
    assert set(written) == {"silver.voter_sets", "gold.findings"}
    voters = written["silver.voter_sets"]
    assert voters["facets"]["version"]["datasetVersion"] == "2"
    assert voters["outputFacets"]["outputStatistics"]["rowCount"] == 11  # of both commits
    fields = voters["facets"]["schema"]["fields"]
    assert {"name": "epoch", "type": "int"}.items() <= fields[4].items()


def test_a_job_tells_where_it_published_one_table(events: Path, lake: str) -> None:
    to = "kafka://localhost:9092/changes"
    with job_events("publish", Lake(lake), pytest.fail, tables="silver.voter_sets", writes=[to]):
        pass
    end = _told(events)[-1]
    assert set(_tables(end["inputs"])) == {"silver.voter_sets"}
    (topic,) = end["outputs"]
    assert (topic["namespace"], topic["name"]) == ("kafka://localhost:9092", "changes")


def test_each_event_has_what_the_specification_requires(events: Path, lake: str) -> None:
    with job_events("ingest", Lake(lake), pytest.fail, paths=["logs", "s3://b/c"]) as run_id:
        _judge(lake, run_id)
    told = _told(events)
    for one in told:
        assert set(one) >= {"eventTime", "producer", "schemaURL", "run", "job", "eventType"}
        assert datetime.fromisoformat(one["eventTime"]).tzinfo is not None
        uuid.UUID(one["run"]["runId"])
        assert one["job"]["namespace"] == "kraftlake"
        assert one["schemaURL"].startswith("https://openlineage.io/spec/")
        for facet in _facets(one):
            assert set(facet) >= {"_producer", "_schemaURL"}, facet
    named = [(one["namespace"], one["name"]) for one in told[0]["inputs"]]
    assert named == [("file", str(Path.cwd() / "logs")), ("s3://b", "c")]


def _facets(value: Any) -> list[dict[str, Any]]:
    """All facets below: the values of every key that ends in "facets"."""
    if isinstance(value, list):
        return [facet for one in value for facet in _facets(one)]
    if not isinstance(value, dict):
        return []
    found = [facet for name, of in value.items() if name in _FACETS for facet in of.values()]
    return found + [facet for one in value.values() for facet in _facets(one)]


_FACETS = ("facets", "inputFacets", "outputFacets")


def test_quality_results_are_assertions_of_a_run_below_the_jobs(events: Path, lake: str) -> None:
    with job_events("build", Lake(lake), pytest.fail) as run_id:
        _judge(lake, "another run")
        _judge(lake, run_id)
    *_, start, end = _told(events)
    assert (start["eventType"], end["eventType"]) == ("START", "COMPLETE")
    assert end["job"]["name"] == "build.quality"
    parent = end["run"]["facets"]["parent"]
    assert (parent["run"]["runId"], parent["job"]["name"]) == (run_id, "build")
    (judged,) = end["inputs"]
    (assertion,) = judged["inputFacets"]["dataQualityAssertions"]["assertions"]
    expected = {"assertion": "expect_x", "success": False, "column": "epoch", "severity": "error"}
    assert expected.items() <= assertion.items()


def test_events_hold_no_rows(events: Path, lake: str) -> None:
    with job_events("build", Lake(lake), pytest.fail) as run_id:
        rows = {"n": ["T0P-SECRET of a row"], "epoch": [987_654_321]}
        for table in ("silver/voter_sets", "gold/findings"):
            path = f"{lake}/{table}"
            write_deltalake(path, pa.table(rows), mode="overwrite", schema_mode="overwrite")
        _judge(lake, run_id)
    text = events.read_text(encoding="utf-8")
    assert "silver.voter_sets" in text
    assert "T0P-SECRET" not in text
    assert "987654321" not in text


def test_a_job_that_fails_tells_why_and_what_it_wrote_until_then(events: Path, lake: str) -> None:
    def fail() -> None:
        with job_events("build", Lake(lake), pytest.fail):
            _write(lake, "gold/findings", 4)
            raise UsageError("no such thing")

    with pytest.raises(UsageError, match="no such thing"):
        fail()
    end = _told(events)[-1]
    assert end["eventType"] == "FAIL"
    assert end["run"]["facets"]["errorMessage"]["message"] == "UsageError: no such thing"
    assert set(_tables(end["outputs"])) == {"gold.findings"}


def test_a_transport_that_fails_is_one_line_and_not_the_jobs_concern(
    tmp_path: Path, lake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRAFTLAKE_LINEAGE", str(tmp_path / "no such folder" / "events.jsonl"))
    warned: list[str] = []
    with job_events("build", Lake(lake), warned.append):
        _write(lake, "gold/findings", 4)
    (line,) = warned
    assert line.startswith("lineage: ")
    assert line.endswith("the job goes on without events")
    assert "\n" not in line


@pytest.mark.slow
def test_a_transport_that_does_not_answer_is_one_line_too(
    lake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__RETRY__TOTAL", "0")
    warned: list[str] = []
    with job_events("build", Lake(lake), warned.append):
        pass
    assert len(warned) == 1


def test_the_openlineage_yml_of_the_user_is_followed_and_none_of_the_current_folder(
    tmp_path: Path, lake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    own, strange = tmp_path / "own.jsonl", tmp_path / "strange.jsonl"
    for folder, file in ((tmp_path / "home/.openlineage", own), (Path.cwd(), strange)):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "openlineage.yml").write_text(
            f"transport:\n  type: file\n  log_file_path: {file}\n  append: true\n"
            "filters:\n  - type: regex\n    regex: publish\n"
        )
    git = Path.cwd() / ".git"
    git.mkdir()
    (git / "config").write_text('[remote "origin"]\n\turl = https://a.stranger/x.git\n')
    with job_events("build", Lake(lake), pytest.fail):
        pass
    (own.parent / "home/.openlineage/openlineage.yml").unlink()
    with job_events("build", Lake(lake), pytest.fail):
        pass
    assert [one["eventType"] for one in _told(own)] == ["START", "COMPLETE"]
    assert "a.stranger" not in own.read_text()
    assert not strange.exists()
    monkeypatch.setenv("KRAFTLAKE_LINEAGE", str(tmp_path / "named.jsonl"))
    with job_events("publish", Lake(lake), pytest.fail):
        pass
    assert len(_told(tmp_path / "named.jsonl")) == 2, "a filter of a stranger leaves none out"


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, None),
        ({"KRAFTLAKE_LINEAGE": "f"}, "f"),
        ({"OPENLINEAGE_URL": "http://x"}, ""),
        ({"OPENLINEAGE__TRANSPORT": "{}"}, ""),
        ({"OPENLINEAGE__TRANSPORT__TYPE": "http"}, ""),
        ({"OPENLINEAGE_CONFIG": "f.yml"}, ""),
        ({"KRAFTLAKE_LINEAGE": "f", "OPENLINEAGE_URL": "http://x"}, "f"),
        ({"KRAFTLAKE_LINEAGE": "f", "OPENLINEAGE_DISABLED": "true"}, None),
    ],
)
def test_events_go_where_the_environment_says(
    environment: dict[str, str], wanted: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert wanted_transport() == wanted


def test_events_go_where_the_settings_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kraftlake.toml").write_text('[lineage]\nfile = "f.jsonl"\n')
    monkeypatch.setenv("KRAFTLAKE_CONF", str(tmp_path))
    assert wanted_transport() == "f.jsonl"
    monkeypatch.setenv("OPENLINEAGE_URL", "http://x")
    assert wanted_transport() == ""


def test_a_merge_wrote_what_it_inserted_and_updated() -> None:
    merged = {
        **{"numOutputRows": "9", "numTargetRowsInserted": "2", "numTargetRowsUpdated": "1"},
        "numTargetRowsCopied": "6",
    }
    assert rows_written(merged) == 3
    assert rows_written({"numOutputRows": "9"}) == 9
    assert rows_written({}) == 0

"""Great Expectations in the path of a run: its Checkpoint of what was counted, its Data Docs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from pipelines.lake import Lake
from pipelines.quality.data_docs import CheckpointProcess, NoDataDocsError
from pipelines.quality.judge import Judgement
from pipelines.quality.results import PAGES, QualityRun
from pipelines.quality.suites import SUITES
from pipelines.quality.table_results import TableResult, summed
from tests.kraftlake_process import REPOSITORY

_HOSTILE = "<script>alert(1)</script>"
_KEY = json.dumps({"kind": _HOSTILE})


def _judged(name: str, rows: int, broken: dict[str, int]) -> TableResult:
    """A table's result. broken: how many rows break an expectation, by its meaning."""
    suite = SUITES[name]
    counts = tuple(broken.get(one.meaning, 0) for one in suite.expectations)
    samples = {number: (_KEY,) for number, count in enumerate(counts) if count}
    return summed(suite, 3, [Judgement(name, "c", rows, counts, samples)])


_RESULTS = [
    _judged("bronze.captures", 0, {}),
    _judged("bronze.damage", 4, {"kind is one of its known values": 1}),
    _judged(
        "bronze.log_batches",
        50,
        {
            next(
                one.meaning
                for one in SUITES["bronze.log_batches"].expectations
                if one.action == "quarantine"
            ): 2
        },
    ),
]


def _run(folder: Path, job: str = "build", lines: list[str] | None = None) -> QualityRun:
    progress = pytest.fail if lines is None else lines.append
    return QualityRun(Lake(folder), job, "run-1", datetime(2026, 1, 2, tzinfo=UTC), progress)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The pages of a run of three tables, by their names."""
    folder = tmp_path_factory.mktemp("lake")
    run = _run(folder)
    Lake(folder).replace_folder(PAGES, {"bronze.gone.html": b"of a run before"})
    run.write(_RESULTS, run.begin_docs(_RESULTS))
    return {one.stem: one.read_text(encoding="utf-8") for one in (folder / PAGES).iterdir()}


def _cells(row: str) -> list[str]:
    found = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)
    return [re.sub("<[^>]*>", "", cell) for cell in found]


def test_there_is_a_page_for_each_table_and_an_index(pages: dict[str, str]) -> None:
    assert set(pages) == {"index", "bronze.captures", "bronze.damage", "bronze.log_batches"}
    links = re.findall(r'href="([^"]*)"', pages["index"])
    assert links == ["bronze.captures.html", "bronze.damage.html", "bronze.log_batches.html"]


def test_the_index_begins_with_the_verdict_of_the_run(pages: dict[str, str]) -> None:
    expected = sum(len(one.verdicts) for one in _RESULTS)
    (verdict,) = re.findall(r'</h1><p class="verdict is-broken">(.*?)</p>', pages["index"])
    assert verdict == (
        f"{expected - 3} of {expected} expectations of 3 tables hold.<br>The build was not "
        "stopped. Rows were quarantined, and are in gold.quarantined_rows: 2 of bronze.log_batches."
    )
    assert "Run run-1 of build, judged at 2026-01-02 00:00:00 UTC" in pages["index"]


def test_numbers_are_under_their_headers(pages: dict[str, str]) -> None:
    head, *rows = map(_cells, re.findall(r"<tr>(.*?)</tr>", pages["index"]))
    assert head == ["table", "rows", "expectations", "broken", "what is broken"]
    told = [dict(zip(head, row, strict=True)) for row in rows]
    for one, row in zip(_RESULTS, told, strict=True):
        broken = [verdict for verdict in one.verdicts if not verdict.success]
        assert row["table"] == one.suite.name
        assert int(row["rows"]) == one.verdicts[0].evaluated_rows
        assert int(row["expectations"]) == len(one.verdicts)
        assert int(row["broken"]) == len(broken)
    assert told[0]["what is broken"] == "stop: the table has 1 rows or more"
    assert told[1]["what is broken"] == "warn: kind is one of its known values (1 rows)"


def test_a_tables_page_is_that_of_great_expectations(pages: dict[str, str]) -> None:
    page = re.sub(r"\s+", " ", pages["bronze.damage"])
    assert "<p>4 rows." in page
    assert "1 unexpected values found. 25% of 4 total rows." in page
    assert "Observed Value" in page
    for verdict in _RESULTS[1].verdicts:
        assert verdict.expectation.meaning in page


def test_the_pages_load_nothing_and_show_text_of_a_log_as_text(pages: dict[str, str]) -> None:
    for text in pages.values():
        assert not re.findall(r"<(?:script|link|img|iframe)\b|url\(|@import", text)
        assert all(link.endswith(".html") for link in re.findall(r'(?:href|src)="([^"]*)"', text))
    assert "&lt;script&gt;alert(1)" in pages["bronze.damage"]


def test_a_run_of_quality_and_a_stopped_build_say_so(tmp_path: Path) -> None:
    quality = _run(tmp_path, "quality").begin_docs(_RESULTS[1:2])
    assert b"build" not in quality.pages()["index.html"].split(b"</p>")[0]
    stopped = _run(tmp_path).begin_docs(_RESULTS, stopped="a row of <b>")
    index = stopped.pages()["index.html"].decode()
    assert "The build was stopped and committed nothing: a row of &lt;b&gt;" in index


def test_great_expectations_finds_in_its_checkpoint_what_the_verdicts_say(
    tmp_path: Path,
) -> None:
    script = """
import json, sys
from pipelines.quality.checkpoint import validated
result = validated(json.load(sys.stdin))
print(json.dumps({"success": result.success, "suites": {
    one.suite_name: [
        (found.expectation_config.type, found.expectation_config.description,
         str(found.expectation_config.severity.value), found.success,
         found.result.get("element_count"), found.result.get("unexpected_count"))
        for found in one.results]
    for one in result.run_results.values()}}))
"""
    run = _run(tmp_path).counted(_RESULTS)
    told = _python(tmp_path / "script.py", script, json.dumps(run))
    assert told["success"] is False
    severities = {"warn": "info", "quarantine": "warning", "stop": "critical"}
    for one in _RESULTS:
        found = {meaning: rest for _, meaning, *rest in told["suites"][one.suite.name]}
        types = {meaning: kind for kind, meaning, *_ in told["suites"][one.suite.name]}
        for verdict in one.verdicts:
            expectation = verdict.expectation
            of_rows = bool(expectation.columns)
            assert types[expectation.meaning] == expectation.type
            assert found[expectation.meaning] == [
                severities[expectation.action],
                verdict.success,
                verdict.evaluated_rows if of_rows else None,
                verdict.unexpected_rows if of_rows else None,
            ]


def _python(file: Path, script: str, given: str) -> dict[str, Any]:
    file.write_text(script, encoding="utf-8")  # pyspark ends a process that has no main file
    done = subprocess.run(
        [sys.executable, str(file)],
        input=given,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_without_great_expectations_a_line_says_why_and_the_results_are_kept(
    tmp_path: Path,
) -> None:
    lines: list[str] = []
    run = _run(tmp_path, lines=lines)
    docs = run.begin_docs(_RESULTS)
    docs.process.process.kill()
    run.write(_RESULTS, docs)
    assert lines == [
        "Great Expectations made no Data Docs: its process ended with exit code -9; "
        "gold.quality_results has the results"
    ]
    assert DeltaTable(f"{tmp_path}/gold/quality_results").count() == sum(
        len(one.verdicts) for one in _RESULTS
    )
    assert run.begin_docs(_RESULTS).pages(), "the next run has a process of its own"


def test_an_error_of_great_expectations_is_told_in_one_line() -> None:
    process = CheckpointProcess.start()
    number = process.ask({"job": "build", "tables": [{"name": "t"}]})  # type: ignore[typeddict-item]
    try:
        with pytest.raises(NoDataDocsError, match=r"no Data Docs: KeyError: 'expectations'$"):
            process.answer(number)
    finally:
        process.end()


def test_an_answer_that_nobody_waited_for_is_no_answer_to_the_next_run(tmp_path: Path) -> None:
    run = _run(tmp_path)
    run.begin_docs(_RESULTS[:1])
    assert set(run.begin_docs(_RESULTS[1:2]).pages()) == {"index.html", "bronze.damage.html"}


@pytest.mark.parametrize("seconds", [0.0, 4.0], ids=["while it imports", "while it waits"])
def test_the_process_ends_with_the_job_however_that_ends(tmp_path: Path, seconds: float) -> None:
    script = tmp_path / "job.py"
    script.write_text(
        "import time\n"
        "from pipelines.quality.data_docs import start_great_expectations\n"
        "print(start_great_expectations().process.pid, flush=True)\n"
        "time.sleep(60)\n",
        encoding="utf-8",
    )
    named = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen(
        [sys.executable, str(script)], env=named, stdout=subprocess.PIPE, text=True
    ) as job:
        assert job.stdout is not None
        pid = int(job.stdout.readline())
        time.sleep(seconds)
        job.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while _is_running(pid):
        assert time.monotonic() < deadline, "it goes on"
        time.sleep(0.05)


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False

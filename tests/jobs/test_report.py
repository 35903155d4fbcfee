"""`kraftlake report`: the file, what is printed, and what is refused."""

from __future__ import annotations

import os
import re
import shutil
import stat
import threading
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.pipelines.report.incidents import split
from tests.pipelines.report.small_lake import CLUSTER, write_lake

SENTENCE = (
    "Node 2 held 2 records (offsets 10 to 11, epoch 1, written 2026-01-02 03:04:15 to 03:04:16 "
    "UTC) that were never committed and has discarded them between 2026-01-02 03:07:25 UTC and "
    "2026-01-02 03:09:05 UTC. No committed record of the metadata log was lost; there are no "
    "snapshots; in the newest captures the metadata logs of all 3 nodes are the same up to offset "
    "14, written 2026-01-02 03:04:19 UTC."
)
FIRST, _, REST = SENTENCE.partition(". ")
VERDICT = [
    f"RECOVERED   {FIRST}.",
    f"logs        {REST}",
    f"cluster     {CLUSTER}",
]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lake(tmp_path_factory.mktemp("lake"), split(healed=True))


def test_report_prints_the_verdict_and_the_file(
    kraftlake: Kraftlake, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = kraftlake("report", "--lake", lake)
    assert ended.code == 0
    assert ended.lines == [*VERDICT, "report.html"]
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"{FIRST}." in page
    assert REST in page


def test_json_has_a_line_for_each_cluster(kraftlake: Kraftlake, lake: Path, tmp_path: Path) -> None:
    output = tmp_path / "incident.html"
    ended = kraftlake("report", "--lake", lake, "-o", output, "--cluster", CLUSTER, "--json")
    (row,) = ended.rows
    assert row.pop("clauses")[0] == {
        "level": "recovered",
        "text": FIRST.replace("Node", "node"),
    }
    assert row == {
        "file": str(output),
        "cluster_id": CLUSTER,
        "level": "recovered",
        "headline": f"{FIRST}.",
        "sentence": SENTENCE,
        "next_steps": [],
        "runbook": None,
        "not_judged": [],
        "findings": [],
        "refused": "",
        "refused_next": "",
    }


def test_minus_is_standard_output_and_the_verdict_goes_to_stderr(
    kraftlake: Kraftlake, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = kraftlake("report", "--lake", lake, "-o", "-")
    assert ended.code == 0
    assert ended.complaints == VERDICT
    assert ended.out.startswith("<!doctype html>")
    assert ended.out.endswith("</html>")
    assert list(tmp_path.iterdir()) == []


def test_the_page_on_standard_output_is_that_of_the_file(
    process: Kraftlake, lake: Path, tmp_path: Path
) -> None:
    pages = []
    for name in ("-", "/dev/stdout"):
        ended = process("report", "--lake", lake, "-o", name)
        assert (ended.code, len(ended.complaints)) == (0, len(VERDICT)), ended.err
        pages.append(_without_time(ended.out))
    file = tmp_path / "report.html"
    assert process("report", "--lake", lake, "-o", file).code == 0
    assert pages == [_without_time(file.read_text(encoding="utf-8"))] * 2


def test_a_page_goes_into_a_pipe_or_device_and_never_in_its_place(
    kraftlake: Kraftlake, lake: Path, tmp_path: Path
) -> None:
    pipe, target = tmp_path / "pipe", tmp_path / "target.html"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    assert kraftlake("report", "--lake", lake, "-o", pipe).code == 0
    reader.join(10)
    assert read[0].startswith("<!doctype html>")
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    target.write_text("old")
    (tmp_path / "link.html").symlink_to(target)
    assert kraftlake("report", "--lake", lake, "-o", tmp_path / "link.html").code == 0
    assert (tmp_path / "link.html").is_symlink()
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert len(list(tmp_path.iterdir())) == 3


def _without_time(page: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d[^<\"]*", "", page)


def test_a_link_in_the_place_of_the_unfinished_page_is_never_written_through(
    kraftlake: Kraftlake, lake: Path, tmp_path: Path
) -> None:
    (tmp_path / "letter").write_text("precious")
    (tmp_path / f"out.html.{os.getpid()}.tmp").symlink_to(tmp_path / "letter")
    assert kraftlake("report", "--lake", lake, "-o", tmp_path / "out.html").code == 0
    assert (tmp_path / "letter").read_text() == "precious"
    assert not (tmp_path / "out.html").is_symlink()


def test_a_file_that_can_t_be_written_is_refused_and_nothing_is_left(
    kraftlake: Kraftlake, lake: Path, tmp_path: Path
) -> None:
    ended = kraftlake("report", "--lake", lake, "-o", tmp_path / "no" / "report.html")
    assert ended.code == 2
    assert ended.error == (
        f"-o {tmp_path}/no/report.html: No such file or directory; name a file in a folder that "
        "can be written"
    )
    ended = kraftlake("report", "--lake", lake, "-o", tmp_path)
    assert ended.code == 2
    assert "Is a directory" in ended.error
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_promises_another_form_is_refused_before_any_work(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    page = tmp_path / "incident.md"
    of_lake = ("report", "--lake", tmp_path / "none", "-o", page)
    of_directories = ("what-happened", tmp_path, "--html", page)
    for option, command in (("-o", of_lake), ("--html", of_directories)):
        ended = kraftlake(*command)
        assert (ended.code, ended.error) == (
            2,
            f"{option} {page}: the page is written as HTML, not as .md: name a file that ends in "
            ".html",
        )
    assert list(tmp_path.iterdir()) == []


def test_a_lake_that_is_not_there_or_not_built_is_refused(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    ended = kraftlake("report", "--lake", tmp_path / "none")
    assert ended.code == 2
    assert "no such folder" in ended.error
    lake = write_lake(tmp_path / "lake", {}, leave_out=["gold.truncations"])
    ended = kraftlake("report", "--lake", lake)
    assert ended.code == 2
    assert ended.error.endswith(f"run `kraftlake build --lake {lake}` first")


@pytest.mark.slow
def test_of_directories_the_page_is_that_of_a_lake_which_is_gone_afterwards(
    process: Kraftlake, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = shutil.copytree(data / "kafka-3.7.2-static/live/1", tmp_path / "node")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.chdir(tmp_path)
    variables = {"TMPDIR": str(temporary), "KRAFTLAKE_LAKE": str(tmp_path / "not-this-one")}
    ended = process("report", node, "-o", tmp_path / "incident.html", **variables)
    assert ended.code == 0
    assert any(line == "cluster     gT_wj4dEReaNt2vnLWy9Aw" for line in ended.lines)
    assert ended.lines[-1] == str(tmp_path / "incident.html")
    page = (tmp_path / "incident.html").read_text(encoding="utf-8")
    assert f"Directories {node}, generated" in page
    assert str(temporary) not in page
    assert list(temporary.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "incident.html",
        "node",
        "temporary",
    ]


def test_order_of_captures_is_for_directories(kraftlake: Kraftlake, lake: Path) -> None:
    ended = kraftlake("report", "--lake", lake, "--order", "a,b")
    assert (ended.code, ended.error) == (2, "--order goes with PATH")

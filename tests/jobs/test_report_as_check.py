"""The report of directories says what `check` says of them, also through the lake that it makes."""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path

import pytest

from jobs.cli.directories.reported.pages import report_of
from jobs.cli.sharing.report import report_lines
from tests.jobs.conftest import Kraftlake
from tests.jobs.two_histories import two_histories, with_folders


def test_the_page_says_which_disks_were_put_back_and_which_folders_hold_data(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    """The tables of a lake know neither."""
    nodes, page = with_folders(two_histories(tmp_path / "nodes")), tmp_path / "report.html"
    checked = kraftlake("check", nodes).lines
    ended = kraftlake("report", nodes, "-o", page)
    assert ended.lines[:4] == checked[:4]
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html.unescape(page.read_text("utf-8"))))
    assert "the history of node 3 is the one that was there before." in text
    assert "Nodes 4 and 5 hold 2 folders *-delete of topic orders" in text
    assert "Nodes 4 and 5 hold 2 folders *-stray of topic fares" in text


def test_above_several_clusters_stands_one_verdict(kraftlake: Kraftlake, data: Path) -> None:
    folders = [str(data / one / "final") for one in ("kafka-3.7.2-static", "kafka-4.1.1-dynamic")]
    checked = kraftlake("check", *folders).lines
    above = checked[: checked.index("")]
    report = report_of(folders, [], None)
    assert report is not None
    lines = [*report_lines(report)]
    assert lines[: len(above) + 1] == [*above, ""]
    assert lines[0].startswith("OUTAGE      2 clusters are in these directories. The worst: 933")
    of_clusters = [one for one in lines if one.startswith("cluster  ")]
    assert "Lr3UIdBxT-GFPYE5uprmrg" in of_clusters[0], "the worst comes first"


@pytest.mark.parametrize("option", [(), ("--json",)])
def test_a_broker_s_second_log_directory_alone_is_no_matter_of_a_lake(
    kraftlake: Kraftlake, data: Path, tmp_path: Path, option: tuple[str, ...]
) -> None:
    second = tmp_path / "disk2"
    (second / "orders-0").mkdir(parents=True)
    shutil.copy(data / "kafka-4.1.1-dynamic/final/11/meta.properties", second)
    ended = kraftlake("report", second, "-o", tmp_path / "report.html", *option)
    said = ended.out + ended.err
    assert "lake" not in said.replace("kraftlake", "")
    if option:
        assert "no directory names its cluster and holds a record of it" in ended.error
    else:
        assert "nothing here has a metadata log that can be read" in said
        assert said.count("left out") == 1

"""A log directory that was formatted and never used ends no command, and is judged by others."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.check.first_start import CLUSTER, format_only, start

ANOTHER = "SeqmQktRQ9eNfuKic4TCIg"


def test_a_formatted_node_doesn_t_end_the_check_of_its_neighbours(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    for node in (1, 2):
        start(tmp_path / str(node), node)
    format_only(tmp_path / "3", 3)
    paths = [tmp_path / str(node) for node in (1, 2, 3)]
    ended = kraftlake("check", "--json", "--severity", "note", *paths)
    assert ended.code == 0
    assert len(ended.summary["directories"]) == 2
    (row,) = (row for row in ended.findings if row["rule"] == "never-started")
    assert row["file"] == f"{tmp_path}/3/meta.properties"
    assert row["message"].startswith(f"cluster {CLUSTER}, node 3, directory ")
    # where it stands below the same folder, too
    below = kraftlake("check", "--json", "--severity", "note", tmp_path)
    assert [row["rule"] for row in below.findings].count("never-started") == 1


@pytest.mark.parametrize("command", [("recover", "--plan"), ("timeline",), ("history",)])
def test_other_commands_leave_a_formatted_node_out(
    kraftlake: Kraftlake, data: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    nodes = [data / "kafka-4.1.1-dynamic/final" / str(node) for node in (1, 2)]
    format_only(tmp_path / "3", 3)
    ended = kraftlake(*command, *nodes, tmp_path / "3")
    assert ended.out
    left_out = f"{tmp_path}/3: left out: formatted for node 3, and no metadata log"
    assert left_out in ended.complaints
    alone = kraftlake(*command, tmp_path / "3")
    assert alone.code == 2
    assert "formatted, and without a metadata log: the node never started" in alone.err


@pytest.mark.parametrize("ending", ["tar.gz", "zip"])
def test_a_bundle_s_formatted_node_is_judged_like_a_folder_s(
    kraftlake: Kraftlake, tmp_path: Path, ending: str
) -> None:
    nodes, other = tmp_path / "nodes", tmp_path / "other"
    start(nodes / "1", 1)
    format_only(nodes / "3", 3, ANOTHER)
    format_only(other / "2", 2)
    archive = "gztar" if ending == "tar.gz" else "zip"
    for folder in (nodes, other):
        shutil.make_archive(str(folder), archive, folder)
    ended = kraftlake("check", "--json", tmp_path / f"nodes.{ending}")
    assert [(row["rule"], row["file"]) for row in ended.findings if row["severity"] != "info"] == [
        ("formatted-for-another-cluster", f"{tmp_path}/nodes.{ending}/3/meta.properties")
    ]
    alone = kraftlake("check", "--json", tmp_path / f"other.{ending}")
    assert [row["rule"] for row in alone.findings] == ["never-started"]


def test_where_no_node_ever_started_nothing_is_called_healthy(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    format_only(tmp_path / "1", 1)
    ended = kraftlake("check", tmp_path)
    assert ended.lines[0].startswith("INCOMPLETE")
    assert "nothing here has a metadata log that can be read" in ended.out


def test_a_formatted_disk_of_another_cluster_is_told(kraftlake: Kraftlake, tmp_path: Path) -> None:
    for node in (1, 2):
        start(tmp_path / str(node), node)
    format_only(tmp_path / "3", 3, ANOTHER)
    ended = kraftlake("check", "--json", tmp_path)
    assert ended.code == 1
    assert [row["rule"] for row in ended.findings] == ["formatted-for-another-cluster"]


def test_log_directories_of_a_node_name_one_cluster(kraftlake: Kraftlake, tmp_path: Path) -> None:
    start(tmp_path / "node1/metadata", 1)
    format_only(tmp_path / "node1/data", 1)
    assert kraftlake("check", tmp_path / "node1").code == 0
    format_only(tmp_path / "node1/more", 1, ANOTHER)
    ended = kraftlake("check", "--json", tmp_path / "node1")
    assert [row["rule"] for row in ended.findings] == ["log-directories-differ"]
    assert ended.findings[0]["file"] == f"{tmp_path}/node1/more/meta.properties"


@pytest.mark.parametrize("command", ["check", "what-happened"])
def test_nodes_that_were_only_formatted_have_a_verdict(
    kraftlake: Kraftlake, tmp_path: Path, command: str
) -> None:
    format_only(tmp_path / "3", 3)
    ended = kraftlake(command, tmp_path / "3")
    assert ended.code == 0
    assert ended.lines[0].startswith("INCOMPLETE ")
    assert "Else start its voters: `kraftlake check --config`" in ended.out


@pytest.mark.parametrize("command", ["check", "what-happened"])
def test_nobody_is_asked_for_directories_of_nodes_that_were_given(
    kraftlake: Kraftlake, tmp_path: Path, command: str
) -> None:
    """Node 1 has started and names three static voters; the others were only formatted."""
    nodes = [start(tmp_path / "1", 1), *(format_only(tmp_path / n, int(n)) for n in "23")]
    assert "no voter was ever elected" in kraftlake(command, tmp_path).out
    assert "Add the director" not in kraftlake(command, tmp_path).out
    few = kraftlake(command, *nodes[:2]).out
    assert "Add the directory of node 3" in few
    assert "no voter was ever elected" in few


@pytest.mark.parametrize("command", ["check", "what-happened"])
def test_where_no_file_names_the_voters_it_is_said_so(
    kraftlake: Kraftlake, tmp_path: Path, command: str
) -> None:
    for node in (1, 2):
        start(tmp_path / str(node), node, voters=())
    told = kraftlake(command, tmp_path).out
    assert "no log that was given holds a record, and no file names the voters" in told
    assert "Add the directories of all voters" not in told

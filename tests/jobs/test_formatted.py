"""A log directory that was formatted and never used ends no command, and is judged by others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.replica.check.first_start import CLUSTER, format_only, start

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

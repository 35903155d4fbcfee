"""`kraftlake check`: how many voters of a quorum it was given. A divergence shows only between the
logs of two of them, so one directory that is sound alone proves little."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake

STATIC, STATIC_ID = "kafka-3.7.2-static/split", "gT_wj4dEReaNt2vnLWy9Aw"
DYNAMIC, DYNAMIC_ID = "kafka-4.1.1-dynamic/split", "Lr3UIdBxT-GFPYE5uprmrg"


def voters_line(lines: list[str]) -> list[str]:
    return [line for line in lines if re.match(r"not judged  \d+ of \d+ voters", line)]


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("nodes", "missing", "others"),
    [
        ((2,), "2 of 3 voters (nodes 1 and 3), because their", "directories of nodes 1 and 3"),
        ((2, 3), "1 of 3 voters (node 1), because its", "directory of node 1"),
        (
            (11,),
            "3 of 3 voters (nodes 1, 2 and 3), because their",
            "directories of nodes 1, 2 and 3",
        ),
    ],
)
def test_check_says_which_voters_it_was_not_given(
    kraftlake: Kraftlake, nodes: tuple[int, ...], missing: str, others: str
) -> None:
    ended = kraftlake("check", *(f"{STATIC}/{node}" for node in nodes))
    (line,) = voters_line(ended.lines)
    assert line.startswith(f"not judged  {missing} director")
    disks = "their disks" if others.startswith("directories") else "its disk"
    assert line.endswith(
        f" not given. Add the {others}, if {disks} can still be read: divergence shows only when "
        "logs are compared."
    )
    assert " checked: " in ended.lines[-1]


@pytest.mark.usefixtures("recorded")
def test_one_voter_alone_is_incomplete_and_keeps_the_exit_code_0(kraftlake: Kraftlake) -> None:
    ended = kraftlake("check", "--family", "files", f"{STATIC}/2")
    assert (ended.code, len(voters_line(ended.lines))) == (0, 1)
    assert ended.lines[0].startswith("INCOMPLETE  ")


@pytest.mark.usefixtures("recorded")
def test_check_of_all_voters_says_nothing_of_others(kraftlake: Kraftlake) -> None:
    assert voters_line(kraftlake("check", STATIC).lines) == []


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("family", ["files", "health", "all"])
def test_voters_that_were_not_given_are_named_in_every_family(
    kraftlake: Kraftlake, family: str
) -> None:
    ended = kraftlake("check", "--family", family, "--severity", "error", f"{STATIC}/2")
    assert len(voters_line(ended.lines)) == 1


@pytest.mark.usefixtures("recorded")
def test_json_has_the_voters_of_each_quorum_and_those_not_checked(kraftlake: Kraftlake) -> None:
    summary = kraftlake("check", "--json", f"{STATIC}/2", f"{DYNAMIC}/3").summary
    assert [
        (
            one["cluster_id"],
            [voter["node_id"] for voter in one["voters"]],
            [voter["node_id"] for voter in one["not_checked"]],
        )
        for one in summary["quorums"]
    ] == [(STATIC_ID, [1, 2, 3], [1, 3]), (DYNAMIC_ID, [1, 2, 3], [1, 2])]
    static, dynamic = summary["quorums"]
    assert static["voters"][0] == {"node_id": 1, "directory_id": None}
    assert dynamic["not_checked"][1] == {"node_id": 2, "directory_id": "vVWAweqkRhqksC9dk42J8Q"}
    complete = kraftlake("check", "--json", STATIC).summary["quorums"]
    assert [one["not_checked"] for one in complete] == [[]]


def test_another_disk_of_a_voters_node_is_not_the_voter(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    node = Path(shutil.copytree(data / DYNAMIC / "3", tmp_path / "node"))
    properties = node / "meta.properties"
    text = properties.read_text().replace("YabyXINkS7WFoc_9PzSg0w", "AAAAAAAAAAAAAAAAAAAAKg")
    properties.write_text(text)
    (line,) = voters_line(kraftlake("check", node).lines)
    assert "nodes 1, 2 and 3 (directory YabyXINkS7WFoc_9PzSg0w)" in line


def test_a_segment_alone_is_of_no_known_quorum(kraftlake: Kraftlake, data: Path) -> None:
    segment = data / STATIC / "2/__cluster_metadata-0/00000000000000000000.log"
    assert voters_line(kraftlake("check", segment).lines) == []

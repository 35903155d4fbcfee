"""A replica whose disk went back between two captures is named by every command that is given
both."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.check.editing import batches, segment

DYNAMIC, STATIC = "kafka-4.1.1-dynamic", "kafka-3.7.2-static"
METADATA = "__cluster_metadata-0"
Damage = Callable[[Path, Path], str]
TWICE = "may vote a second time in an epoch in which it voted already"
LOST = "lacks records that it acknowledged: it may help to elect a leader that lacks committed"


def names_the_danger(text: str, why: str) -> bool:
    """Whether a text says what the voter's start may do: where its quorum-state is as it was, its
    votes are not forgotten."""
    return LOST in text and (TWICE in text) is not why.startswith("and is 3")


def restored(data: Path, node: Path) -> str:
    """From a backup of before the last elections, in which node 2 did not vote."""
    shutil.rmtree(node)
    shutil.copytree(data / DYNAMIC / "live/2", node)
    return "its log end offset was 3673 in an earlier capture, and is 1524 now"


def truncated(_: Path, node: Path) -> str:
    """Below records that a majority holds, with its quorum-state as it was."""
    path = segment(node, max(int(one.stem) for one in (node / METADATA).glob("*.log")))
    raw, held = path.read_bytes(), batches(path)
    gone = held[len(held) // 2]
    path.write_bytes(raw[: gone.position])
    return f"and is {gone.header.base_offset} now"


def emptied(_: Path, node: Path) -> str:
    """Formatted anew with the directory.id it had: the log, snapshots and vote are gone."""
    shutil.rmtree(node / METADATA)
    (node / METADATA).mkdir()
    return "and is 0 now"


@pytest.fixture(params=[restored, truncated, emptied])
def captures(request: pytest.FixtureRequest, data: Path, tmp_path: Path) -> tuple[Path, str]:
    """Two captures of three voters, before and after; in the second one node 2 went back. And what
    is said of it."""
    for name in ("before", "after"):
        for node in ("1", "2", "3"):
            shutil.copytree(data / DYNAMIC / "final" / node, tmp_path / name / node)
    return tmp_path, request.param(data, tmp_path / "after/2")


def test_check_names_a_replica_that_went_back(
    kraftlake: Kraftlake, captures: tuple[Path, str]
) -> None:
    folder, why = captures
    ended = kraftlake("check", "--order", "before,after", "--json", folder)
    (found,) = (row for row in ended.findings if row["rule"] == "replica-went-back")
    assert why in found["message"]
    assert names_the_danger(found["message"], why)
    assert found["file"].startswith(str(folder / "after/2"))
    assert ended.code == 1
    other_way = kraftlake("check", "--order", "after,before", "--json", folder)
    assert "replica-went-back" not in {row["rule"] for row in other_way.findings}


def test_timeline_and_what_happened_name_it(
    kraftlake: Kraftlake, captures: tuple[Path, str]
) -> None:
    folder, why = captures
    rows = kraftlake("timeline", "--order", "before,after", "--json", folder).rows
    (event,) = (row for row in rows if row["event"] == "went_back")
    assert (event["name"], event["nodes"]) == ("node 2", [2])
    assert why in event["detail"]
    told = kraftlake("what-happened", "--order", "before,after", folder).out
    assert "went back: node 2 has older files than before (" in told
    assert "node 2" in told
    assert why in told
    alone = kraftlake("timeline", "--json", folder / "after").rows
    assert "went_back" not in {row["event"] for row in alone}


@pytest.mark.parametrize("scenario", [DYNAMIC, STATIC, "kafka-4.4.0-dynamic"])
def test_logs_that_were_truncated_as_raft_does_it_did_not_go_back(
    kraftlake: Kraftlake, data: Path, scenario: str
) -> None:
    """Between split and final Kafka truncated the cut-off leader's records."""
    named = ("--order", "live,split,final", "--json", data / scenario)
    assert "replica-went-back" not in {row["rule"] for row in kraftlake("check", *named).findings}
    assert "went_back" not in {row["event"] for row in kraftlake("timeline", *named).rows}


def test_a_voter_that_went_back_is_counted_for_no_majority(
    kraftlake: Kraftlake, captures: tuple[Path, str]
) -> None:
    folder, why = captures
    shutil.rmtree(folder / "after/3")
    ended = kraftlake("recover", "--plan", "--order", "before,after", folder)
    assert ended.code == 1
    assert "only 1 of 3 voters can be relied on" in ended.out
    assert why in ended.out
    stopped = kraftlake("plan", "--stop-broker", "11", "--order", "before,after", folder)
    assert why in stopped.out
    assert stopped.code != 0
    made = kraftlake("restore", "--dry-run", "--release", "4.4", "--order", "before,after", folder)
    assert made.code == 0
    assert "restore: not all of this state is proven to be committed: only 1 of 3" in made.err
    rehearsed = kraftlake("rehearse", "--seeds", "0:2", "--order", "before,after", folder)
    assert rehearsed.code == 3
    assert why in rehearsed.out
    (told,) = (one for one in rehearsed.lines if "voter 2 " in one and "leave it stopped" in one)
    assert names_the_danger(told, why)


def test_captures_are_in_the_order_of_their_times(
    kraftlake: Kraftlake, captures: tuple[Path, str]
) -> None:
    """By capture.json, whatever the folders are called."""
    folder, why = captures
    for name, hour in (("before", 5), ("after", 6)):
        info = {"version": 1, "captured_at": f"2026-11-21T0{hour}:00:00.000Z"}
        (folder / name / "capture.json").write_text(json.dumps(info))
    ended = kraftlake("check", "--json", folder)  # "after" comes first by its name
    (found,) = (row for row in ended.findings if row["rule"] == "replica-went-back")
    assert why in found["message"]


@pytest.mark.slow
def test_a_lake_names_it_too(
    kraftlake: Kraftlake, captures: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, why = captures
    lake = tmp_path_factory.mktemp("lake") / "lake"
    assert kraftlake("ingest", "--lake", lake, "--order", "before,after", folder).code == 0
    assert kraftlake("build", "--lake", lake).code == 0
    asked = "SELECT node_id, message FROM gold.findings WHERE rule = 'replica-went-back'"
    (row,) = kraftlake("sql", "--lake", lake, "--json", asked).rows
    assert row["node_id"] == 2
    assert why in row["message"]
    assert names_the_danger(row["message"], why)

"""`kraftlake rehearse`: recorded clusters run on, against what Kafka did and against Raft."""

from __future__ import annotations

import json
import os
import re
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from jobs.cli.directories.diff import examine_one
from replica.doctor.check.history_log import replica_log
from replica.history.divergence import compare
from replica.history.log import ReplicaLog
from tests.jobs.conftest import Ended, Kraftlake
from tests.replica.doctor.check.editing import batches, segment, set_value

DYNAMIC = "kafka-4.1.1-dynamic"
STATIC = "kafka-3.7.2-static"
NODES = (1, 2, 3, 11, 12)
FEW = ("--seeds", "0:6", "--failures", "0")
TWO = ("--seeds", "0:2", "--failures", "0")


def outcomes(ended: Ended) -> list[dict[str, Any]]:
    return [row for row in ended.rows if row["kind"] == "outcome"]


def log_in(folder: Path) -> ReplicaLog:
    return replica_log(examine_one(str(folder)), "")


def nodes_of(outcome: dict[str, Any]) -> dict[int, dict[str, Any]]:
    return {node["node_id"]: node for node in outcome["nodes"]}


@pytest.mark.parametrize("scenario", [DYNAMIC, STATIC, "kafka-4.4.0-dynamic"])
def test_recorded_splits_run_on_give_the_leader_and_the_truncations_of_kafka(
    kraftlake: Kraftlake, data: Path, tmp_path: Path, scenario: str
) -> None:
    split, final = data / scenario / "split", data / scenario / "final"
    ended = kraftlake("rehearse", "--json", *FEW, "-o", tmp_path / "out", split)
    state = json.loads((final / "3/__cluster_metadata-0/quorum-state").read_text())
    assert ended.code == 4
    assert {row["leader"] for row in outcomes(ended)} >= {state["leaderId"]}
    assert {row["leader"] for row in outcomes(ended)} <= {1, 3}, "node 2 could win nothing"
    before = {node_id: log_in(split / str(node_id)) for node_id in NODES}
    after = {node_id: log_in(final / str(node_id)) for node_id in NODES}
    least = min(before[1].end_offset, before[3].end_offset)
    for outcome in outcomes(ended):
        fates = nodes_of(outcome)
        for node_id in (2, 11):
            kept = compare(before[node_id], after[node_id]).divergence_offset
            gone = [kept, before[node_id].end_offset]
            assert fates[node_id]["lost"] == [gone]
            assert fates[node_id]["truncated"] in (None, gone)
            assert (fates[node_id]["truncated"] is None) != (fates[node_id]["replaced_by"] is None)
            assert fates[node_id]["superseded_lost"] == gone[1] - gone[0]
        assert not any(fates[node_id]["lost"] for node_id in (1, 3, 12))
        folder = tmp_path / "out" / f"outcome-{outcome['outcome']}"
        for node_id in NODES:
            parted = compare(log_in(folder / str(node_id)), after[node_id]).divergence_offset
            assert parted is None or parted >= least, "Kafka's records and the rehearsal's"


def test_written_outcomes_are_sound_clusters_whose_replicas_agree(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    kraftlake("rehearse", *FEW, "-o", out, data / DYNAMIC / "split")
    checked = kraftlake("check", "--json", "--severity", "warning", out / "outcome-1")
    assert [one["rule"] for one in checked.findings if one["family"] == "files"] == []
    assert kraftlake("diff", out / "outcome-1/2", out / "outcome-1/3").code == 0
    before = kraftlake("diff", "--json", data / DYNAMIC / "split/2", out / "outcome-1/3")
    assert before.rows[0]["divergence_offset"] == 1526


def test_equal_seeds_give_equal_answers_and_nothing_that_is_read_changes(
    kraftlake: Kraftlake, data: Path
) -> None:
    def hashes() -> dict[str, str]:
        files = (path for path in (data / STATIC / "split").rglob("*") if path.is_file())
        return {str(path): sha256(path.read_bytes()).hexdigest() for path in files}

    before = hashes()
    first = kraftlake("rehearse", "--json", *FEW, data / STATIC / "split")
    again = kraftlake("rehearse", "--json", *FEW, data / STATIC / "split")
    assert first.out == again.out
    assert hashes() == before


def test_an_empty_disk_of_a_static_voter_loses_committed_records_as_its_script_shows(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    split, out = data / STATIC / "split", tmp_path / "out"
    ended = kraftlake("rehearse", "--json", "--seeds", "0:3", "-o", out, split)
    loss = ended.rows[-1]
    assert (loss["kind"], loss["dead"], loss["empty"], loss["leader"]) == (
        "smallest_loss",
        [],
        [1],
        2,
    )
    assert loss["committed_lost"] == [[750, 1435]]
    seeds = f"{loss['seed']}:{loss['seed'] + 1}"
    script = out / "smallest-loss.toml"
    assert script.read_text() == loss["scenario"] + "\n"
    shown = kraftlake("rehearse", "--json", "--seeds", seeds, "--scenario", script, split)
    assert shown.code == 1
    assert outcomes(shown)[0]["leader"] == 2
    assert outcomes(shown)[0]["committed_lost"] == [[750, 1435]]


def test_an_empty_disk_of_a_dynamic_voter_votes_for_nobody(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    script = tmp_path / "empty.toml"
    script.write_text("[[step]]\nempty = [1]\n")
    ended = kraftlake("rehearse", "--json", *FEW, "--scenario", script, data / DYNAMIC / "split")
    assert ended.code == 4
    assert [row["leader"] for row in outcomes(ended)] == [3]


def test_an_empty_disk_that_another_voter_names_as_the_leader_ends_its_process_as_in_kafka(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    script = tmp_path / "led.toml"
    script.write_text("[[step]]\ndead = [1, 2]\nempty = [3]\n[[step]]\nstart = [1]\n")
    ended = kraftlake("rehearse", "--json", *FEW, "--scenario", script, data / STATIC / "split")
    assert ended.code == 1
    outcome = outcomes(ended)[0]
    assert outcome["leader"] is None
    (failed,) = outcome["failed"]
    assert failed["node_id"] == 3
    assert "another node names node 3 as the leader of epoch 8" in failed["reason"]


def test_a_former_leader_with_an_empty_disk_follows_once_it_is_started_again_in_a_newer_epoch(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    script = tmp_path / "led.toml"
    split = data / "kafka-4.4.0-dynamic/split"
    script.write_text("[[step]]\nempty = [3]\n")
    once = kraftlake("rehearse", "--json", *FEW, "--scenario", script, split)
    assert any(row["failed"] for row in outcomes(once))
    script.write_text("[[step]]\nempty = [3]\n[[step]]\nstart = [3]\n")
    again = kraftlake("rehearse", "--json", *FEW, "--scenario", script, split)
    assert again.code == 4
    assert not any(row["failed"] for row in outcomes(again))


@pytest.mark.parametrize("command", [("rehearse",), ("recover", "--plan", "--rehearse")])
def test_more_seeds_than_a_rehearsal_may_have_are_refused(
    kraftlake: Kraftlake, data: Path, command: tuple[str, ...]
) -> None:
    ended = kraftlake(*command, "--seeds", "5:10006", data / STATIC / "split")
    assert ended.code == 2
    assert "--seeds 5:10006: 10001 runs: expected 10000 at most" in ended.error


def test_a_node_behind_a_cut_link_catches_up_once_the_link_is_healed(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    cut = "[[step]]\ncut = [[2, 1], [2, 3]]\n"
    script = tmp_path / "cut.toml"
    script.write_text(cut)
    alone = kraftlake("rehearse", "--json", *FEW, "--scenario", script, data / DYNAMIC / "split")
    assert all(nodes_of(row)[2]["truncated"] is None for row in outcomes(alone))
    assert alone.code == 3
    assert "nodes have not caught up at the end: 2" in alone.answers[0]["reasons"][0]
    script.write_text(cut + "[[step]]\nheal = true\n")
    healed = kraftlake("rehearse", "--json", *FEW, "--scenario", script, data / DYNAMIC / "split")
    assert healed.code == 4
    assert all(nodes_of(row)[2]["lost"] == [[1526, 1548]] for row in outcomes(healed))


def test_a_lost_voter_is_removed_and_comes_back_with_a_new_disk(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    script = tmp_path / "replace.toml"
    script.write_text(
        "[[step]]\ndead = [2]\n[[step]]\nempty = [2]\n[[step]]\nremove_voter = 2\n"
        "[[step]]\nadd_voter = 2\n"
    )
    out = tmp_path / "out"
    asked = ("--scenario", script, "-o", out, data / DYNAMIC / "split")
    ended = kraftlake("rehearse", "--json", *FEW, *asked)
    assert ended.code == 4
    checked = kraftlake("check", "--json", out / "outcome-1")
    (role,) = [one["role"] for one in checked.summary["directories"] if one["node_id"] == 2]
    assert role == "voter"


def test_a_change_of_voters_that_the_leader_refuses_is_told(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    script = tmp_path / "remove.toml"
    script.write_text("[[step]]\nremove_voter = 2\n")
    few = ("--seeds", "0:1", "--failures", "0")
    ended = kraftlake("rehearse", *few, "--scenario", script, data / STATIC / "split")
    assert ended.code == 3
    assert "node 2: it was not removed from the voters" in ended.out


def test_a_voter_without_a_directory_makes_the_answer_unknown_until_it_is_said_to_be_dead(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    left = [data / DYNAMIC / "split" / node for node in ("1", "3")]
    ended = kraftlake("rehearse", *FEW, *left)
    assert ended.code == 3
    assert "nothing is known of the disk of voter 2" in ended.out
    script = tmp_path / "dead.toml"
    script.write_text("[[step]]\ndead = [2]\n")
    without = kraftlake("rehearse", *FEW, "--scenario", script, *left)
    assert without.answer_lines[0].endswith(": 6 runs, seeds 0 to 5: safe, if its needs hold")
    assert re.fullmatch(
        r"rehearsed   In 6 of 6 runs a node leads at the end \(node \d in \d and node \d in \d\), "
        r"and no committed record of the metadata log is lost\. Safe for the metadata log, if no "
        r"log grew after the first directory was copied; topics' partitions are not rehearsed\.",
        without.lines[1],
    )
    assert without.code == 4, "a script stops until somebody has checked the needs, as with plan"
    checked = ("--needs-checked", "--seeds", "0:1", "--failures", "0")
    assert kraftlake("rehearse", *checked, "--scenario", script, *left).code == 0
    assert kraftlake("rehearse", *checked, *left).code == 3, "the answer is not safe"


def test_a_log_that_cannot_be_read_to_its_end_is_never_safe(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    shutil.copytree(data / DYNAMIC / "split", tmp_path / "split")
    segment = min((tmp_path / "split/1").glob("*/*.log"))
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 0xFF
    segment.write_bytes(content)
    ended = kraftlake("rehearse", *FEW, tmp_path / "split")
    assert ended.code == 1
    assert "part of its log can't be read" in ended.out
    assert "offsets 631 to 642, which are proven committed, are not in the log of le" in ended.out
    assert re.match(
        r"rehearsed   In \d of 6 runs records of the metadata log that ", ended.lines[1]
    )


def test_logs_that_conflict_are_never_safe_and_what_is_kept_of_them_is_told(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    """Node 11 holds the log of another quorum that was formatted with the same cluster id."""
    shutil.copytree(data / DYNAMIC / "final/3", tmp_path / "3")
    other = tmp_path / "11"
    shutil.copytree(data / "kafka-4.4.0-dynamic/final/11", other)
    mine = (tmp_path / "3/meta.properties").read_text()
    (cluster,) = (line for line in mine.splitlines() if line.startswith("cluster.id="))
    theirs = other / "meta.properties"
    theirs.write_text(re.sub("cluster.id=.*", cluster, theirs.read_text()))
    for node in ("1", "2"):
        shutil.copytree(data / DYNAMIC / "final" / node, tmp_path / node)
    named = [tmp_path / node for node in ("1", "2", "3", "11")]
    ended = kraftlake("rehearse", *TWO, *named)
    assert ended.code == 1
    assert "a person has to choose one: start no node" in ended.out
    check = kraftlake("check", *named)
    assert "conflict" in check.out
    assert check.code == 1
    row = nodes_of(outcomes(kraftlake("rehearse", "--json", *TWO, *named))[0])[11]
    if row["replaced_by"] is None:
        assert row["other"]
        assert "at which the leader has other records" in ended.out


def test_two_logs_of_one_epoch_are_never_safe(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    shutil.copytree(data / DYNAMIC / "final", tmp_path / "final")
    path = segment(tmp_path / "final/2", 2722)
    set_value(path, batches(path)[-1], lambda value: value[:-1] + b"\x01")
    rehearsed = kraftlake("rehearse", *FEW, tmp_path / "final")
    assert (rehearsed.code, "unsafe" in rehearsed.answer_lines[0]) == (1, True)
    planned = kraftlake("recover", "--plan", tmp_path / "final")
    assert (planned.code, ": start no node: " in planned.answer_lines[0]) == (1, True)


@pytest.mark.parametrize("is_stale", [True, False])
def test_a_voter_that_may_vote_twice_makes_the_answer_unknown_until_it_is_said_to_be_dead(
    kraftlake: Kraftlake, data: Path, tmp_path: Path, is_stale: bool
) -> None:
    for node in ("1", "2", "3"):
        capture = "live" if is_stale and node == "3" else "final"
        shutil.copytree(data / DYNAMIC / capture / node, tmp_path / "now" / node)
    if not is_stale:
        (tmp_path / "now/3/__cluster_metadata-0/quorum-state").unlink()
    ended = kraftlake("rehearse", *FEW, tmp_path / "now")
    assert ended.code == 3
    why = "its directory is of epoch 5, and" if is_stale else "it has no quorum-state):"
    twice = "voter 3 may vote a second time in an epoch in which it voted already"
    assert f"{twice} ({why}" in ended.out
    script = tmp_path / "dead.toml"
    script.write_text("[[step]]\ndead = [3]\n")
    assert kraftlake("rehearse", *FEW, "--scenario", script, tmp_path / "now").code == 4
    script.write_text("[[step]]\nstart = [1, 2, 3]\n")
    named = kraftlake("rehearse", *FEW, "--scenario", script, tmp_path / "now")
    assert (named.code, f"{twice} ({why}" in named.lines[1]) == (3, True)


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("[[step]]\ndead = x", "scenario.toml: Invalid value (at line 2, column 8)"),
        ("", "scenario.toml: expected tables [[step]], with heal, cut, dead"),
        ("dead = [1]", "scenario.toml: dead: expected nothing but tables [[step]]"),
        ("[[step]]\nkill = [1]", "scenario.toml: step 1: kill: expected heal, cut, dead"),
        ("[[step]]\ndead = [7]", "step 1: dead: 7 is no node of this quorum: expected 1, 2, 3, 11"),
        ("[[step]]\n[[step]]\ndead = 1", "step 2: dead: expected a list of node ids, such as [1]"),
        ("[[step]]\ncut = [1, 2]", "step 1: cut: expected a list of pairs of node ids"),
        ("[[step]]\ncut = [[2, 2]]", "step 1: cut: expected two nodes, found 2 twice"),
        ("[[step]]\nheal = 1", "step 1: heal: expected true or false"),
        ("[[step]]\nwait_ms = 0", "step 1: wait_ms: expected simulated ms, from 1 to 3600000"),
        ("[[step]]\nadd_voter = true", "step 1: add_voter: True is no node of this quorum"),
        ("[[step]]\ndead = [1]\nempty = [1]", "step 1: empty: node 1 is in dead, too"),
        (
            f"[[step]]\ndead = {'[' * 5000}{']' * 5000}",
            "scenario.toml: lists or tables are nested too deeply",
        ),
        (f"[[step]]\nwait_ms = {'9' * 5000}", "scenario.toml: a number of more than"),
        (f"[[step]]\ndead = [0x{'f' * 9000}]", "step 1: dead: a number of 36000 bits is no node"),
        (f"[[step]]\ndead = ['{'x' * 9000}']", "step 1: dead: 'xxx"),
        ("[[step]]\n" * 101, "scenario.toml: 101 steps: expected 100 at most"),
        ("[[step]]\nwait_ms = 1800001\n" * 2, "step 2: wait_ms: the steps wait for more than"),
        ("#" * 16_385, "scenario.toml: more than 16384 bytes"),
    ],
)
def test_a_wrong_scenario_is_refused_with_its_line_or_field_and_what_it_may_say(
    kraftlake: Kraftlake, tmp_path: Path, script: str, said: str
) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(script)
    ended = kraftlake("rehearse", "--scenario", path, f"{STATIC}/split")
    assert ended.code == 2
    assert said in ended.error
    assert len(ended.error) < 300


def test_written_outcomes_hold_secrets_and_are_their_owners_only(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    before = os.umask(0)
    try:
        kraftlake("rehearse", *FEW, "-o", tmp_path / "out", data / STATIC / "split")
    finally:
        os.umask(before)
    modes = {path.is_dir(): path.stat().st_mode & 0o777 for path in (tmp_path / "out").rglob("*")}
    assert modes == {True: 0o700, False: 0o600}
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o700


def test_outcomes_are_written_to_no_folder_that_other_users_can_change(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "mine").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    for folder, said in (("open", "everybody may write to it"), ("link", "a link")):
        ended = kraftlake("rehearse", *FEW, "-o", tmp_path / folder, data / STATIC / "split")
        assert ended.code == 2
        assert said in ended.error
    assert not any((tmp_path / "mine").iterdir())


def test_wrong_options_of_rehearse_are_refused(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    split = data / STATIC / "split"
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    for arguments, said in (
        (("-o", tmp_path / "full", split), "not empty; name a new folder"),
        (("--seeds", "5:5", split), "--seeds 5:5: expected A:B with A below B"),
        (("--scenario", tmp_path / "gone", split), "No such file"),
        ((split, data / DYNAMIC / "split"), "the directories are of 2 clusters"),
        ((split / "1", tmp_path / "gone"), "gone: no such file"),
    ):
        ended = kraftlake("rehearse", *arguments)
        assert ended.code == 2
        assert said in ended.error

"""`kraftlake state --sizes` and `--exposure`, of directories and of a lake."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.check.editing import append, metadata, segment

WELL, ILL = "kafka-4.4.0-dynamic/final", "kafka-4.1.1-dynamic/split"
CLUSTER = "Lr3UIdBxT-GFPYE5uprmrg"
SIZES = ["about", "name", "count", "replicas", "size_bytes", "per_hour"]
EXPOSURE = [
    "kind",
    "gone",
    "leaderless",
    "needs_unclean",
    "below_min_isr",
    "known_below_min_isr",
    "voters_left",
    "has_majority",
    "since_offset",
    "since",
]


def by_name(rows: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["about"], row["name"]): row for row in rows}


@pytest.mark.usefixtures("recorded")
def test_sizes_of_directories_are_entities_topics_and_records(kraftlake: Kraftlake) -> None:
    ended = kraftlake("state", "--sizes", "--json", WELL)
    assert ended.code == 0
    assert ended.complaints == ["state: of cluster OLR1FFlQQCyXLM2zfhjyAg up to offset 2664"]
    assert all(list(row) == SIZES for row in ended.rows)
    rows = by_name(ended.rows)
    assert rows["entity", "partition"]["count"] == 624
    assert rows["topic", "k0-310-1"] == {
        "about": "topic",
        "name": "k0-310-1",
        "count": 28,
        "replicas": 28,
        "size_bytes": None,
        "per_hour": None,
    }
    assert sum(row["count"] for row in ended.rows if row["about"] == "topic") == 624
    assert sum(row["count"] for row in ended.rows if row["about"] == "record") == 2665
    assert rows["record", "LEADER_CHANGE"]["count"] == 4


@pytest.mark.usefixtures("recorded")
def test_exposure_of_directories_is_told_for_each_failure(kraftlake: Kraftlake) -> None:
    ended = kraftlake("state", "--exposure", "--json", WELL)
    assert ended.code == 0
    assert all(list(row) == EXPOSURE for row in ended.answers)
    harm = {(row["kind"], *row["gone"]): row["leaderless"] for row in ended.answers}
    assert harm == {
        ("nothing",): 0,
        ("broker", "11"): 500,
        ("broker", "12"): 124,
        ("pair", "11", "12"): 624,
        **{("voter", one): 0 for one in "123"},
    }
    assert {row["has_majority"] for row in ended.answers} == {True}
    lines = kraftlake("state", "--exposure", "--limit", "1", ILL).lines
    assert lines[lines.index("") + 1] == "Now (none is gone), and once a broker is gone:"
    assert "... and 1 more; --limit 2 or --json lists all" in lines


@pytest.mark.usefixtures("recorded")
def test_exposure_begins_with_the_verdict_and_says_how_many_have_no_leader_already(
    kraftlake: Kraftlake,
) -> None:
    """Of the partitions without leader once a broker is gone, some may have none now."""
    lines = kraftlake("state", "--exposure", ILL).lines
    assert lines[0].startswith("OUTAGE      933 of 1105 partitions (95 topics) have had no leader")
    assert any(line.startswith("next        Start broker 11") for line in lines)
    assert any(
        line.startswith("as of       2026-11-21 03:20:10 UTC, offset 2711") for line in lines
    )
    brokers = lines.index("Now (none is gone), and once a broker is gone:")
    assert lines[brokers + 3].split()[:2] == ["none", "933"]
    assert lines[brokers + 4].split()[:4] == ["12", "1105", "(933", "now)"]
    verdict, now, *_ = kraftlake("state", "--exposure", "--json", ILL).rows
    checked, *_ = kraftlake("check", "--json", ILL).rows
    assert verdict == checked
    assert (now["leaderless"], now["needs_unclean"]) == (933, 0), "they wait for broker 11"


@pytest.mark.usefixtures("recorded")
def test_exposure_names_the_worst_broker_below_the_headline_and_its_notes_last(
    kraftlake: Kraftlake,
) -> None:
    """A person at night reads two lines. The first table is that of the brokers."""
    lines = kraftlake("state", "--exposure", ILL).lines
    assert lines[1] == (
        "exposure    Down now: node 11. Once broker 12 is gone, 1105 of 1105 partitions have no "
        "leader (933 now). Once voter 1 or 3 is gone, the quorum has no majority."
    )
    well = kraftlake("state", "--exposure", WELL).lines
    assert well[1].startswith("exposure    Once broker 11 is gone, 500 of 624 partitions have no ")
    titles = [line for line in well if line.endswith(" gone:")]
    assert titles == [
        "Now (none is gone), and once a broker is gone:",
        "Once two brokers are gone:",
        "Once a voter is gone:",
    ]
    assert well.index(titles[0]) == well.index("") + 1
    assert well[-2:] == ["", next(line for line in well if line.startswith("voters_left  "))]


@pytest.mark.usefixtures("recorded")
def test_exposure_says_that_nobody_leads_or_may_lead_the_quorum(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    """One voter of three and a broker are left, and both have seen elections fail."""
    for node in ("1", "11"):
        shutil.copytree(f"kafka-3.7.2-static/final/{node}", tmp_path / node)
        state = tmp_path / node / "__cluster_metadata-0/quorum-state"
        fields = json.loads(state.read_text()) | {"leaderId": -1, "leaderEpoch": 99}
        state.write_text(json.dumps(fields))
    alone = kraftlake("state", "--exposure", tmp_path / "1").lines
    assert "These are the numbers if the quorum has a leader now; without one, no part" in alone[1]
    (said,) = (one for one in alone if one.startswith("quorum "))
    assert "has perhaps no leader, by the verdict: the figures above are those with a" in said
    both = kraftlake("state", "--exposure", tmp_path / "1", tmp_path / "11").lines
    assert " Without a leader of the quorum no partition gets another leader. The last" in both[1]
    (said,) = (one for one in both if one.startswith("quorum "))
    assert "has no leader, by the verdict: a partition whose leader is gone gets no other" in said


@pytest.mark.usefixtures("recorded")
def test_exposure_says_what_is_not_known_where_a_zero_would_read_as_none(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    """min.insync.replicas is in the brokers' files. A voter without a directory is counted."""
    node = tmp_path / "node"
    shutil.copytree("kafka-3.7.2-static/final/1", node)
    fields = {"replicas": (11, 12), "isr": (12,), "leader": 12, "topicId": "A" * 21 + "Q"}
    log = segment(node, 0)
    append(log, metadata("TOPIC_RECORD", name="two", topicId="A" * 21 + "Q"))
    append(log, metadata("PARTITION_RECORD", partitionId=0, **fields))
    text, rows = kraftlake("state", "--exposure", node), by_failure(kraftlake, str(node))
    first = text.lines.index("Now (none is gone), and once a broker is gone:")
    assert text.lines[first + 3].split()[:4] == ["none", "0", "0", "?"]
    now = rows["nothing",]
    assert (now["below_min_isr"], now["known_below_min_isr"]) == (None, 0)
    assert rows["broker", "12"]["below_min_isr"] == 0, "it leaves the partition without a leader"
    notes = text.lines[len(text.lines) - text.lines[::-1].index("") :]
    assert notes[:2] == [
        "below_min_isr  ? where it depends on 1 partition whose min.insync.replicas no log holds: "
        "--broker-config server.properties gives the default",
        "voters_left    counts voters 1, 2 and 3, of which no log shows that they run; no "
        "directory of voters 2 and 3 was given",
    ]
    assert notes[2].startswith("needs          voters 2 and 3 have to hold nothing newer: ")
    assert text.err == "", "the verdict and what it rests on stand on stdout"
    file = tmp_path / "server.properties"
    file.write_text("min.insync.replicas=2\n")
    known = by_failure(kraftlake, "--broker-config", str(file), str(node))
    assert known["nothing",]["below_min_isr"] == 1


def by_failure(kraftlake: Kraftlake, *arguments: str) -> dict[tuple[str, ...], dict[str, Any]]:
    rows = kraftlake("state", "--exposure", "--json", *arguments).answers
    return {(row["kind"], *row["gone"]): row for row in rows}


@pytest.mark.usefixtures("recorded")
def test_since_names_the_record_from_which_on_a_failure_has_its_effect(
    kraftlake: Kraftlake,
) -> None:
    ended = kraftlake("state", "--exposure", "--since", "--json", ILL)
    found = {(row["kind"], *row["gone"]): row for row in ended.answers}
    assert found["broker", "12"]["since_offset"] == 2711
    assert found["broker", "12"]["since"] == 1795231210656
    rows = kraftlake("state", "--exposure", "--json", ILL).answers
    assert {row["since_offset"] for row in rows} == {None}
    lines = kraftlake("state", "--exposure", "--since", ILL).lines
    assert any(line.endswith("offset 2711, 2026-11-21T03:20:10.656Z") for line in lines)


@pytest.mark.usefixtures("recorded")
def test_an_exposure_from_before_the_log_start_is_marked_as_such(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    source = data / "kafka-4.1.1-dynamic" / "final" / "1" / "__cluster_metadata-0"
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    newest = max(source.glob("*.checkpoint"))
    shutil.copy(newest, folder)
    ended = kraftlake("state", "--exposure", "--since", "--json", folder)
    assert {row["since_offset"] for row in ended.answers} == {None}
    assert any(": since: not known of " in line for line in ended.complaints)


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sizes"], "state: name directories, or a lake by --lake or KRAFTLAKE_LAKE"),
        ([], "state: name directories, or a lake by --lake or KRAFTLAKE_LAKE"),
        (["--sizes", WELL, "--lake", "lake"], "PATH and --lake exclude each other: take one"),
        (["--sizes", "--exposure", WELL], "--sizes and --exposure exclude each other: take one"),
        (["--sizes", WELL, "--at-offset", "5"], "--at-offset goes with --lake"),
        (
            ["--sizes", WELL, "--broker-config", "x"],
            "--broker-config goes with --exposure or --effective",
        ),
        (["--sizes", WELL, "--since"], "--since goes with --exposure"),
        (["--sizes", WELL, "--cluster", "C"],
         "--cluster C: the directories are of OLR1FFlQQCyXLM2zfhjyAg"),
        (["--sizes", WELL, ILL],
         f"the directories are of 2 clusters or captures: name one, or --cluster {CLUSTER} or "
         "OLR1FFlQQCyXLM2zfhjyAg"),
        (["--sizes", f"{WELL}/1/meta.properties"],
         f"{WELL}/1/meta.properties: no metadata log that gives a state: no leader was ever "
         "elected, or the log can't be read; `kraftlake check` says which"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together_are_refused_in_one_line(
    kraftlake: Kraftlake, arguments: list[str], said: str
) -> None:
    ended = kraftlake("state", *arguments)
    assert (ended.code, ended.error) == (2, said)


def without_voters(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows without what they say of voters: which of them are behind, the newest captures
    tell, and no earlier moment does."""
    told = {"voters_left", "has_majority"}
    return [
        {name: value for name, value in row.items() if name not in told}
        for row in rows
        if row["kind"] != "voter"
    ]


@pytest.mark.spark
def test_a_lake_tells_the_same_as_its_directories(
    kraftlake: Kraftlake, built_lake: Path, data: Path
) -> None:
    of_lake = ["--lake", built_lake, "--cluster", CLUSTER, "--at-offset", "2712", "--json"]
    directories = kraftlake("state", "--exposure", "--since", "--json", data / ILL).answers
    earlier = kraftlake("state", "--exposure", "--since", *of_lake).answers
    assert without_voters(earlier) == without_voters(directories)
    sizes = by_name(kraftlake("state", "--sizes", *of_lake).rows)
    for key, row in by_name(kraftlake("state", "--sizes", "--json", data / ILL).rows).items():
        assert sizes[key]["count"] == row["count"], key
        assert sizes[key]["replicas"] == row["replicas"], key

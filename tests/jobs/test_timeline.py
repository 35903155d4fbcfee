"""`kraftlake timeline`: what happened by clock time, from directories."""

from __future__ import annotations

import csv
import io
import re
import shutil
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.check.editing import append, metadata

SPLIT, ORDERED = "kafka-4.1.1-dynamic/split", ("--order", "live,split,final")
FIELDS = [
    "cluster_id",
    "at",
    "event",
    "name",
    "detail",
    "cause",
    "offset",
    "leader_epoch",
    "nodes",
    "commitment",
]


@pytest.mark.usefixtures("recorded")
def test_text_has_a_line_for_each_cluster_day_and_event(kraftlake: Kraftlake) -> None:
    ended = kraftlake("timeline", SPLIT)
    assert ended.code == 0
    assert [one.split(": ")[:2] for one in ended.complaints] == [["timeline", "not listed"]]
    cluster, newest, *four, how, day, first = ended.lines[:9]
    assert cluster == "cluster Lr3UIdBxT-GFPYE5uprmrg: offsets 0 to 2711, by nodes 1, 2, 3, 11, 12"
    assert newest == "newest decisive events of 32:"
    assert [one[31:].partition(" ")[0] for one in four] == [
        "voters_changed", "divergence", "election", "broker_fenced",
    ]  # fmt: skip
    assert all(one.startswith("  2026-11-21 03:") and len(one) <= 160 for one in four)
    told = [one.split() for one in ended.lines[8:]]
    since = re.search("--from-time ([^`]+)`", how)
    assert since is not None
    later = kraftlake("timeline", "--from-time", since[1], SPLIT).lines
    shown = [one.split() for one in later if re.match(r"  \d\d:", one)]
    assert shown == told[-len(shown) :], "the command that it names lists the newest"
    assert 10 <= len(shown) < len(told)
    assert day == "2026-11-21 (UTC)"
    assert first.split(maxsplit=2)[:2] == ["03:18:48.672", "election"]
    times = [line.split()[0] for line in ended.lines[8:]]
    assert times == sorted(times)
    (split,) = (line for line in ended.lines if line.endswith("(leader-cut-off)"))
    assert (
        "node 3  leads epoch 6 after node 2, by the votes of nodes 1 and 3: leader 2 had written 22"
        in split
    )


@pytest.mark.usefixtures("recorded")
def test_a_later_capture_shows_the_truncated_records(kraftlake: Kraftlake) -> None:
    ended = kraftlake("timeline", "--json", *ORDERED, "--event", "tr*", "kafka-4.1.1-dynamic")
    assert all(list(row) == FIELDS for row in ended.rows)
    assert [(row["event"], row["nodes"], row["offset"]) for row in ended.rows] == [
        ("truncation", [2], 1526),
        ("truncation", [11], 1526),
    ]
    assert {row["commitment"] for row in ended.rows} == {"superseded"}


@pytest.mark.usefixtures("recorded")
def test_times_are_shown_in_the_zone_that_is_asked_for(kraftlake: Kraftlake) -> None:
    lines = kraftlake("timeline", "--tz", "Asia/Kathmandu", SPLIT).lines
    assert lines[5].startswith("  2026-11-21 09:05:05.122 +05:45  broker_fenced broker 11 ")
    assert lines[7] == "2026-11-21 (+0545)"
    assert lines[8].startswith("  09:03:48.672  ")
    out = kraftlake("timeline", "--csv", "--tz", "Asia/Kathmandu", SPLIT).out
    rows = list(csv.DictReader(io.StringIO(out)))
    assert list(rows[0]) == FIELDS
    assert rows[0]["at"] == "2026-11-21T09:03:48.672+05:45"


@pytest.mark.usefixtures("recorded")
def test_only_events_of_the_asked_time_are_told(kraftlake: Kraftlake) -> None:
    since, until = "2026-11-21T03:19:06.021Z", "2026-11-21T03:19:14.173Z"
    rows = kraftlake("timeline", "--json", "--from-time", since, "--to-time", until, SPLIT).rows
    assert [row["event"] for row in rows] == ["election", "controller_registered"]


def test_a_time_that_no_calendar_has_is_shown_as_its_number(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    node = Path(shutil.copytree(data / SPLIT / "1", tmp_path / "node"))
    log = max((node / "__cluster_metadata-0").glob("*.log"))
    record = metadata("FEATURE_LEVEL_RECORD", name="group.version", featureLevel=0)
    append(log, record, later_ms=2**61)
    ended = kraftlake("timeline", "--event", "feature_removed", node)
    assert ended.code == 0
    day, line = ended.lines[1:]
    assert day == ""
    at, *rest = line.split()
    assert int(at.removesuffix("ms")) > 2**61
    assert rest == ["feature_removed", "group.version", "1", "->", "none"]


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--tz", "Mars/North", SPLIT],
         "--tz Mars/North: no such time zone here: name one such as Europe/Berlin, local or UTC"),
        (["--tz", "../../etc/passwd", SPLIT],
         "--tz ../../etc/passwd: no such time zone here: name one such as Europe/Berlin, local or "
         "UTC"),
        (["--cluster", "C", f"{SPLIT}/1"],
         "--cluster C: the directories are of Lr3UIdBxT-GFPYE5uprmrg"),
        ([f"{SPLIT}/1/meta.properties"],
         f"{SPLIT}/1/meta.properties: no metadata log with a record that can be read: no leader "
         "was ever elected, or the log is damaged; `kraftlake check` says which"),
        (["--json", "--csv", SPLIT], "--json and --csv exclude each other: take one"),
    ],
)  # fmt: skip
def test_a_timeline_that_cannot_be_given_is_refused_in_one_line(
    kraftlake: Kraftlake, arguments: list[str], said: str
) -> None:
    ended = kraftlake("timeline", *arguments)
    assert (ended.code, ended.error) == (2, said)


@pytest.mark.usefixtures("recorded")
def test_an_unknown_event_is_refused_with_those_that_there_are(kraftlake: Kraftlake) -> None:
    ended = kraftlake("timeline", "--event", "fired", SPLIT)
    assert ended.code == 2
    assert ended.error.startswith(
        "--event fired: expected one of election, elections_without_winner, snapshot, divergence"
    )

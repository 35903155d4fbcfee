"""What Kafka wrote is sound, and the doctor says so; where the log split, it says that."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from replica.doctor.check.snapshot_validity import Validity
from replica.severity import Severity
from tests.replica.doctor.check.editing import judged, places

DATA = Path(__file__).parents[3] / "data"
SOUND = [
    f"{cluster}/{capture}"
    for cluster in ("kafka-3.7.2-static", "kafka-4.1.1-dynamic")
    for capture in ("live", "final")
]
NODES = sorted(path.parent for path in DATA.glob("kafka-*/*/*/__cluster_metadata-0"))
ORPHANS = {"1496-5": "8 configs", "2571-6": "12 configs", "2598-6": "12 configs"}

together = cache(judged)


@pytest.mark.parametrize("capture", SOUND)
def test_a_sound_cluster_gives_nothing_above_info(capture: str) -> None:
    group = together(DATA / capture)
    assert len(group.members) >= 4
    assert group.findings == ()
    assert [places(member.findings) for member in group.members] == [[]] * len(group.members)


@pytest.mark.parametrize("node", NODES, ids=lambda path: str(path.relative_to(DATA)))
def test_each_directory_is_sound_on_its_own(node: Path) -> None:
    (member,) = judged(node).members
    assert places(member.findings) == []


@pytest.mark.parametrize(
    ("cluster", "offset", "byte"),
    [("kafka-3.7.2-static", 750, 58401), ("kafka-4.1.1-dynamic", 1526, 21113)],
)
def test_a_split_gives_exactly_the_divergences(cluster: str, offset: int, byte: int) -> None:
    group = together(DATA / cluster / "split")
    assert [places(member.findings) for member in group.members] == [[]] * 5
    (behind,) = (f for f in group.findings if f.rule.id == "voter-behind")
    assert behind.message.startswith("voter 2: its log goes up to"), "it was stopped, and diverges"
    findings = [finding for finding in group.findings if finding is not behind]
    told = [(f.rule.id, f.severity, f.offset, f.position) for f in findings]
    # nodes 2 and 11 hold the branch that was given up, and part from the other three
    assert told == [("log-divergence", Severity.WARNING, offset, byte)] * 2
    for finding in findings:
        assert finding.file.split("/")[-3] in ("2", "11")
        assert "loses 22 records: 0 committed, 22 never committed, 0 unknown" in finding.message


def test_every_snapshot_of_kafka_is_valid_in_its_group() -> None:
    verdicts = [
        (verdict.validity, verdict.id)
        for capture in sorted({node.parent for node in NODES})
        for member in together(capture).members
        for verdict in member.verdicts
    ]
    complete = list(DATA.glob("kafka-*/*/*/*/*.checkpoint"))
    assert len(verdicts) == len(complete) > 30
    assert {validity for validity, _ in verdicts} == {Validity.VALID}


def test_a_snapshot_whose_log_is_gone_is_unverifiable_on_its_own_with_the_reason() -> None:
    (member,) = judged(DATA / "kafka-3.7.2-static/live/3").members
    (verdict,) = member.verdicts
    assert verdict.validity is Validity.UNVERIFIABLE
    assert [note.rule.id for note in verdict.notes] == ["snapshot-unverified"]
    assert "up to offset 518" in verdict.notes[0].message


def test_orphan_topic_configs_are_counted_where_kafka_leaves_them() -> None:
    found = {}
    for capture in ("live", "split", "final"):
        for member in together(DATA / "kafka-4.1.1-dynamic" / capture).members:
            for verdict in member.verdicts:
                for note in verdict.notes:
                    if note.rule.id == "orphan-topic-configs":
                        found[f"{verdict.id.offset}-{verdict.id.epoch}"] = note.message
    assert {name: text.split(" of ")[0] for name, text in found.items()} == ORPHANS


def test_refused_records_are_one_finding_with_the_first_and_the_count() -> None:
    (member,) = judged(DATA / "generated-all-types").members
    (refused,) = [f for f in member.findings if f.rule.id == "unappliable-record"]
    assert (refused.offset, refused.position) == (2, 111)
    assert "is no principal, which would be TYPE:NAME; 527 more can't" in refused.message

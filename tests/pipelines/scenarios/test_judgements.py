"""What the named scenarios mean by the tables: findings, snapshots, the metadata at any offset, and
the verdict of the report."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.tables.bronze import CAPTURES
from pipelines.tables.gold import FINDINGS, METADATA_HISTORY, SNAPSHOT_VALIDITY
from replica.doctor.verdict.verdict import Level
from replica.format.batch import decode_header
from replica.format.record import Record, records_of
from replica.metadata.image.replay import Replay, meaning
from tests.pipelines.report.test_page import report_of
from tests.pipelines.scenarios.conftest import Row, ScenarioLake, each_scenario
from tests.pipelines.scenarios.played import BEFORE, HEALED, TOLD, Played, vanished

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@each_scenario()
def test_the_telling_moment_has_the_findings_that_the_scenario_promises(
    lake: ScenarioLake, played: Played
) -> None:
    rows = findings(lake, played, TOLD)
    rules = set(played.scenario.findings)
    if any(is_off_branch(row, played) for row in snapshots(lake, played, TOLD)):
        rules.add("snapshot-unverified")
    if played.scenario.name == "snapshot-off-by-one":  # the lake's replay can end inside a batch
        rules = rules - {"snapshot-unverified"} | {"snapshot-content"}
    assert {row["rule"] for row in rows} == rules


@each_scenario(lambda scenario: scenario.is_safe and scenario.name != "stale-broker-epoch")
def test_before_and_after_the_faults_of_a_quorum_that_keeps_its_promises_there_is_no_error(
    lake: ScenarioLake, played: Played
) -> None:
    for moment in (BEFORE, HEALED):
        rows = findings(lake, played, moment)
        assert [row for row in rows if row["severity"] == "error"] == []


@each_scenario()
def test_only_a_snapshot_that_was_tampered_with_is_not_valid(
    lake: ScenarioLake, played: Played
) -> None:
    """One of a log that was lost isn't either: the lake replays the agreed branch alone."""
    rows = lake.rows(SNAPSHOT_VALIDITY, played)
    tampering = played.scenario.tampering
    for row in rows:
        if is_off_branch(row, played):
            assert row["verdict"] == "unverifiable"
    doubted = {
        row["node_id"]
        for row in rows
        if row["verdict"] != "valid" and not is_off_branch(row, played)
    }
    if tampering is None or "napshot" not in tampering.meaning:
        assert doubted == set()
    else:
        assert doubted == {tampering.node_id}


@each_scenario()
def test_the_metadata_at_any_offset_is_the_replay_of_what_was_committed(
    lake: ScenarioLake, played: Played
) -> None:
    rows = lake.rows(METADATA_HISTORY, played)
    log = list(records(played))

    @settings(max_examples=8)
    @given(st.integers(0, log[-1][0].offset + 1))
    def holds(end_offset: int) -> None:
        replay = Replay()
        for record, is_control in log:
            if record.offset < end_offset:
                replay.apply(record.offset, meaning(record, is_control=is_control))
        image = replay.image()
        expected = {(one.kind, one.key): (one.value, one.offset) for one in image.entities()}
        assert state(rows, end_offset) == expected

    holds()


@each_scenario()
def test_the_report_says_whether_committed_records_were_lost(
    lake: ScenarioLake, played: Played
) -> None:
    (cluster,) = report_of(lake.path, played.cluster_id).clusters
    committed = played.chronicle.committed
    is_lost = any(batch in committed for lost in vanished(played).values() for batch in lost)
    assert (" of them were proven committed" in cluster.verdict.sentence) == is_lost


@each_scenario(lambda scenario: scenario.is_safe and scenario.tampering is None)
def test_the_report_calls_nothing_broken_in_a_quorum_that_keeps_its_promises(
    lake: ScenarioLake, played: Played
) -> None:
    (cluster,) = report_of(lake.path, played.cluster_id).clusters
    assert cluster.verdict.level is not Level.AT_RISK
    if "unappliable-record" in played.scenario.findings:
        assert cluster.verdict.level is Level.ATTENTION


def findings(lake: ScenarioLake, played: Played, moment: str) -> list[Row]:
    """Those about files, of the captures that belong to the moment."""
    of_files = [row for row in lake.rows(FINDINGS, played) if row["family"] == "files"]
    return of_moment(lake, played, moment, of_files)


def snapshots(lake: ScenarioLake, played: Played, moment: str) -> list[Row]:
    """gold.snapshot_validity's rows of the moment."""
    return of_moment(lake, played, moment, lake.rows(SNAPSHOT_VALIDITY, played))


def of_moment(lake: ScenarioLake, played: Played, moment: str, rows: list[Row]) -> list[Row]:
    captures = {row["capture_id"] for row in lake.rows(CAPTURES, played, moment)}
    return [row for row in rows if row["capture_id"] in captures]


def is_off_branch(snapshot: Row, played: Played) -> bool:
    """Whether it is of a log that the quorum doesn't go on with; possible only where committed
    records were lost."""
    end, epoch = snapshot["end_offset"], snapshot["epoch"]
    if end == 0 or played.scenario.is_safe:
        return False
    return epoch not in [e.epoch for e in played.branch if e.base < end <= e.last + 1]


def records(played: Played) -> Iterator[tuple[Record, bool]]:
    """Of the branch, each with whether it is a control record."""
    for entry in played.branch:
        header = decode_header(entry.data)
        for record in records_of(header, entry.data):
            yield record, header.is_control


def state(rows: list[Row], end_offset: int) -> dict[tuple[str, str], tuple[str, int]]:
    """gold.metadata_history at an offset."""
    valid = [
        row
        for row in rows
        if row["valid_from_offset"] < end_offset
        and (row["valid_to_offset"] is None or end_offset <= row["valid_to_offset"])
    ]
    found = {(row["entity"], row["key"]): (row["value"], row["record_offset"]) for row in valid}
    assert len(found) == len(valid), "one version of an entity at an offset"
    return found

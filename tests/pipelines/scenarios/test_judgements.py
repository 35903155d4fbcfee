"""What the named scenarios mean by the tables: findings, snapshots, the metadata at any offset, and
the verdict of the report."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.report.verdict import Level
from pipelines.tables.bronze import CAPTURES
from pipelines.tables.gold import FINDINGS, METADATA_HISTORY, SNAPSHOT_VALIDITY
from replica.format.batch import decode_header
from replica.format.record import Record, records_of
from replica.metadata.image import Replay
from replica.metadata.image.replay import meaning
from replica.simulate.scenarios.library import SCENARIOS
from tests.pipelines.report.test_page import report_of
from tests.pipelines.scenarios.conftest import Row, ScenarioLake
from tests.pipelines.scenarios.played import BEFORE, HEALED, TOLD, Played

pytestmark = pytest.mark.spark

every_scenario = pytest.mark.parametrize("name", [scenario.name for scenario in SCENARIOS])


@every_scenario
def test_the_telling_moment_has_the_findings_that_the_scenario_promises(
    scenario_lake: ScenarioLake, plays: dict[str, Played], name: str
) -> None:
    rows = findings(scenario_lake, plays[name], TOLD)
    assert sorted({row["rule"] for row in rows}) == list(plays[name].scenario.findings)


@every_scenario
def test_before_and_after_the_faults_of_a_quorum_that_keeps_its_promises_there_is_no_error(
    scenario_lake: ScenarioLake, plays: dict[str, Played], name: str
) -> None:
    played = plays[name]
    if not played.scenario.is_safe or name == "stale-broker-epoch":
        return
    for moment in (BEFORE, HEALED):
        rows = findings(scenario_lake, played, moment)
        assert [row for row in rows if row["severity"] == "error"] == []


@every_scenario
def test_only_a_snapshot_that_was_tampered_with_is_not_valid(
    scenario_lake: ScenarioLake, plays: dict[str, Played], name: str
) -> None:
    played = plays[name]
    rows = scenario_lake.rows(SNAPSHOT_VALIDITY, played)
    tampering = played.scenario.tampering
    doubted = {row["node_id"] for row in rows if row["verdict"] != "valid"}
    if tampering is None or "napshot" not in tampering.meaning:
        assert doubted == set()
    else:
        assert doubted == {tampering.node_id}


@every_scenario
def test_the_metadata_at_any_offset_is_the_replay_of_what_was_committed(
    scenario_lake: ScenarioLake, plays: dict[str, Played], name: str
) -> None:
    played = plays[name]
    rows = scenario_lake.rows(METADATA_HISTORY, played)
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


@every_scenario
def test_the_report_says_whether_committed_records_were_lost(
    scenario_lake: ScenarioLake, plays: dict[str, Played], name: str
) -> None:
    played = plays[name]
    (cluster,) = report_of(scenario_lake.path, played.cluster_id).clusters
    is_lost = any(lost.batch in played.chronicle.committed for lost in played.chronicle.lost)
    assert (cluster.verdict.level is Level.BROKEN) == is_lost


def findings(scenario_lake: ScenarioLake, played: Played, moment: str) -> list[Row]:
    """Those of the captures that belong to the moment."""
    captures = {row["capture_id"] for row in scenario_lake.rows(CAPTURES, played, moment)}
    rows = scenario_lake.rows(FINDINGS, played)
    return [row for row in rows if row["capture_id"] in captures]


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

"""What the tables say of replicas, votes and voters in the named scenarios, beside what the running
replicas knew themselves."""

from __future__ import annotations

import pytest

from pipelines.tables.quorum import ELECTIONS, REPLICA_STATUS, VOTER_BELIEFS, VOTES
from replica.model.keys import ZERO_UUID
from tests.pipelines.scenarios.conftest import Row, ScenarioLake, each_scenario
from tests.pipelines.scenarios.played import HEALED, TOLD, Moment, Played, Standing, seen_epochs

pytestmark = [pytest.mark.spark, pytest.mark.slow]

OF_ONE_MIND = each_scenario(lambda scenario: scenario.name != "two-quorums")
"""Where each replica's configuration names the voters that the log names; the tables go by the log,
a static quorum's replicas by their configuration."""


@OF_ONE_MIND
def test_replica_status_equals_each_replicas_state_in_the_simulation(
    lake: ScenarioLake, played: Played
) -> None:
    for moment, row, standing in standing_rows(lake, played):
        assert (row["leader_epoch"], row["leader_id"]) == (
            standing.epoch,
            None if standing.leader_id < 0 else standing.leader_id,
        )
        assert row["role"] == (standing.role or row["role"])
        ids = {voter_id for voter_id, _ in standing.voters}
        itself = row["node_id"], row["directory_id"]
        is_voter = itself in standing.voters or (row["node_id"], ZERO_UUID) in standing.voters
        is_voter = is_voter and row["node_id"] in ids
        assert row["is_voter"] == (is_voter if ids else None), "NULL where it knows no voters"
        if not moment.is_tampered_with(row["node_id"]):
            assert row["log_start_offset"] == standing.log_start
            assert row["log_end_offset"] == standing.log_end


@each_scenario()
def test_everything_below_a_proven_high_watermark_was_committed(
    lake: ScenarioLake, played: Played
) -> None:
    for moment, row, standing in standing_rows(lake, played):
        proven = row["high_watermark"] or 0
        assert proven <= max((batch.last + 1 for batch in moment.committed), default=0)
        if moment is played.moments[-1] and played.scenario.is_safe:
            assert proven == standing.high_watermark == standing.log_end
            assert (row["own_records"], row["lag_records"]) == (0, 0)


@each_scenario()
def test_elections_are_counted_by_who_won_them(lake: ScenarioLake, played: Played) -> None:
    begun = seen_epochs(played)
    rows = lake.rows(ELECTIONS, played)
    epochs = {one.epoch for one in begun}
    assert sum(row["elections"] for row in rows) == len(epochs)
    assert {leader for row in rows for leader in row["leaders"]} <= {
        one.leader.node_id for one in begun
    }
    standings = [s for moment in played.moments for s in moment.standings.values()]
    newest = max([*epochs, *(standing.epoch for standing in standings)])
    assert sum(row["leaderless_epochs"] for row in rows) == newest - len(epochs)


@each_scenario()
def test_every_vote_was_cast_and_none_twice(lake: ScenarioLake, played: Played) -> None:
    rows = lake.rows(VOTES, played)
    found = {(row["epoch"], row["voter_id"], row["candidate_id"]) for row in rows}
    assert found <= played.chronicle.votes
    granted = {(b.epoch, v, b.leader.node_id) for b in seen_epochs(played) for v in b.granting}
    if played.scenario.is_safe:
        assert granted <= found
        assert not any(row["is_double"] for row in rows)


@OF_ONE_MIND
def test_the_voters_in_force_are_those_that_the_replica_goes_by(
    lake: ScenarioLake, played: Played
) -> None:
    for moment in played.moments:
        rows = lake.rows(VOTER_BELIEFS, played, moment.name)
        for node_id, standing in moment.standings.items():
            mine = [row for row in rows if row["node_id"] == node_id]
            told = [row for row in mine if row["source"] in ("log", "snapshot")]
            if not told or moment.is_tampered_with(node_id):
                continue
            newest = max(told, key=lambda row: row["offset"])
            found = {(v["voter_id"], v["directory_id"] or ZERO_UUID) for v in newest["voters"]}
            expected = standing.voters
            if played.scenario.layout.is_static:
                expected = frozenset((voter_id, ZERO_UUID) for voter_id, _ in expected)
            assert found == expected, (moment.name, node_id)


@each_scenario(lambda scenario: scenario.name == "replaced-disk")
def test_a_voter_with_a_new_disk_is_not_the_voter_that_the_others_know(
    lake: ScenarioLake, played: Played
) -> None:
    rows = lake.rows(VOTER_BELIEFS, played, TOLD)
    denied = [(row["node_id"], row["source"]) for row in rows if row["agrees"] is False]
    assert denied == [(2, "meta_properties")]


@each_scenario(lambda scenario: scenario.name == "two-quorums")
def test_in_two_quorums_two_sides_name_other_voters(lake: ScenarioLake, played: Played) -> None:
    rows = lake.rows(VOTER_BELIEFS, played, TOLD)
    named = {
        row["node_id"]: {voter["voter_id"] for voter in row["voters"]}
        for row in rows
        if row["source"] == "log"
    }
    assert named == {1: {1}, 2: {1, 2, 3}, 3: {1, 2, 3}, 4: {1}, 5: {1, 2, 3}}
    assert {row["node_id"] for row in rows if row["agrees"] is False} == {1, 4}


@each_scenario(lambda scenario: scenario.is_safe and scenario.name != "replaced-disk")
def test_in_a_quorum_that_is_whole_again_all_agree_on_the_voters(
    lake: ScenarioLake, played: Played
) -> None:
    rows = lake.rows(VOTER_BELIEFS, played, HEALED)
    assert [row for row in rows if row["agrees"] is False] == []


def standing_rows(lake: ScenarioLake, played: Played) -> list[tuple[Moment, Row, Standing]]:
    """The rows of gold.replica_status of nodes that ran when they were captured."""
    found = [
        (moment, row, moment.standings[row["node_id"]])
        for moment in played.moments
        for row in lake.rows(REPLICA_STATUS, played, moment.name)
        if row["node_id"] in moment.standings
    ]
    assert found, "nothing was compared"
    return found

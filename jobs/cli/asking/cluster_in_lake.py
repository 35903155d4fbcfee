"""One cluster's state, and the content of its log, from a lake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from jobs.cli.asking.about import AskedCluster
from jobs.cli.asking.cluster_source import ClusterSource, Wanted
from jobs.cli.asking.lake_history import (
    LOG,
    RANGES,
    RECORDS,
    VERDICTS,
    ClusterHistory,
    cluster_history,
)
from jobs.cli.asking.lake_readings import NOT_JUDGED, readings_in
from jobs.cli.asking.sql_views import HISTORY
from jobs.cli.output import ms_of
from pipelines.dialects import DATA_FUSION
from pipelines.finding_rows import unstartable_nodes
from pipelines.gold.health_rules import WATCHED_ENTITIES, cluster_of, steps_of
from pipelines.gold.newest_states import lags_of
from pipelines.gold.verdict_rows import quorum_in, verdict_in
from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_if_there
from replica.doctor.check.catalogue.log import UNAPPLIABLE_RECORD
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.log_content import LogContent
from replica.doctor.health.new_directories import led_from_new_directories
from replica.doctor.health.past import past_of
from replica.doctor.health.rewound import VisibleChange
from replica.doctor.health.shortened import shortened_while_down
from replica.doctor.verdict.facts import verdict_on_state
from replica.doctor.verdict.outage import with_verdict
from replica.doctor.verdict.verdict import Gap, Verdict

EPOCHS = "gold.leader_epoch_history"
FINDINGS = "gold.findings"
STATUS = "gold.replica_status"


def from_lake(
    lake: Lake, asked: AskedCluster, broker_defaults: Mapping[str, str], wanted: Wanted
) -> ClusterSource:
    """The state of the asked cluster at the asked moment. Raises UsageError for a cluster or a
    moment that the lake doesn't have."""
    history = cluster_history(lake, asked.cluster, committed_only=asked.committed_only)
    end_offset = history.end_offset(asked.moment)
    entities = history.entities(end_offset, "entity, value, record_offset")
    held = [(kind, value, offset) for kind, value, offset in entities]
    counts = Counter(kind for kind, _, _ in held)
    state_row = {
        "cluster_id": history.cluster_id,
        "source": lake.place,
        "end_offset": end_offset,
        "is_whole": True,
        "refused_at": _refused_at(history, end_offset),
        "voters": _voters_of_epochs(history, end_offset),
        "now_ms": None,
        "passed_over": history.passed_over(),
    }
    newest = _newest_verdict(history, end_offset)
    if newest is not None:
        quorum = quorum_in(newest)
        possible = end_offset if quorum.is_conflicting else quorum.possible_end
        offset, at_ms = _first_change(history, possible, end_offset)
        state_row |= {
            "quorum": quorum,
            "now_ms": None if newest["at"] is None else ms_of(newest["at"]),
            "uncommitted_from": offset,
            "uncommitted_at": at_ms,
            "unstartable": _unstartable(history, newest["capture_group"]),
            "lags": lags_of(_status(history), quorum),
        }
    cluster = cluster_of(state_row, held, broker_defaults)
    unproven, _ = _first_change(history, history.proven_end(), end_offset)

    def steps() -> Iterable[VisibleChange]:
        return _steps(history, end_offset)

    cluster = replace(
        cluster,
        unproven_from=unproven,
        shortened=shortened_while_down(cluster, steps),
        led_from_new_directories=led_from_new_directories(cluster, steps),
    )
    verdict = _verdict(cluster, newest) if wanted.verdict else None
    cluster = with_verdict(cluster, verdict)
    return ClusterSource(
        cluster,
        counts,
        _content(history, end_offset) if wanted.content else None,
        past_of(cluster, _steps(history, end_offset)) if wanted.past else None,
        verdict,
        readings=() if wanted.read_by is None else readings_in(history, wanted.read_by),
        not_judged="" if wanted.read_by is None else NOT_JUDGED,
    )


def _status(history: ClusterHistory) -> Iterable[Mapping[str, Any]]:
    """The rows of gold.replica_status of the newest capture group."""
    if not open_if_there(history.lake, STATUS):
        return ()
    names = "node_id, agreed_end_offset, lag_ms, is_latest"
    query = f"SELECT {names} FROM {STATUS} WHERE {history.mine()} AND is_latest"
    return history.queries.named_rows(query)


def _first_change(history: ClusterHistory, start: int, end: int) -> tuple[int | None, int | None]:
    """The offset and the time (ms since 1970) of the first record from `start` (inclusive) to `end`
    (exclusive) that changed the state, even if the change was undone later; (None, None) where
    there is no such record. The time is None where the record has none."""
    mine = history.mine()
    query = (
        f'SELECT valid_from_offset AS "offset", valid_from AS at FROM {HISTORY} WHERE {mine} '
        f"AND valid_from_offset >= {start:d} AND valid_from_offset < {end:d} UNION ALL "
        f"SELECT valid_to_offset, valid_to FROM {HISTORY} WHERE {mine} "
        f"AND valid_to_offset >= {start:d} AND valid_to_offset < {end:d} ORDER BY 1 LIMIT 1"
    )
    changes = history.queries.rows(query)
    offset, at = next(iter(changes), (None, None))
    return offset, None if at is None else ms_of(at)


def _newest_verdict(history: ClusterHistory, end_offset: int) -> dict[str, Any] | None:
    """The cluster's row of gold.verdicts. None where it is about a state with another end offset
    (exclusive), or where an older release built the lake."""
    if not open_if_there(history.lake, VERDICTS):
        return None
    query = f"SELECT * FROM {VERDICTS} WHERE {history.mine()} AND end_offset = {end_offset}"
    return next(iter(history.queries.named_rows(query)), None)


def _unstartable(history: ClusterHistory, capture_group: str) -> dict[int, str]:
    """The nodes of the newest captures that refuse to start with their directories, by node id,
    each with the rule and the message of the finding. capture_group: the newest capture group."""
    group = DATA_FUSION.literal(capture_group)
    captures = f"SELECT capture_id, node_id FROM {STATUS} WHERE {history.mine()}"
    found = f"SELECT capture_id, rule, file, message FROM {FINDINGS} WHERE {history.mine()}"
    return unstartable_nodes(
        [*history.queries.named_rows(f"{captures} AND capture_group = {group}")],
        history.queries.named_rows(found),
    )


def _verdict(cluster: Cluster, newest: dict[str, Any] | None) -> Verdict:
    """The verdict on a state of the lake: the one in the row `newest` of gold.verdicts; where
    `newest` is None, one on the cluster's health alone, without the nodes' files."""
    if newest is not None:
        return verdict_in(newest)
    return verdict_on_state(
        cluster,
        Gap(
            "the files of the nodes",
            "the state of an earlier moment was asked for",
            "Leave out --at-offset, --at-time and --committed-only for that.",
        ),
    )


def _steps(history: ClusterHistory, end_offset: int) -> Iterator[VisibleChange]:
    """The changes to entities of WATCHED_ENTITIES by the records below `end_offset` (exclusive),
    newest first, back to the record at which the replay of this state begins."""
    mine = history.mine()
    begins = (
        f"SELECT max(from_offset) FROM {RANGES} WHERE {mine} AND from_offset <= {end_offset} "
        f"AND to_offset >= {end_offset}"
    )
    ((begin,),) = history.queries.rows(begins)
    kinds = DATA_FUSION.literals(WATCHED_ENTITIES)
    watched = f"{mine} AND entity IN ({kinds}) AND"
    low = DATA_FUSION.literal(int(begin or 0))
    query = (
        'SELECT valid_from_offset AS "offset", valid_from AS at, entity, key, NULL AS value '
        f"FROM {HISTORY} WHERE {watched} valid_from_offset >= {low} "
        f"AND valid_from_offset < {end_offset} UNION ALL "
        f"SELECT valid_to_offset, valid_to, entity, key, value FROM {HISTORY} "
        f"WHERE {watched} valid_to_offset >= {low} AND valid_to_offset < {end_offset} "
        "ORDER BY 1 DESC"
    )
    return steps_of(
        {**row, "at_ms": None if row["at"] is None else ms_of(row["at"])}
        for row in history.queries.named_rows(query)
    )


def _voters_of_epochs(history: ClusterHistory, end_offset: int) -> set[int]:
    """The voters of a static quorum: the voters in the epoch of the newest leader below
    `end_offset` (exclusive). Empty if no such epoch has known voters."""
    query = (
        f"SELECT voters FROM {EPOCHS} WHERE {history.mine()} AND start_offset < {end_offset} "
        "AND voters IS NOT NULL ORDER BY epoch DESC LIMIT 1"
    )
    found = list(history.queries.rows(query))
    return {int(voter["voter_id"]) for voter in found[0][0]} if found else set()


def _refused_at(history: ClusterHistory, end_offset: int) -> int | None:
    """The offset of the first record below `end_offset` that can't be applied; None where all
    can."""
    query = (
        f'SELECT min(f."offset") FROM {FINDINGS} f WHERE {history.mine("f.")} '
        f'AND f.rule = {DATA_FUSION.literal(UNAPPLIABLE_RECORD.id)} AND f."offset" < {end_offset}'
    )
    ((offset,),) = history.queries.rows(query)
    return None if offset is None else int(offset)


def _content(history: ClusterHistory, end_offset: int) -> LogContent:
    """The number of the agreed branch's records below `end_offset` (exclusive), by type. The
    records' sizes in bytes are unknown, because the lake stores records without their secrets."""
    mine = history.mine("r.")
    query = (
        'SELECT r.record_type, count(DISTINCT r."offset"), min(r.timestamp), max(r.timestamp) '
        f"FROM {RECORDS} r JOIN {LOG} c ON c.cluster_id = r.cluster_id "
        'AND c."offset" = r."offset" AND c.leader_epoch = r.leader_epoch AND c.crc = r.crc '
        f'WHERE {mine} AND r."offset" < {end_offset} GROUP BY r.record_type'
    )
    types = list(history.queries.rows(query))
    counts = Counter({str(row[0]): int(row[1]) for row in types})
    first = min((ms_of(row[2]) for row in types), default=None)
    last = max((ms_of(row[3]) for row in types), default=None)
    return LogContent(counts, Counter(), first, last)

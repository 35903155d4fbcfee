"""The health of a cluster and its exposure to failures: replica.doctor.health on rows of
gold.metadata_history."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from pipelines.cluster.rows import Row, milliseconds
from pipelines.finding_rows import finding_row, subjects_text
from replica.doctor.check.rule import Finding
from replica.doctor.health.absent import Absence, absent_brokers, idle_when_fenced, vanished
from replica.doctor.health.cluster import JUDGED, Beginning, Cluster
from replica.doctor.health.copy_first import CopyFirst, copies_first
from replica.doctor.health.emptied import Emptied, emptied_brokers
from replica.doctor.health.exposure import PAIR, Exposure, Failure, Harm, exposures, min_isr_unknown
from replica.doctor.health.judging import judge_health
from replica.doctor.health.leaderless import leaderless_in_restart
from replica.doctor.health.new_directories import led_from_new_directories
from replica.doctor.health.past import Past
from replica.doctor.health.refusing import still_refusing
from replica.doctor.health.returning import Returning, returning
from replica.doctor.health.rewound import WATCHED, VisibleChange
from replica.doctor.health.shortened import shortened_while_down
from replica.doctor.health.startable import releases_text
from replica.doctor.verdict.evidence import Since, leaderless, refusing
from replica.metadata.image.image import KINDS
from replica.metadata.image.texts import entity_of, image_of

SHOWN_SUBJECTS = 100
"""The most subjects of one finding that are shown. All subjects could be as large as the state
itself, which gold.metadata_history has."""
MOST_BROKERS_IN_PAIRS = 500
"""With more live brokers than this the table has no pairs of brokers: pairs would have more rows
than everything else."""
FINDING, EXPOSURE = "finding", "exposure"
_US_PER_MS = 1000
_CAPTURE = ("node_id", "directory_id", "capture_id")

_TABLES = {kind.name: kind.table for kind in KINDS if kind.table in WATCHED}
WATCHED_ENTITIES = tuple(_TABLES)
"""The kinds of entities whose changes are steps of a history (see VisibleChange)."""


@dataclass(frozen=True)
class JudgedState:
    """The judgement of a cluster's newest state."""

    rows: Sequence[Row]
    """Rows of gold.findings (`what` is FINDING) and of gold.failure_exposure (`what` is
    EXPOSURE)."""
    findings: tuple[Finding, ...]
    """The findings of the rules of health, with all their subjects."""
    partitions: int
    """The number of partitions in the state."""
    leaderless: Since | None
    """The time since when partitions have no leader; None where each partition has a leader, or
    where no time is known."""
    refusing: Since | None
    """The time since when partitions with a leader refuse writes; None where no partition refuses
    them, or where no time is known."""
    returning: tuple[Returning, ...]
    """The brokers that are not live, in the order in which their starts bring most partitions back
    (see replica.doctor.health.returning.returning)."""
    leaderless_in_restart: Mapping[int, int]
    """For each live broker that has lost a log directory, by its id: how many more partitions have
    no leader while this broker restarts."""
    still_refusing: Mapping[str, tuple[int, ...]]
    """By its name, each partition that refuses writes even after all brokers are back: the brokers
    whose replica lies in a log directory that is offline."""
    copy_first: tuple[CopyFirst, ...]
    """The brokers whose log directories have to be copied before a start (see
    replica.doctor.health.copy_first.copies_first)."""
    emptied: tuple[Emptied, ...]
    """The brokers that hold partitions in a new log directory, because the former one is gone (see
    replica.doctor.health.emptied.emptied_brokers)."""
    absent: Mapping[int, Absence]
    """By broker id: why a registered broker that holds replicas is not live."""
    releases: str
    """A sentence about the Kafka releases that can start; "" where the levels of features have not
    changed since the brokers registered."""


def judged_state(
    state_row: Row, cluster: Cluster, past: Past, steps: Callable[[], Iterable[VisibleChange]]
) -> JudgedState:
    """Judges the newest state of one cluster by the rules of health.

    state_row: a row of pipelines.gold.newest_states. past: since when the state's exposures and
    reassignments have lasted. steps: gives the visible changes that led to the state, for
    `leaderless` and `refusing`.
    """
    cluster = replace(
        cluster,
        starts=past.starts,
        shortened=shortened_while_down(cluster, steps),
        vanished=vanished(cluster, steps),
        led_from_new_directories=led_from_new_directories(cluster, steps),
    )
    cluster = replace(cluster, idle_when_fenced=idle_when_fenced(cluster, steps))
    found = (*judge_health(cluster),)
    rows = [*(_finding_row(state_row, one) for one in found), *_exposure_rows(cluster, past)]
    return JudgedState(
        rows,
        found,
        len(cluster.partitions),
        leaderless(cluster, steps),
        refusing(cluster, steps),
        returning(cluster),
        leaderless_in_restart(cluster),
        still_refusing(cluster),
        copies_first(cluster),
        emptied_brokers(cluster),
        absent_brokers(cluster),
        releases_text(cluster),
    )


def cluster_of(
    state_row: Mapping[str, Any],
    entities: Sequence[tuple[str, str, int | None]],
    broker_defaults: Mapping[str, str] | None = None,
) -> Cluster:
    """The state of one cluster.

    state_row: cluster_id, source, end_offset, is_whole, now_ms and voters. The voters are node ids
    in the newest leader's epoch, because a static quorum's log names no others. The row may also
    have refused_at, and quorum, uncommitted_from, uncommitted_at, unstartable, passed_over,
    lags, own_ends and by_verdict: see Cluster. entities: as in image_of.
    """
    image = image_of(one for one in entities if one[0] in JUDGED)
    named = {voter.key.node_id for voter in image.tables["voters"].values.get("", ())}
    return Cluster(
        image,
        state_row["cluster_id"],
        state_row["source"],
        end_offset=state_row["end_offset"],
        is_whole=state_row["is_whole"],
        refused_at=state_row.get("refused_at"),
        voters=frozenset(named or state_row["voters"]),
        broker_defaults=broker_defaults or {},
        now=state_row["now_ms"],
        quorum=state_row.get("quorum"),
        uncommitted_from=state_row.get("uncommitted_from"),
        uncommitted_at=state_row.get("uncommitted_at"),
        unstartable=state_row.get("unstartable", {}),
        passed_over=state_row.get("passed_over", ""),
        lags=state_row.get("lags", {}),
        own_ends=state_row.get("own_ends", {}),
        by_verdict=state_row.get("by_verdict"),
    )


def steps_of(rows: Iterable[Mapping[str, Any]]) -> Iterator[VisibleChange]:
    """The steps of these rows: offset, at_ms, entity, key and value, in descending order of their
    offsets. An entity that existed before and after a record may have a row with its earlier value
    and a row without one."""
    for offset, together in groupby(rows, itemgetter("offset")):
        before: dict[tuple[str, str], str | None] = {}
        at_ms = None
        for row in together:
            at_ms = row["at_ms"] if at_ms is None else at_ms
            place = row["entity"], row["key"]
            before[place] = row["value"] if row["value"] is not None else before.get(place)
        yield VisibleChange(
            offset, at_ms, tuple(_before(*place, value) for place, value in before.items())
        )


def _before(entity: str, key: str, value: str | None) -> tuple[str, Any, Any]:
    if value is None:
        return _TABLES[entity], _key(entity, key), None
    read = entity_of(entity, value)
    return read.kind.table, read.key, read.value


def _key(entity: str, text: str) -> Any:
    """The key of the text that Kind.key_text wrote, for the kinds in WATCHED."""
    if entity == "partition":
        topic_id, _, number = text.partition(":")
        return topic_id, int(number)
    if entity == "broker":
        return int(text)
    return tuple(json.loads(text)) if entity == "config" else text


def _finding_row(state_row: Row, finding: Finding) -> Row:
    return {
        "what": FINDING,
        **{name: state_row[name] for name in ("cluster_id", *_CAPTURE)},
        **finding_row(finding),
        "family": finding.rule.family.value,
        "subjects": subjects_text(finding.subjects[:SHOWN_SUBJECTS]),
    }


def _exposure_rows(cluster: Cluster, past: Past) -> Iterator[Row]:
    unknown = min_isr_unknown(cluster)
    brokers = len(cluster.live_brokers)
    for one in exposures(cluster):
        kind, gone = one.failure
        if kind == PAIR and brokers > MOST_BROKERS_IN_PAIRS:
            continue
        since = past.exposed.get(one.failure)
        yield {
            "what": EXPOSURE,
            "cluster_id": cluster.cluster_id,
            "kind": kind,
            "gone": ",".join(gone),
            **one.harm._asdict(),
            "voters_left": one.voters_left,
            "has_majority": one.has_majority,
            "since_offset": None if since is None else since.offset,
            "since": None if since is None or since.at is None else since.at * _US_PER_MS,
            "end_offset": cluster.end_offset,
            "min_isr_unknown": unknown,
        }


def exposure_of(row: Row) -> Exposure:
    """The exposure that a row of gold.failure_exposure holds."""
    kind, gone = row["kind"], row["gone"]
    names = (*gone.split(","),) if kind == PAIR else (gone,) if gone else ()
    harm = Harm(*(row[name] for name in Harm._fields))
    return Exposure(Failure(kind, names), harm, row["voters_left"], row["has_majority"])


def since_of(row: Row) -> Beginning | None:
    """The time since when the exposure in this row of gold.failure_exposure has held; None where it
    isn't known."""
    offset, at = row["since_offset"], row["since"]
    return None if offset is None else Beginning(offset, None if at is None else milliseconds(at))

"""A cluster's metadata over time, from gold.metadata_history, and the offsets at which a lake knows
a cluster's state, from gold.state_ranges. delta-rs reads both without a JVM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from jobs.cli.asking.sql_delta_rs import OwnQueries, rows
from jobs.cli.asking.sql_views import HISTORY, valid_at
from jobs.cli.moments import Moment
from jobs.cli.output import as_utc, time_text
from pipelines.dialects import DATA_FUSION, Sql
from pipelines.lake import Lake
from pipelines.lake.tables import tables_of
from replica.doctor.timeline.gaps import conflict_text, passed_over_text
from replica.doctor.verdict.evidence import PASSED_OVER
from replica.errors import UsageError
from replica.format.control import ControlType
from replica.metadata.records import NEWEST_KAFKA, RECORDS_BY_NAME
from replica.words import up_to

LOG = "silver.committed_log"
RANGES = "gold.state_ranges"
RECORDS = "bronze.log_records"

_CONTROLS = {control.name for control in ControlType}


def why_unknown(lake: Lake, cluster_id: str, end_offset: int) -> str | None:
    """Why the lake doesn't know the state at this end offset (exclusive), as one line that also
    says up to which offset it knows the state. None where the lake knows it."""
    if end_offset == 0:
        return None
    mine = f"cluster_id = {DATA_FUSION.cluster(cluster_id)}"
    query = f"SELECT from_offset, to_offset FROM {RANGES} WHERE {mine}"
    ranges = list(rows(lake, query))
    if any(start <= end_offset <= end for start, end in ranges):
        return None
    below = max((end for _, end in ranges if end < end_offset), default=None)
    if below is not None:
        query = (
            f"SELECT DISTINCT record_type, record_version FROM {RECORDS} WHERE {mine} "
            f'AND "offset" = {below}'
        )
        for record_type, version in rows(lake, query):
            if _is_unknown(record_type, version):
                return (
                    f"the state {up_to(end_offset)}: the state from offset {below} on is not known "
                    f"to this release, which reads up to Kafka {NEWEST_KAFKA}; the record at "
                    f"offset {below} is of {record_type} version {version}"
                )
    return (
        f"the state {up_to(end_offset)}: the lake holds neither the whole log nor a snapshot to "
        "begin with; ingest a replica or an older capture that does"
    )


def gaps_in(lake: Lake, cluster_id: str) -> Iterator[str]:
    """A sentence for each part of a cluster's log whose changes the lake doesn't know."""
    mine = f"cluster_id = {DATA_FUSION.cluster(cluster_id)}"
    ((first, end),) = rows(lake, f'SELECT min("offset"), max("offset") + 1 FROM {LOG} WHERE {mine}')
    if first is None:
        return
    query = f"SELECT from_offset, to_offset FROM {RANGES} WHERE {mine} ORDER BY from_offset"
    known = int(first)
    if known > 0:
        yield f"the log of {cluster_id} begins at offset {known}: earlier changes are not known"
    for start, following in [*rows(lake, query), (end, end)]:
        if start > known:
            why = why_unknown(lake, cluster_id, known + 1)
            yield f"nothing is known of offsets {known} to {start - 1} of {cluster_id}: {why}"
        known = max(known, int(following))
    records = ClusterHistory(lake, cluster_id).passed_over()
    if records:
        yield passed_over_text(records)


def names_in_lake(lake: Lake, cluster: str | None) -> Iterator[Sequence[Any]]:
    """(kind, name) of each entity that the lake knows, except partitions. cluster: the id of the
    only cluster to read; None for all clusters."""
    mine = "true" if cluster is None else f"cluster_id = {DATA_FUSION.cluster(cluster)}"
    query = f"SELECT DISTINCT entity, name FROM {HISTORY} WHERE {mine} AND entity <> 'partition'"
    return rows(lake, query)


def ends_that_are_not_known(lake: Lake) -> dict[str, int]:
    """The clusters whose state at the end of their log the lake doesn't know, with the offset of
    that end (exclusive)."""
    query = (
        f'SELECT l.cluster_id, l.log_end FROM (SELECT cluster_id, max("offset") + 1 AS log_end '
        f"FROM {LOG} GROUP BY cluster_id) l LEFT JOIN (SELECT cluster_id, max(to_offset) AS "
        f"known_end FROM {RANGES} GROUP BY cluster_id) r ON r.cluster_id = l.cluster_id "
        "WHERE r.known_end IS NULL OR r.known_end < l.log_end ORDER BY l.cluster_id"
    )
    return {str(row[0]): int(row[1]) for row in rows(lake, query)}


def _is_unknown(record_type: str, version: int | None) -> bool:
    schema = RECORDS_BY_NAME.get(record_type)
    if schema is None:
        return record_type not in _CONTROLS
    return version not in schema.versions


BATCHES = "bronze.log_batches"
STATUS = "gold.replica_status"
VERDICTS = "gold.verdicts"
_THEIR_BATCHES = (
    f'JOIN {BATCHES} b ON b.cluster_id = c.cluster_id AND b.base_offset = c."offset" '
    "AND b.leader_epoch = c.leader_epoch AND b.crc = c.crc"
)


@dataclass(frozen=True)
class ClusterHistory:
    """The history of one cluster in a lake. Offsets are exclusive ends, as in snapshots."""

    lake: Lake
    cluster_id: str
    committed_only: bool = False

    @cached_property
    def queries(self) -> OwnQueries:
        """The object that runs the queries about the cluster. All of them read the same version of
        a table."""
        return OwnQueries(self.lake)

    def end_offset(self, moment: Moment) -> int:
        """The end offset of a moment. Raises UsageError for a moment after or before the part of
        the log that the lake's captures cover."""
        end = self._end_of_log()
        if moment.at_time is not None:
            end = self._at_time(moment, moment.at_time)
        elif moment.at_offset is not None:
            if moment.at_offset > end:
                option = moment.option or "--at-offset"
                raise UsageError(f"{option} {moment.at_offset}: the log end offset is {end}")
            end = moment.at_offset
        why = why_unknown(self.lake, self.cluster_id, end)
        if why is not None:
            raise UsageError(why)
        return end

    def is_before_whole_log(self, moment: Moment) -> bool:
        """Whether the moment is a time before the first record of a log that the lake has from
        offset 0 on."""
        if moment.at_time is None:
            return False
        ((at_0,),) = self._log('count(CASE WHEN "offset" < 1 THEN 1 END)')
        return int(at_0) == 1 and self._batch_at(moment.at_time) is None

    def entities(self, end_offset: int, columns: Sql) -> Iterator[Sequence[Any]]:
        """The values of `columns` of HISTORY, such as `entity, value`, for each entity, sorted by
        entity and key. record_offset is NULL where the entity is older than the part of the log
        that the lake knows.

        end_offset: from the method `end_offset`.
        """
        return self._history(columns, valid_at(end_offset), "ORDER BY entity, key")

    def versions_that_differ(self, a: int, b: int) -> Iterator[Sequence[Any]]:
        """The versions of entities that are in only one of the states a and b: the entity's kind,
        name and value, and whether the version is in state a.

        a, b: from the method `end_offset`.
        """
        at_a, at_b = valid_at(a), valid_at(b)
        return self._history(
            f"entity, name, value, {at_a}", f"({at_a} OR {at_b}) AND NOT ({at_a} AND {at_b})"
        )

    def proven_end(self) -> int:
        """The offset (exclusive) below which the log's entries are proven to be committed; 0 where
        no entry is."""
        ((end,),) = replace(self, committed_only=True)._log('max("offset") + 1')
        return 0 if end is None else int(end)

    def other_histories(self, end: int) -> Iterator[str]:
        """A sentence about the first place below the offset `end` at which another log conflicts
        with the history of the lake; none where there is no such place, or where an older release
        built the lake."""
        if VERDICTS not in tables_of(self.lake):
            return
        query = f"SELECT conflicts, contested, source FROM {VERDICTS} WHERE {self.mine()}"
        for conflicts, contested, source in self.queries.rows(query):
            starts = [one["offset"] for one in conflicts] + [one["start"] for one in contested]
            start = min(starts, default=end)
            if start < end:
                yield (
                    f"{conflict_text(start, source)}. To see the other, name its directory alone"
                )

    def passed_over(self) -> str:
        """In words, the records that the build passed over; "" where there are none."""
        if VERDICTS not in tables_of(self.lake):
            return ""
        query = f"SELECT not_judged FROM {VERDICTS} WHERE {self.mine()}"
        gaps = (gap for (found,) in self.queries.rows(query) for gap in found)
        return next((str(gap["what"]) for gap in gaps if gap["why"] == PASSED_OVER), "")

    def _end_of_log(self) -> int:
        ((end,),) = self._log('max("offset") + 1')
        if end is None:
            raise UsageError(
                "nothing of this log is proven to be committed: leave --committed-only out"
            )
        return int(end)

    def _at_time(self, moment: Moment, at_time: datetime) -> int:
        option = f"{moment.option or '--at-time'} {time_text(at_time)}"
        captured_at, end, last_record_at = self._newest_capture()
        if at_time > max(captured_at, last_record_at):
            raise UsageError(
                f"{option}: the newest capture in the built tables is of {time_text(captured_at)}; "
                f"its log goes {up_to(end)}, {time_text(last_record_at)}"
            )
        found = self._batch_at(at_time)
        if found is None:
            ((since,),) = self._log("min(b.base_timestamp)", _THEIR_BATCHES)
            raise UsageError(f"{option}: the log begins at {time_text(since)}")
        return found

    def _newest_capture(self) -> tuple[datetime, int, datetime]:
        """The newest built capture whose replica agrees with the branch to its end, as
        (captured_at, the end of the log (exclusive), the time of the log's last record). Raises
        UsageError if there is no such capture."""
        mine = self.mine("s.")
        query = (
            "SELECT max(s.captured_at), max(e.end_offset), max(s.last_append_time) "
            f'FROM {STATUS} s JOIN (SELECT max("offset") + 1 AS end_offset FROM {LOG} '
            f"WHERE {self.mine()}) e ON s.agreed_end_offset >= e.end_offset WHERE {mine}"
        )
        ((captured_at, end, last_record_at),) = self.queries.rows(query)
        if captured_at is None:
            raise UsageError(
                f"{self.lake}: no capture holds the end of the log of {self.cluster_id}: run "
                f"`{self.lake.command('build')}`"
            )
        return as_utc(captured_at), int(end), as_utc(last_record_at or captured_at)

    def _batch_at(self, at_time: datetime) -> int | None:
        """The end offset (exclusive) of the records up to and including `at_time`; None where all
        records are later."""
        asked = _timestamp(at_time)
        columns = "b.base_offset, b.last_offset, b.max_timestamp, b.leader_epoch, b.crc"
        found = self._log(
            columns,
            _THEIR_BATCHES,
            f"AND b.base_timestamp <= {asked} ORDER BY b.base_offset DESC LIMIT 1",
        )
        if not found:
            return None
        ((base, last, newest, epoch, crc),) = found
        if newest is None or as_utc(newest) <= at_time:
            return int(last) + 1
        query = (
            f'SELECT max("offset") FROM {RECORDS} WHERE {self.mine()} '
            f"AND base_offset = {base:d} AND leader_epoch = {epoch:d} AND crc = {crc:d} "
            f"AND timestamp <= {asked}"
        )
        ((offset,),) = self.queries.rows(query)
        return int(base if offset is None else offset) + 1

    def _log(self, columns: Sql, joined: Sql = "", rest: Sql = "") -> list[Sequence[Any]]:
        proven = " AND c.commitment = 'proven'" if self.committed_only else ""
        query = f"SELECT {columns} FROM {LOG} c {joined} WHERE {self.mine('c.')}{proven} {rest}"
        return list(self.queries.rows(query))

    def _history(self, columns: Sql, where: Sql, rest: Sql = "") -> Iterator[Sequence[Any]]:
        query = f"SELECT {columns} FROM {HISTORY} WHERE {self.mine()} AND {where} {rest}"
        return self.queries.rows(query)

    def mine(self, table: Sql = "") -> Sql:
        """The condition, in SQL, that a row is of this cluster. table: the table's alias with a
        dot, such as `c.`."""
        return f"{table}cluster_id = {DATA_FUSION.cluster(self.cluster_id)}"


def cluster_history(lake: Lake, cluster: str | None, *, committed_only: bool) -> ClusterHistory:
    """The history of the named cluster, or of the lake's only cluster. Raises UsageError where the
    lake isn't built or lacks the named cluster, or where `cluster` is None and the lake has several
    clusters."""
    names = clusters_of(lake, cluster)
    if cluster is None and len(names) != 1:
        raise UsageError(f"the lake has {len(names)} clusters: --cluster {' or '.join(names)}")
    return ClusterHistory(lake, cluster or names[0], committed_only)


def clusters_of(lake: Lake, asked: str | None = None) -> list[str]:
    """The ids of the clusters whose log a built lake has. Raises UsageError where the lake is not
    built, or lacks the cluster `asked`."""
    in_lake = tables_of(lake)
    missing = [table for table in (LOG, HISTORY, STATUS, RANGES) if table not in in_lake]
    if missing:
        raise UsageError(f"{lake} has no {missing[0]}: run `{lake.command('build')}`")
    query = f"SELECT DISTINCT cluster_id FROM {LOG} ORDER BY 1"
    names = [row[0] for row in rows(lake, query)]
    if asked is not None and asked not in names:
        raise UsageError(f"--cluster {asked}: the lake has {', '.join(names) or 'no log'}")
    return names


def _timestamp(moment: datetime) -> Sql:
    # The tables hold times in microseconds of UTC.
    at = DATA_FUSION.literal(moment.isoformat())
    return f"arrow_cast({at}, 'Timestamp(Microsecond, Some(\"UTC\"))')"

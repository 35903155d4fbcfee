"""A cluster's metadata over time, read from gold.metadata_history by delta-rs: no JVM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jobs.lake_tables import tables_of
from jobs.moments import Moment
from jobs.output import time_text
from jobs.sql_delta_rs import answer
from jobs.sql_views import HISTORY, valid_at
from replica.errors import UsageError

LOG = "silver.committed_log"
RECORDS = "bronze.log_records"


@dataclass(frozen=True)
class ClusterHistory:
    """One cluster of a lake; offsets are exclusive ends, as of snapshots."""

    lake: str
    cluster_id: str
    committed_only: bool = False

    def end_offset(self, moment: Moment) -> int:
        """What stands for the moment. UsageError for one that the log doesn't reach."""
        ((end,),) = self._log('max("offset") + 1')
        if end is None:
            raise UsageError(
                "nothing of this log is proven to be committed: leave --committed-only out"
            )
        if moment.at_offset is not None:
            if moment.at_offset > end:
                option = moment.option or "--at-offset"
                raise UsageError(f"{option} {moment.at_offset}: the log ends at {end}")
            return moment.at_offset
        return int(end) if moment.at_time is None else self._at_time(moment, moment.at_time)

    def entities(self, end_offset: int) -> list[Sequence[Any]]:
        """entity, key, value, offset (NULL: from before what the lake knows), sorted.

        UsageError where the lake can't tell.
        """
        columns = "entity, key, value, record_offset"
        found = list(self._history(columns, valid_at(end_offset), "ORDER BY entity, key"))
        if end_offset and not found:
            raise UsageError(
                f"offset {end_offset}: the lake holds neither the whole log below it nor a "
                "snapshot to begin with; ingest a replica or an older capture that does"
            )
        return found

    def versions_that_differ(self, a: int, b: int) -> Iterator[Sequence[Any]]:
        """entity, name, value, whether it's a's: the versions that one of two states holds alone.

        UsageError where the lake can't tell about one of them.
        """
        for end_offset in (a, b):
            ((count,),) = self._history("count(*)", valid_at(end_offset))
            if end_offset and not count:
                self.entities(end_offset)
        at_a, at_b = valid_at(a), valid_at(b)
        return self._history(
            f"entity, name, value, {at_a}", f"({at_a} OR {at_b}) AND NOT ({at_a} AND {at_b})"
        )

    def _at_time(self, moment: Moment, at_time: datetime) -> int:
        # the tables hold microseconds of UTC
        literal = f"arrow_cast('{at_time.isoformat()}', 'Timestamp(Microsecond, Some(\"UTC\"))')"
        ((end, since),) = self._log(
            f'max(CASE WHEN r.timestamp <= {literal} THEN c."offset" END) + 1, min(r.timestamp)',
            f'JOIN {RECORDS} r USING (cluster_id, "offset", leader_epoch, crc)',
        )
        if end is None:
            option = moment.option or "--at-time"
            raise UsageError(f"{option} {time_text(at_time)}: the log begins at {time_text(since)}")
        return int(end)

    def _log(self, columns: str, joined: str = "") -> list[Sequence[Any]]:
        proven = " AND c.commitment = 'proven'" if self.committed_only else ""
        query = f"SELECT {columns} FROM {LOG} c {joined} WHERE {self._mine('c.')}{proven}"  # noqa: S608
        return list(answer(self.lake, (LOG, RECORDS) if joined else (LOG,), query).rows)

    def _history(self, columns: str, where: str, rest: str = "") -> Iterator[Sequence[Any]]:
        query = f"SELECT {columns} FROM {HISTORY} WHERE {self._mine()} AND {where} {rest}"  # noqa: S608
        return answer(self.lake, (HISTORY,), query).rows

    def _mine(self, table: str = "") -> str:
        return f"{table}cluster_id = {_literal(self.cluster_id)}"


def cluster_history(lake: str, cluster: str | None, *, committed_only: bool) -> ClusterHistory:
    """The lake's only cluster, or the one that is named. UsageError where there is none."""
    in_lake = tables_of(lake)
    missing = [table for table in (LOG, HISTORY) if table not in in_lake]
    if missing:
        raise UsageError(f"{lake} has no {missing[0]}: run `kraftlake build --lake {lake}`")
    query = f"SELECT DISTINCT cluster_id FROM {LOG} ORDER BY 1"  # noqa: S608, names of ours
    names = [row[0] for row in answer(lake, (LOG,), query).rows]
    if cluster is not None and cluster not in names:
        raise UsageError(f"--cluster {cluster}: the lake has {', '.join(names) or 'no log'}")
    if cluster is None and len(names) != 1:
        raise UsageError(f"the lake has {len(names)} clusters: --cluster {' or '.join(names)}")
    return ClusterHistory(lake, cluster or names[0], committed_only)


def _literal(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{escaped}'"

"""Rounds: captures that were taken together, and the name of a round.

A round of `ingest --order` whose captures have no time of their own is named by its name in --order
and by its newest record. Its `captured_at` is the time of the ingest, and only orders rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from pipelines.dialects import Sql


def rounds_sql(where: Sql) -> Sql:
    """The query whose rows have the fields of Round, in the dialect of delta-rs; in each cluster
    the oldest round first.

    where: condition on rows of bronze.captures. The newest record is only queried for rounds that
    need it. Its time is in ms since 1970, because a hostile log has times that no calendar has.
    """
    return f"""\
WITH looks AS (SELECT * FROM bronze.captures WHERE {where}), newest_records AS (
  SELECT c.cluster_id, c.capture_group, max(b.max_timestamp) AS at
  FROM looks AS c
  JOIN (SELECT *, unnest(in_log) AS span FROM bronze.log_batches WHERE crc_valid) AS b
    ON b.cluster_id = c.cluster_id AND b.node_id = c.node_id AND b.directory_id = c.directory_id
   AND c.captured_at >= b.span['from'] AND (b.span['to'] IS NULL OR c.captured_at <= b.span['to'])
  WHERE NOT c.has_own_time AND c.round_name IS NOT NULL
  GROUP BY c.cluster_id, c.capture_group
)
SELECT l.cluster_id, l.capture_group, l.captured_at, l.round_name, l.has_own_time,
       l.captures, CAST(floor(date_part('epoch', n.at) * 1000) AS BIGINT) AS newest_record_ms
FROM (SELECT cluster_id, capture_group, captured_at, min(ingest_seq) AS ingest_seq,
             min(round_name) AS round_name, bool_and(has_own_time) AS has_own_time,
             count(*) AS captures
      FROM looks GROUP BY cluster_id, capture_group, captured_at) AS l
LEFT JOIN newest_records AS n
  ON n.cluster_id = l.cluster_id AND n.capture_group = l.capture_group
ORDER BY l.cluster_id, l.captured_at, l.ingest_seq, l.capture_group"""


@dataclass(frozen=True)
class Round:
    """The captures of one group and one time."""

    cluster_id: str
    capture_group: str
    captured_at: datetime
    captures: int
    has_own_time: bool
    """Whether captured_at is from capture.json or --captured-at."""
    round_name: str | None = None
    """The round's name in `ingest --order`; None without --order."""
    newest_record_ms: int | None = None
    """The largest time of the records in the logs of the group, in ms since 1970; None where the
    logs hold no record, or where it was not queried (see rounds_sql)."""

    def label(self, time_text: Callable[[datetime], str], ms_text: Callable[[int], str]) -> str:
        """The round's name, such as `split (newest record 2026-11-21 03:20:10 UTC)`, or the time of
        the capture.

        time_text, ms_text: turn captured_at and newest_record_ms into text.
        """
        when = time_text(self.captured_at)
        if self.has_own_time:
            return when if self.round_name is None else f"{self.round_name}, {when}"
        if self.round_name is None:
            return f"ingested {when}"
        if self.newest_record_ms is None:
            return f"{self.round_name} (no record)"
        return f"{self.round_name} (newest record {ms_text(self.newest_record_ms)})"

"""The SQL behind the report's slider over every moment of a cluster, in the form of
pipelines.report.queries."""

from __future__ import annotations

from pipelines.dialects import DATA_FUSION, Sql
from pipelines.report.change_queries import CHANGES, HISTORY
from pipelines.report.queries import STATE_RANGES, ms
from replica.doctor.health.cluster import JUDGED
from replica.doctor.health.min_isrs import MIN_ISR

REQUIRED = (CHANGES, HISTORY, STATE_RANGES)
"""The tables without which the report has no slider."""
MAX_CHANGES = 100_000
"""The most changes, and versions of partitions and brokers, that a page holds. A cluster with more
is sampled."""
MAX_OF_ONE = MAX_CHANGES // 20
"""The most changes, and the most versions, of one entity of a sampled cluster."""
CLUSTER_WIDE = ("broker", "controller", "feature", "kraft_version", "voters")
FOLLOWED = ("broker", "partition")
"""The kinds of entities whose state the page shows at each moment."""


_OF_REFUSALS = f"""\
(entity IN ('broker', 'partition', 'topic')
 OR (entity = 'config' AND key LIKE {DATA_FUSION.literal(f"%{MIN_ISR}%")}))"""


def _in(names: tuple[str, ...]) -> Sql:
    return f"({DATA_FUSION.literals(names)})"


def sizes(cluster: str) -> Sql:
    """The number of changes, and of versions of entities that the page follows."""
    mine = f"WHERE cluster_id = {DATA_FUSION.cluster(cluster)}"
    return f"""\
SELECT (SELECT count(*) FROM {CHANGES} {mine}) AS changes,
       (SELECT count(*) FROM {HISTORY} {mine} AND entity IN {_in(FOLLOWED)}) AS versions"""


def _chosen(cluster: str, limit: int) -> Sql:
    """The CTE `chosen`: the entities whose changes are shown, until they have 2 * limit rows. First
    come entities of the kinds CLUSTER_WIDE, then those with changes in a superseded branch, then
    all others; within each group those that changed last come first."""
    mine = f"WHERE cluster_id = {DATA_FUSION.cluster(cluster)}"
    return f"""\
told AS (
  SELECT entity, key, "offset" AS place,
         CASE WHEN commitment = 'superseded' THEN 1 ELSE 2 END AS rule
  FROM {CHANGES} {mine}
  UNION ALL
  SELECT entity, key, valid_from_offset, 2 FROM {HISTORY} {mine} AND entity IN {_in(FOLLOWED)}
), entities AS (
  SELECT entity, key, least(count(*), {2 * MAX_OF_ONE}) AS rows_of_it, max(place) AS newest,
         min(CASE WHEN entity IN {_in(CLUSTER_WIDE)} THEN 0 ELSE rule END) AS rule
  FROM told GROUP BY entity, key
), chosen AS (
  SELECT entity, key
  FROM (SELECT *, sum(rows_of_it) OVER (ORDER BY rule, newest DESC, entity, key
                                        ROWS UNBOUNDED PRECEDING) AS so_far FROM entities) AS e
  WHERE so_far <= {2 * limit}
)"""


def changes(cluster: str, limit: int | None) -> Sql:
    """The typed changes, changes of superseded branches included. limit: the most changes of a
    sampled cluster; None where all changes are wanted."""
    columns = f"""\
entity, key, name, change, old, new, "offset", {ms("at")} AS at_ms, leader_epoch,
         commitment = 'superseded' AS is_lost"""
    rows = f"SELECT {columns}\n  FROM {CHANGES} WHERE cluster_id = {DATA_FUSION.cluster(cluster)}"
    return _sampled(cluster, limit, rows, '"offset"', "leader_epoch, entity, name, change")


def versions(cluster: str, limit: int | None) -> Sql:
    """Every version of the partitions and brokers. limit: as in changes."""
    columns = f"""\
entity, key, name, value, valid_from_offset, valid_to_offset,
         {ms("valid_from")} AS from_ms, {ms("valid_to")} AS to_ms"""
    rows = f"""\
SELECT {columns}
  FROM {HISTORY} WHERE cluster_id = {DATA_FUSION.cluster(cluster)} AND entity IN {_in(FOLLOWED)}"""
    return _sampled(cluster, limit, rows, "valid_from_offset", "entity, key")


def _sampled(cluster: str, limit: int | None, rows: Sql, place: Sql, order: Sql) -> Sql:
    """The query of `rows`; with a limit, only of the rows of chosen entities. place: the column by
    which the rows are ordered. order: further columns."""
    if limit is None:
        return f"{rows}\nORDER BY {place}, {order}"
    return f"""\
WITH {_chosen(cluster, limit)}, found AS (
  {rows}
)
SELECT *
FROM (SELECT found.*, row_number() OVER (PARTITION BY found.entity, found.key
                                         ORDER BY {place} DESC) AS nth
      FROM found JOIN chosen ON chosen.entity = found.entity AND chosen.key = found.key) AS ranked
WHERE nth <= {MAX_OF_ONE}
ORDER BY {place}, {order}"""


def steps_back(cluster: str, begin: int, end: int) -> Sql:
    """The changes of the entities that refusals depend on, from an offset (inclusive) to another
    (exclusive), the newest first: rows of pipelines.gold.health_rules.steps_of."""
    mine = f"cluster_id = {DATA_FUSION.cluster(cluster)} AND {_OF_REFUSALS} AND"
    return f"""\
SELECT valid_from_offset AS "offset", {ms("valid_from")} AS at_ms, entity, key, NULL AS value
FROM {HISTORY} WHERE {mine} valid_from_offset >= {begin:d} AND valid_from_offset < {end:d}
UNION ALL
SELECT valid_to_offset, {ms("valid_to")}, entity, key, value
FROM {HISTORY} WHERE {mine} valid_to_offset >= {begin:d} AND valid_to_offset < {end:d}
ORDER BY 1 DESC"""


def judged_entities(cluster: str) -> Sql:
    """Counts the entities that the rules of health read in the newest state."""
    return f"""\
SELECT count(*) AS entities FROM {HISTORY}
WHERE cluster_id = {DATA_FUSION.cluster(cluster)} AND entity IN {_in(JUDGED)}
  AND valid_to_offset IS NULL"""


def state_at(cluster: str, end_offset: int) -> Sql:
    """The entities that the rules of health read in the state with this end offset, exclusive."""
    return f"""\
SELECT entity, value, record_offset
FROM {HISTORY}
WHERE cluster_id = {DATA_FUSION.cluster(cluster)} AND entity IN {_in(JUDGED)}
  AND valid_from_offset < {end_offset}
  AND (valid_to_offset IS NULL OR valid_to_offset >= {end_offset})
ORDER BY entity, key"""

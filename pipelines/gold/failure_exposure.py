"""gold.failure_exposure, and findings of health: the newest state judged by its entities'
versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from datafusion import RuntimeEnvBuilder, SessionConfig, SessionContext
from pyarrow.dataset import Dataset

from pipelines.cluster.rows import Row
from pipelines.dialects import DATA_FUSION
from pipelines.gold.health_rules import JUDGED, STATE, STEP, WATCHED_ENTITIES, told

COLUMNS = (
    "entity", "key", "value", "valid_from_offset", "valid_to_offset",
    "valid_from", "valid_to", "record_offset",
)  # fmt: skip
_SORTED_BYTES = 256 * 1024 * 1024
"""The memory in which rows are sorted; the others wait on disk."""


def health(versions: pa.Table | Dataset, looks: Iterable[Row]) -> list[Row]:
    """The rows of JUDGEMENT. versions: rows of gold.metadata_history of one cluster, with COLUMNS.
    looks: the result of `looks`."""
    judged: list[Row] = []
    for look in looks:
        judged += told(look, _history(versions, look))
    return judged


def _history(versions: pa.Table | Dataset, look: Mapping[str, Any]) -> Iterator[Row]:
    """The rows of HISTORY: the entities of the state, and earlier values of entities of the kinds
    in WATCHED_ENTITIES. They are read as they are asked for."""
    memory = RuntimeEnvBuilder().with_disk_manager_os().with_fair_spill_pool(_SORTED_BYTES)
    context = SessionContext(SessionConfig().with_target_partitions(1), memory)
    if isinstance(versions, pa.Table):
        rows = versions.select(COLUMNS)
        nothing = pa.RecordBatch.from_pylist([], rows.schema)
        context.register_record_batches("versions", [rows.to_batches() or [nothing]])
    else:
        context.register_dataset("versions", versions)
    for batch in context.sql(_query(look)).execute_stream():
        for row in batch.to_pyarrow().to_pylist():
            yield row | {"cluster_id": look["cluster_id"]}


def _query(look: Mapping[str, Any]) -> str:
    begin, end = int(look["from_offset"]), int(look["end_offset"])
    judged = ", ".join(map(DATA_FUSION.literal, JUDGED))
    watched = ", ".join(map(DATA_FUSION.literal, sorted(WATCHED_ENTITIES)))
    kinds = {"state": STATE, "step": STEP, "judged": judged, "watched": watched}
    return _HISTORY.format(begin=begin, end=end, **kinds)


_HISTORY = """\
WITH judged AS (
  SELECT entity, key, value, record_offset, valid_from_offset AS start, valid_to_offset AS stop,
         arrow_cast(arrow_cast(valid_from, 'Timestamp(Microsecond, Some("UTC"))'), 'Int64') / 1000
           AS start_ms,
         arrow_cast(arrow_cast(valid_to, 'Timestamp(Microsecond, Some("UTC"))'), 'Int64') / 1000
           AS stop_ms
  FROM versions WHERE entity IN ({judged}))
SELECT {state} AS what, record_offset AS "offset", start_ms AS at_ms, entity, key, value
FROM judged WHERE start < {end} AND (stop IS NULL OR stop >= {end})
UNION ALL
SELECT {step}, start, start_ms, entity, key, NULL
FROM judged WHERE entity IN ({watched}) AND start >= {begin} AND start < {end}
UNION ALL
SELECT {step}, stop, stop_ms, entity, key, value
FROM judged WHERE entity IN ({watched}) AND stop >= {begin} AND stop < {end}
ORDER BY what, "offset" DESC NULLS LAST, entity, key, value NULLS LAST"""
"""The entities of the state; then what was before each step, newest first."""

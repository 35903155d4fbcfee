"""Health and exposures by Spark's workers are those that this process makes of the same rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pipelines.gold.health_rules import EXPOSURE, FINDING
from pipelines.gold.looks import looks
from pipelines.gold.metadata_history import metadata_history
from pipelines.gold.state_ranges import state_ranges
from pipelines.in_memory import health as in_memory
from pipelines.large.health import health
from pipelines.tables.gold import FAILURE_EXPOSURE, FINDINGS, METADATA_HISTORY
from tests.pipelines.in_memory.record_rows import CLUSTER, branch, replayed
from tests.pipelines.in_memory.test_health import capture, status
from tests.replica.health.clusters import a_broker, a_partition, healthy
from tests.replica.metadata.image.made import config

pytestmark = pytest.mark.spark

_TWIN = "SxVkmBQ2T9mDfQ4vYqJdJw"


def test_spark_tells_of_each_cluster_what_a_small_build_tells(spark: SparkSession) -> None:
    records = [
        *healthy(),
        config("2", "min.insync.replicas"),
        a_partition(1, isr=(11,)),
        a_partition(0, (11, 12, 13), addingReplicas=(13,)),
        a_broker(13, rack="a"),
        a_broker(12, rack="b"),
    ]
    written, looked = [], []
    for number, (cluster_id, held) in enumerate({CLUSTER: records, _TWIN: records[:-3]}.items(), 1):
        of_one = replayed(branch(held), cluster_id=cluster_id).written
        known = state_ranges(of_one).to_pylist()
        statuses = [{**status(number, len(held)), "cluster_id": cluster_id}]
        looked += looks(statuses, [capture(number)], known, [])
        written.append(of_one)
    written = pa.concat_tables(written)
    small = in_memory.health(written, looked)
    history = metadata_history(written).select(METADATA_HISTORY.column_names)
    by_spark = health(spark.createDataFrame(history), looked)
    found = pa.table(by_spark.toArrow()).to_pylist()

    def told(what: str, names: tuple[str, ...], among: list[dict[str, Any]]) -> list[Any]:
        of_kind = [row for row in among if row["what"] == what]
        return sorted(([row["cluster_id"], *(row[n] for n in names)] for row in of_kind), key=str)

    figures = tuple(
        name for name in FAILURE_EXPOSURE.column_names if name != "since"
    )  # int us here, a time there
    columns = FINDINGS.column_names
    assert told(FINDING, columns, found) == told(FINDING, columns, small)
    assert told(EXPOSURE, figures, found) == told(EXPOSURE, figures, small)
    assert {row["cluster_id"] for row in found} == {CLUSTER, _TWIN}
    times = {(row["cluster_id"], row["since_offset"], row["since"]) for row in found}
    assert all(at.timestamp() == offset for _, offset, at in times if at is not None)

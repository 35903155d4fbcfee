"""What every part of a cluster's replay must know: its runs, and where snapshots belong.

A run is replayed from offset 0, or, where its head is gone, from its base: the oldest snapshot
within it. It reaches the parts as a row among their records.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.silver.branch_runs import runs_of

PLAN = "REPLAY_PLAN"
"""The record_type of the row."""


CONTENT_IDS = ("cluster_id", "end_offset", "epoch", "content_sha256")
"""The content of a snapshot under one id."""


class PlannedSnapshot(NamedTuple):
    """A whole snapshot. branch_epoch: the branch's epoch at end_offset - 1, None where the branch
    lacks it. timestamp_us: time of the last record it contains, None where unknown."""

    end_offset: int
    epoch: int
    content_sha256: str
    branch_epoch: int | None
    timestamp_us: int | None

    @property
    def is_on_branch(self) -> bool:
        return self.branch_epoch == self.epoch


class Run(NamedTuple):
    """Offsets from start to end (exclusive) without a hole; base: None where it has none."""

    start: int
    end: int
    base: PlannedSnapshot | None

    @property
    def base_offset(self) -> int | None:
        """The offset from which on records are replayed; None where nothing can begin."""
        return 0 if self.start == 0 else None if self.base is None else self.base.end_offset


@dataclass(frozen=True)
class Plan:
    """runs, snapshots: of one cluster, ascending. log_end: the end (exclusive) of its agreed
    branch, None where nothing of it is held."""

    runs: tuple[Run, ...]
    snapshots: tuple[PlannedSnapshot, ...]
    log_end: int | None


def plans(branch: DataFrame, known: DataFrame, contents: DataFrame) -> DataFrame:
    """cluster_id, plan (JSON): see `plan_of`.

    branch: cluster_id, offset, leader_epoch; known: those of its rows that can be replayed;
    contents: CONTENT_IDS, timestamp, can_begin (whether a replay may begin with it).
    """
    ids = F.broadcast(contents.select("cluster_id", "end_offset").distinct())
    last = branch.select(
        "cluster_id",
        (F.col("offset") + 1).alias("end_offset"),
        F.col("leader_epoch").alias("branch_epoch"),
    ).join(ids, on=["cluster_id", "end_offset"], how="left_semi")
    snapshot = F.struct(
        *("end_offset", "epoch", "content_sha256", "branch_epoch"),
        F.unix_micros("timestamp").alias("timestamp_us"),
    )
    placed = contents.join(F.broadcast(last), on=["cluster_id", "end_offset"], how="left")
    placed = placed.select("cluster_id", "can_begin", snapshot.alias("snapshot"))
    run = F.struct("start", "end", F.col("base").alias("base"))
    runs = _with_bases(runs_of(known), placed)
    runs = runs.groupBy("cluster_id").agg(F.sort_array(F.collect_list(run)).alias("runs"))
    listed = placed.groupBy("cluster_id").agg(
        F.sort_array(F.collect_list("snapshot")).alias("snapshots")
    )
    ends = branch.groupBy("cluster_id").agg((F.max("offset") + 1).alias("log_end"))
    plan = F.to_json(F.struct("runs", "snapshots", "log_end")).alias("plan")
    planned = runs.join(listed, on="cluster_id", how="full")
    return planned.join(ends, on="cluster_id", how="left").select("cluster_id", plan)


def bases_of(plan: DataFrame) -> DataFrame:
    """CONTENT_IDS of the snapshots with which a run begins; plan: from `plans`."""
    ids = "struct<end_offset:bigint,epoch:int,content_sha256:string>"
    runs = F.from_json("plan", f"runs array<struct<base:{ids}>>")["runs"]
    bases = plan.select("cluster_id", F.explode(runs["base"]).alias("base"))
    return bases.where("base IS NOT NULL").select("cluster_id", "base.*")


def _with_bases(runs: DataFrame, placed: DataFrame) -> DataFrame:
    """cluster_id, start, end, base (NULL for a run from 0, and where there is none)."""
    snapshot = placed.where("can_begin").select("cluster_id", "snapshot")
    fits = F.expr(
        "snapshot.end_offset BETWEEN `start` AND `end` AND `start` > 0 AND "
        "coalesce(snapshot.branch_epoch, snapshot.epoch) = snapshot.epoch"
    )
    found = runs.join(F.broadcast(snapshot), on="cluster_id", how="left")
    # not an aggregate's filter: NULL structs would win its minimum
    base = F.min(F.when(fits, F.col("snapshot"))).alias("base")
    return found.groupBy("cluster_id", "start", "end").agg(base)


def plan_of(text: str) -> Plan:
    """A plan from its JSON."""
    found = json.loads(text)
    runs = (
        Run(one["start"], one["end"], _snapshot(one.get("base"))) for one in found.get("runs", ())
    )
    snapshots = (_snapshot(one) for one in found.get("snapshots", ()))
    whole = tuple(one for one in snapshots if one is not None)
    return Plan(tuple(runs), whole, found.get("log_end"))


def _snapshot(row: dict[str, Any] | None) -> PlannedSnapshot | None:
    # Spark's JSON leaves NULLs out
    return None if not row else PlannedSnapshot._make(row.get(n) for n in PlannedSnapshot._fields)

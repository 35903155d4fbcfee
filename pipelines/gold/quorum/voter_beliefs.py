"""gold.voter_beliefs: for each replica, which nodes it takes for voters."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pipelines.gold.newest_group import is_newest_group
from pipelines.gold.quorum.stated_voters import known_directory
from pipelines.in_memory.quorum.stated_voters import SOURCES
from pipelines.tables.quorum import VOTER_BELIEFS

_GROUP = ("cluster_id", "capture_group")


def voter_beliefs(captures: DataFrame, stated: DataFrame, findings: DataFrame) -> DataFrame:
    """The table; captures: bronze's; stated: from stated_voters; findings: from group_findings."""
    groups = findings.select(*_GROUP, is_newest_group().alias("is_latest"), "progress")
    positions = groups.select(*_GROUP, F.inline("progress"))
    positions = positions.select(*_GROUP, "capture_id", "position")
    rows = (
        captures.select(*_GROUP, "capture_id", "captured_at", "round_name")
        .join(F.broadcast(stated), on=["cluster_id", "capture_id"], how="inner")
        .join(F.broadcast(groups.drop("progress")), on=list(_GROUP), how="inner")
        .join(F.broadcast(positions), on=[*_GROUP, "capture_id"], how="left")
    )
    # the voters of the replica that would win an election, of those that know any
    may_tell = F.when(F.col("in_force").isNotNull(), F.col("position"))
    reference = F.max_by("in_force.voters", may_tell).over(Window.partitionBy(*_GROUP))
    beliefs = F.array(
        *(F.struct(F.lit(name).alias("source"), F.col(name).alias("named")) for name in SOURCES)
    )
    told = rows.withColumn("reference", reference).withColumn("belief", F.explode(beliefs))
    told = told.where(F.col("belief.named").isNotNull())
    told = told.select("*", "belief.source", "belief.named.*")
    return VOTER_BELIEFS.select(told.withColumn("agrees", _agrees()))


def _agrees() -> Column:
    voters, reference = F.col("voters"), F.col("reference")
    is_same_size = F.size(voters) == F.size(reference)
    all_match = F.forall(voters, lambda one: F.exists(reference, lambda other: _is(one, other)))
    is_voter = F.exists(reference, lambda other: other["voter_id"] == F.col("node_id"))
    # A snapshot with older voters than its own log doesn't matter to a replica.
    is_overtaken = F.col("source").isin("log", "snapshot") & (
        F.col("belief.named") != F.col("in_force")
    )
    is_same = is_same_size & all_match
    return F.when(F.col("source") == "meta_properties", F.when(is_voter, all_match)).otherwise(
        F.when(is_same | ~is_overtaken, is_same)
    )


def _is(one: Column, other: Column) -> Column:
    """Whether two voters may be one: a directory that isn't named may be any."""
    left, right = (known_directory(voter["directory_id"]) for voter in (one, other))
    return (one["voter_id"] == other["voter_id"]) & F.coalesce(left == right, F.lit(True))

"""Damage inside of records that a forgotten capture reported, and that another capture has too.

An ingest reports such damage once, for the first capture with the batch. It doesn't decode the
batch again for later captures.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.bronze.remaining import Moments, ReplicaCapture, Row, file_in, first_ingested
from pipelines.tables.keys import replica_of
from replica.format.file_names import FileKind, classify


def moved_damage(damage: Sequence[Row], batches: DataFrame, moments: Moments) -> list[Row]:
    """The rows of bronze.damage that the remaining captures would have reported.

    damage: the rows about records of the forgotten captures. batches: rows of bronze.log_batches.
    """
    positions = sorted({row["position"] for row in damage})
    inside = F.exists(
        F.array(*(F.lit(position) for position in positions)),
        lambda at: (F.col("position") <= at) & (at < F.col("position") + F.col("size_bytes")),
    )
    found = batches.where(inside).toArrow().to_pylist()
    moved = []
    for row in damage:
        if classify(os.path.basename(row["file"])).kind is FileKind.SEGMENT:
            moved += list(_in_other_segments(row, found, moments))
        else:
            moved += list(_in_other_snapshots(row, moments))
    return moved


def _in_other_segments(damage: Row, batches: Sequence[Row], moments: Moments) -> Iterator[Row]:
    for batch in batches:
        replica = replica_of(batch)
        end = batch["position"] + batch["size_bytes"]
        is_it = batch["position"] <= damage["position"] < end and _name(batch) == _name(damage)
        if is_it and _told_by(damage, moments[replica]):
            staying = [one for one in moments[replica] if one.is_kept]
            seen = [one for one in staying if one.has_in(batch["undamaged"])]
            if seen:
                owner = first_ingested(seen)
                yield {**damage, "capture_id": owner.capture_id, "file": file_in(batch, owner)}


def _in_other_snapshots(damage: Row, moments: Moments) -> Iterator[Row]:
    for of_replica in moments.values():
        for teller in _told_by(damage, of_replica):
            content = teller.files.get(os.path.relpath(damage["file"], teller.source))
            found = [
                (one, name)
                for one in of_replica
                for name, other in one.files.items()
                if one.is_kept and content is not None and other == content
            ]
            if found:
                owner, name = min(found, key=lambda pair: pair[0].ingest_seq)
                file = os.path.join(owner.source, name)
                yield {**damage, "capture_id": owner.capture_id, "file": file}


def _told_by(damage: Row, moments: Sequence[ReplicaCapture]) -> list[ReplicaCapture]:
    return [one for one in moments if one.capture_id == damage["capture_id"]][:1]


def _name(row: Row) -> str:
    file: str = row["file"]
    return os.path.basename(file).removesuffix(".deleted")

"""A cluster's log replayed in parts by key: what each part is given, and how it walks the log.

The log is the agreed branch. Its runs without a hole are replayed apart (see replay_plan). A part
reads its rows once, in the order in which they are wanted, so that its memory holds the state of
its keys and never the log.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from pipelines.silver.replay_plan import (
    CONTENT_IDS,
    PLAN,
    Plan,
    PlannedSnapshot,
    Run,
    bases_of,
    plan_of,
    plans,
)
from pipelines.silver.stored_records import SPREAD, bucket_of, is_unknown, spread, stored_record
from replica.metadata.image import EMPTY, Entity, Image, Replay, ReplayedRecord, key_of, owner_of

IN_SNAPSHOT = -1
"""The offset of an entity that comes from the snapshot with which a replay began."""

_PLANNED, _SNAPSHOT, _TAIL, _LOG = "", "0", "1", "2"
"""How a row's `source` begins; in this order rows of one position are wanted."""
_SOURCE_OF_SNAPSHOT = f"{_SNAPSHOT}%010d%s"
"""Of its epoch and content, so that it sorts as they do."""
_RECORDS_OF_PART = 4_000_000
_ROWS_AT_ONCE = 4096


class Entry(NamedTuple):
    """A record of the log. timestamp_us: its time, None where Kafka has none; commitment: as in
    silver.committed_log, on a tail superseded or unproven."""

    offset: int
    timestamp_us: int | None
    leader_epoch: int
    commitment: str
    record: ReplayedRecord


class Content(NamedTuple):
    """What a snapshot says of the part's keys; refused: those of its records that say nothing."""

    snapshot: PlannedSnapshot
    image: Image
    refused: int


class Begin(NamedTuple):
    """From here on entries are the run's; image: what is true before the first of them."""

    run: Run
    image: Image


class End(NamedTuple):
    """All entries of the run came. is_log_end: whether the log ends there, too."""

    run: Run
    is_log_end: bool


class Tail(NamedTuple):
    """What replicas held behind this offset that the agreed branch doesn't; to be read at once."""

    fork_offset: int
    entries: Iterator[Entry]


Step: TypeAlias = Content | Begin | End | Tail | Entry


@dataclass(frozen=True)
class Part:
    """One part of a cluster's replay. snapshots: those whose contents it is given."""

    cluster_id: str
    bucket: int
    buckets: int
    plan: Plan
    snapshots: tuple[PlannedSnapshot, ...]
    rows: Iterator[tuple[Any, ...]]

    def owns(self, kind: str, key: str) -> bool:
        """Whether this part tells the truth about the entity."""
        return bucket_of(owner_of(Entity(kind, key, "", 0)), self.buckets) == self.bucket

    def owns_record(self, record: ReplayedRecord) -> bool:
        """Whether this part is the one to tell that the record can't be applied."""
        return bucket_of(key_of(record), self.buckets) == self.bucket

    def steps(self) -> Iterator[Step]:
        """All that this part has to see, in order of offsets; to be walked once.

        At one offset first the contents of snapshots that end there, then the beginning of a run,
        tails that leave the branch there, and the end of a run. Entries outside of runs that have
        a beginning aren't told, nor are tails.
        """
        due = _Schedule(self)
        for (source, position), rows in groupby(self.rows, _piece):
            if source == _LOG:
                for row in rows:
                    if row[_POSITION] >= due.next_position:
                        yield from due.before(row[_POSITION], source)
                    if due.is_open:
                        yield _entry(row)
            elif source[0] == _SNAPSHOT:
                yield from due.before(position, source)
                yield due.content(*self._image_of(rows))
            else:
                yield from due.before(position, source)
                if due.is_open:
                    yield Tail(position, map(_entry, rows))
        yield from due.rest()

    def _image_of(self, rows: Iterator[tuple[Any, ...]]) -> tuple[Image, int]:
        replay, refused = Replay(), 0
        for row in rows:
            record = stored_record(*row[_RECORD])
            refusal = replay.apply(IN_SNAPSHOT, record)
            refused += refusal is not None and self.owns_record(record)
        return replay.image(), refused


class _Schedule:
    """What happens at which offset, by the plan. is_open: whether entries are some run's."""

    def __init__(self, part: Part) -> None:
        plan = part.plan
        replayed = [run for run in plan.runs if run.base_offset is not None]
        due: list[tuple[int, str, PlannedSnapshot | Begin | End]] = [
            (one.end_offset, _SOURCE_OF_SNAPSHOT % (one.epoch, one.content_sha256), one)
            for one in part.snapshots
        ]
        due += [(run.base_offset or 0, _TAIL, Begin(run, EMPTY)) for run in replayed]
        due += [(run.end, _LOG, End(run, run.end == plan.log_end)) for run in replayed]
        self._due = sorted(due, key=itemgetter(0, 1), reverse=True)
        self._bases = {run.base for run in replayed}
        self._images: dict[PlannedSnapshot | None, Image] = {}
        self.is_open = False
        self.next_position = 0

    def before(self, position: int, source: str) -> Iterator[Step]:
        """What comes before a row of this position and source."""
        while self._due and self._due[-1][:2] <= (position, source):
            if source[0] == _SNAPSHOT and self._due[-1][:2] == (position, source):
                return
            yield self._pop(EMPTY, 0)
        self.next_position = self._due[-1][0] if self._due else 1 << 63

    def content(self, image: Image, refused: int) -> Step:
        """Of the snapshot that is next."""
        return self._pop(image, refused)

    def rest(self) -> Iterator[Step]:
        while self._due:
            yield self._pop(EMPTY, 0)

    def _pop(self, image: Image, refused: int) -> Step:
        _, _, what = self._due.pop()
        if isinstance(what, PlannedSnapshot):
            if what in self._bases:
                self._images[what] = image
            return Content(what, image, refused)
        self.is_open = isinstance(what, Begin)
        if isinstance(what, End):
            return what
        return Begin(what.run, self._images.pop(what.run.base, EMPTY))


def buckets_for(spark: SparkSession, records: int) -> int:
    """As many parts as Spark has partitions behind a shuffle; more of them for a long log, so that
    what a worker holds and sorts stays bounded. Each part is given every topic."""
    return max(
        int(spark.conf.get("spark.sql.shuffle.partitions") or 1), records // _RECORDS_OF_PART
    )


def replay_in_parts(
    branch: DataFrame,
    snapshots: DataFrame,
    snapshot_records: DataFrame,
    buckets: int,
    work: Callable[[Part], Iterator[pa.RecordBatch]],
    schema: pa.Schema,
    *,
    every_snapshot: bool = False,
    tails: DataFrame | None = None,
) -> DataFrame:
    """The rows that `work` makes of each part, in columns of `schema`.

    branch: from branch_records; tails: from lost_tails; the others bronze's; buckets: parts of
    each cluster.

    A record that this release doesn't know is a hole in the log, as behind it no state is the whole
    truth; and no replay begins with a snapshot that holds such a record.
    every_snapshot: whether the parts see the contents of all whole snapshots, or only of those
    with which a run begins.
    """
    hidden = is_unknown()
    contents = _contents(snapshots)
    records = _records_of(contents, snapshot_records)
    partial_contents = records.where(hidden).select("content_sha256").distinct()
    partial_contents = partial_contents.withColumn("is_partial", F.lit(True))
    begins = contents.join(F.broadcast(partial_contents), on="content_sha256", how="left")
    begins = begins.withColumn("can_begin", F.col("is_partial").isNull())
    known = branch.where(~hidden)
    plan = plans(branch, known, begins)
    if not every_snapshot:
        bases = F.broadcast(bases_of(plan))
        records = records.join(bases, on=list(CONTENT_IDS), how="left_semi")
    records = records.dropDuplicates([*CONTENT_IDS, "index"])  # of all replicas that have it
    log = known.withColumns({"source": F.lit(_LOG), "position": F.col("offset")})
    rows = log.unionByName(_placed(records), allowMissingColumns=True)
    if tails is not None:
        tails = tails.withColumn("source", F.concat(F.lit(_TAIL), "tail_id")).drop("tail_id")
        rows = rows.unionByName(tails, allowMissingColumns=True)
    rows = spread(rows, buckets).unionByName(_plan_rows(plan, buckets), allowMissingColumns=True)
    place = F.pmod(F.col("bucket") + F.crc32(F.col("cluster_id").cast("binary")), F.lit(buckets))
    ordered = rows.repartitionById(buckets, place.cast("int")).sortWithinPartitions(
        "cluster_id", "bucket", "position", "source", "offset"
    )
    run = partial(_run, work=work, buckets=buckets, every_snapshot=every_snapshot)
    return ordered.mapInArrow(run, from_arrow_schema(schema, prefer_timestamp_ntz=False))


def batches_of(rows: Iterable[dict[str, Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows as Arrow, some thousand at a time."""
    for _, chunk in groupby(enumerate(rows), lambda row: row[0] // _ROWS_AT_ONCE):
        yield pa.RecordBatch.from_pylist([row for _, row in chunk], schema=schema)


def _contents(snapshots: DataFrame) -> DataFrame:
    """CONTENT_IDS and timestamp of whole snapshots, each once."""
    latest = F.max("last_contained_log_timestamp").alias("timestamp")
    return snapshots.where("is_whole").groupBy(*CONTENT_IDS).agg(latest)


def _records_of(contents: DataFrame, snapshot_records: DataFrame) -> DataFrame:
    """The records of these contents, of every replica and for each id."""
    ids = F.broadcast(contents.select(*CONTENT_IDS))
    records = snapshot_records.drop("end_offset", "epoch")
    return records.join(ids, on=["cluster_id", "content_sha256"], how="inner")


def _placed(records: DataFrame) -> DataFrame:
    """Records of snapshots as rows of parts."""
    columns = {
        "source": F.format_string(_SOURCE_OF_SNAPSHOT, "epoch", "content_sha256"),
        "position": F.col("end_offset"),
        "offset": F.col("index"),
        "leader_epoch": F.col("epoch"),
    }
    return records.withColumns(columns).drop(*CONTENT_IDS[1:], "index")


def _plan_rows(plan: DataFrame, buckets: int) -> DataFrame:
    """A row before all others for each part of each cluster."""
    return plan.select(
        "cluster_id",
        F.explode(F.sequence(F.lit(0), F.lit(buckets - 1))).alias("bucket"),
        F.lit(-1).cast("long").alias("position"),
        F.lit(_PLANNED).alias("source"),
        F.lit(False).alias("is_control"),
        F.lit(PLAN).alias("record_type"),
        F.col("plan").alias("payload"),
    )


_OWNER = itemgetter(*map(SPREAD.names.index, ("cluster_id", "bucket")))
_POSITION, _SOURCE = map(SPREAD.names.index, ("position", "source"))
_PAYLOAD = SPREAD.names.index("payload")
_RECORD = slice(SPREAD.names.index("is_control"), len(SPREAD.names))
_ENTRY = slice(SPREAD.names.index("offset"), SPREAD.names.index("is_control"))


def _run(
    batches: Iterator[pa.RecordBatch],
    *,
    work: Callable[[Part], Iterator[pa.RecordBatch]],
    buckets: int,
    every_snapshot: bool,
) -> Iterator[pa.RecordBatch]:
    # What a replay makes has no cycles; to look for them takes a third of its time.
    gc.disable()
    try:
        for (cluster_id, bucket), rows in groupby(_rows(batches), _OWNER):
            yield from work(_part(cluster_id, bucket, buckets, rows, every_snapshot=every_snapshot))
    finally:
        gc.enable()


def _part(
    cluster_id: str,
    bucket: int,
    buckets: int,
    rows: Iterator[tuple[Any, ...]],
    *,
    every_snapshot: bool,
) -> Part:
    """rows: the plan's and all others."""
    plan = plan_of(next(rows)[_PAYLOAD])
    bases = (run.base for run in plan.runs)
    snapshots = plan.snapshots if every_snapshot else tuple(one for one in bases if one)
    return Part(cluster_id, bucket, buckets, plan, snapshots, rows)


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    """In SPREAD's columns, times as microseconds."""
    for batch in batches:
        columns = (
            column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
            for column in batch.columns
        )
        yield from zip(*(column.to_pylist() for column in columns), strict=True)


def _piece(row: tuple[Any, ...]) -> tuple[str, int]:
    """Neighbours of one piece are walked together: the log between snapshots and tails, or one."""
    source = row[_SOURCE]
    return source, -1 if source == _LOG else row[_POSITION]


def _entry(row: tuple[Any, ...]) -> Entry:
    return Entry._make((*row[_ENTRY], stored_record(*row[_RECORD])))

"""A cluster that is too large for one unit: the same functions, in units of bounded size.

`judge_offsets` -> `agree` -> `survey_piece` -> `replay_bucket` -> `tell`. The rows of a table that
has one for each record, or each change, are written by the stage that makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.cluster.branch import BranchPiece, LostTail
from pipelines.cluster.branch_facts import BranchFacts, BranchQuestions
from pipelines.cluster.rows import Row
from pipelines.cyclic_garbage import no_search_for_cycles
from pipelines.data_files import data_set
from pipelines.dialects import DATA_FUSION, Sql
from pipelines.gold.failure_exposure import COLUMNS as HEALTH_COLUMNS
from pipelines.gold.failure_exposure import health
from pipelines.gold.health_rules import JUDGED
from pipelines.gold.inputs import Gold, Records, Silver
from pipelines.gold.membership import RoundMember, members_of
from pipelines.gold.metadata_changes import changes_told, metadata_changes
from pipelines.gold.metadata_history import metadata_history
from pipelines.gold.state_ranges import state_ranges
from pipelines.quality.judge import judge_files, judge_layer, judge_stored
from pipelines.quality.suite_sql import table_name
from pipelines.replay.compared import REPLAYED
from pipelines.replay.parts import Part
from pipelines.replay.plan import PlannedSnapshot, ReplayPlan
from pipelines.replay.planning import Surveyed
from pipelines.replay.reading import BranchLog, BranchReader, has_unknown, rows_of, survey, walk
from pipelines.replay.written import CHANGE, RANGE, VERSION
from pipelines.silver.committed_log import AgreedBranch
from pipelines.silver.log_runs import log_runs, rows_of_runs
from pipelines.stages.output import Output, Replaced, UnitResult, table_of
from pipelines.stages.pins import Pins
from pipelines.stages.stored import StoredTables
from pipelines.table_functions import GOLD_FUNCTIONS, SILVER_FUNCTIONS
from pipelines.tables import bronze, gold, silver
from pipelines.tables.contract import Contract

_RECORD_TABLES = (bronze.LOG_BATCHES, bronze.LOG_RECORDS)
_SNAPSHOT_TABLES = (bronze.SNAPSHOTS, bronze.SNAPSHOT_RECORDS)
_FEW = tuple(
    one for one in bronze.DERIVED_FROM if one not in (*_RECORD_TABLES, bronze.SNAPSHOT_RECORDS)
)
_NOTHING = Replaced(())
_FILE_BYTES = 128 * 1024 * 1024
"""The bytes of Arrow of which one data file is written."""


@dataclass(frozen=True)
class Offsets:
    """A unit: the batches of a cluster that begin at offsets from low (inclusive) to high
    (exclusive). records: how many they have, about."""

    cluster_id: str
    low: int
    high: int
    records: int


def judge_offsets(unit: Offsets, pins: Pins) -> UnitResult:
    """Judges the batches and records. Tells the runs of batches, as rows of silver.log_runs."""
    mine = f"cluster_id = {DATA_FUSION.literal(unit.cluster_id)}"
    where = f"{mine} AND base_offset >= {unit.low:d} AND base_offset < {unit.high:d}"
    judgements, left_out = _judged(pins, _RECORD_TABLES, where)
    tables = StoredTables(unit.cluster_id, pins, {}, leaves_out=bool(left_out))
    runs = log_runs(tables.log_batches(unit.low, unit.high))
    return UnitResult((), judgements, left_out, runs)


def _judged(pins: Pins, contracts: Sequence[Contract], where: Sql) -> tuple[Any, Any]:
    names = [one.name for one in contracts]
    rows = {name: f"(SELECT * FROM {table_name(name)} WHERE {where})" for name in names}
    judgements, left_out = judge_stored(partial(pins.answer, names), contracts, rows)
    return (*judgements,), (*left_out,)


@dataclass(frozen=True)
class Agreeing:
    """A unit: a cluster. runs: those of its ranges of offsets. leaves_out: as in StoredTables.
    rounds: as in Clusters."""

    cluster_id: str
    runs: Sequence[pa.Table]
    leaves_out: bool
    records: int
    replaced: Replaced
    rounds: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Agreed:
    """What the stage `agree` tells of a cluster. runs, groups: its rows of silver.log_runs and
    silver.capture_groups. asked: what a pass over the branch is asked. branch: its ranges. members:
    those of the wanted rounds."""

    cluster_id: str
    runs: pa.Table
    groups: pa.Table
    log: BranchLog
    asked: BranchQuestions
    branch: AgreedBranch
    members: tuple[RoundMember, ...]

    @property
    def entries(self) -> int:
        """How many offsets the branch has."""
        return self.branch.entries


def agree(unit: Agreeing, pins: Pins) -> UnitResult:
    """Makes the tables of silver that have few rows, and finds the agreed branch."""
    out = Output(pins, unit.replaced)
    few = {one: pins.rows(one, [unit.cluster_id]) for one in _FEW}
    judged = judge_layer({one: rows for one, rows in few.items() if one is not bronze.SNAPSHOTS})
    for one in judged.values():
        out.note(one)
    mine = f"cluster_id = {DATA_FUSION.literal(unit.cluster_id)}"
    judgements, left_out = _judged(pins, _SNAPSHOT_TABLES, mine)
    out.judgements += judgements
    out.left_out += left_out
    tables = StoredTables(unit.cluster_id, pins, few, unit.leaves_out)
    known = pins.rows(silver.CAPTURE_GROUPS, [unit.cluster_id]).to_pylist()
    runs = log_runs(rows_of_runs(pa.concat_tables(unit.runs)))
    of = Silver(tables, runs, {row["capture_group"]: row for row in known})
    made = {one: table_of(one, node(of)) for one, node in SILVER_FUNCTIONS.items()}
    for contract, rows in made.items():
        out.put(contract, rows)
    log = replace(of.log, is_whole=not unit.leaves_out)
    groups = made[silver.CAPTURE_GROUPS]
    members = (*members_of(of, unit.rounds),)
    return out.result(Agreed(unit.cluster_id, runs, groups, log, of.asked, of.agreed, members))


@dataclass(frozen=True)
class Piece:
    """A unit: a piece of a cluster's agreed branch, or a whole snapshot. before: the entry of the
    branch before the piece, as a row of silver.committed_log. is_within_run: whether the piece
    begins within a run of batches."""

    cluster_id: str
    of: BranchPiece | PlannedSnapshot
    asked: BranchQuestions
    leaves_out: bool
    before: Row | None
    records: int
    is_within_run: bool = False


def pieces(agreed: Agreed) -> Iterator[Piece]:
    """The units of a cluster's branch, ascending, and of its snapshots, each content once."""
    about = agreed.asked, not agreed.log.is_whole
    before: Row | None = None
    for piece in agreed.log.pieces:
        size = sum(min(one.end, one.high) - max(one.first, one.low) for one in piece)
        is_within = piece[0].first > piece[0].low
        yield Piece(agreed.cluster_id, piece, *about, before, size, is_within)
        before = _entry(agreed.cluster_id, piece[-1].high - 1, piece[-1].leader_epoch)
    for one in {one.content_sha256: one for one in agreed.log.snapshots}.values():
        yield Piece(agreed.cluster_id, one, *about, None, one.end_offset)


def _entry(cluster_id: str, offset: int, epoch: int) -> Row:
    return {
        "cluster_id": cluster_id,
        "offset": offset,
        "leader_epoch": epoch,
        "crc": 0,
        "commitment": "proven",
    }


class PieceTold(NamedTuple):
    """What a piece of the branch tells: the facts that a plan of the replay needs, and those that
    tables are made from."""

    surveyed: Surveyed
    facts: BranchFacts


def survey_piece(unit: Piece, pins: Pins) -> UnitResult:
    """Makes the piece's rows of silver.committed_log; tells PieceTold. Of a snapshot it tells
    whether it has a record that this release doesn't know."""
    tables = StoredTables(unit.cluster_id, pins, {}, unit.leaves_out)
    reader = BranchReader(tables, is_whole=not unit.leaves_out)
    if isinstance(unit.of, PlannedSnapshot):
        return UnitResult((), told=has_unknown(reader, unit.of))
    found = survey(reader, unit.of, unit.asked)
    out = Output(pins, _NOTHING)
    before = unit.before
    if unit.is_within_run:  # whose offsets have no gap
        first = found.committed["offset"][0].as_py()
        before = _entry(unit.cluster_id, first - 1, unit.of[0].leader_epoch)
    out.put(silver.COMMITTED_LOG, found.committed, [] if before is None else [before])
    return out.result(PieceTold(found.surveyed, found.facts))


@dataclass(frozen=True)
class Bucket:
    """A unit: one part of a cluster's replay, the entities of a bucket."""

    cluster_id: str
    bucket: int
    buckets: int
    log: BranchLog
    plan: ReplayPlan
    records: int


class BucketTold(NamedTuple):
    """What a bucket tells: rows of REPLAYED and of gold.state_ranges."""

    compared: list[Row]
    ranges: list[Row]


def replay_bucket(unit: Bucket, pins: Pins) -> UnitResult:
    """Makes the bucket's rows of gold.metadata_history and gold.metadata_changes."""
    tables = StoredTables(unit.cluster_id, pins, {}, leaves_out=not unit.log.is_whole)
    reader = BranchReader(tables, unit.log.is_whole)
    rows = rows_of(reader, unit.log, unit.plan, unit.bucket, unit.buckets)
    part = Part(unit.cluster_id, unit.bucket, unit.buckets, unit.plan, rows)
    return replay_part(part, unit.log.tails, pins)


def replay_part(part: Part, tails: Sequence[LostTail], pins: Pins) -> UnitResult:
    """Walks over the records of one part of a replay, and writes what they change."""
    out = Output(pins, _NOTHING)
    versions = _Files(out, gold.METADATA_HISTORY, metadata_history)
    agreed = _Files(out, gold.METADATA_CHANGES, changes_told)
    contested = _Files(out, gold.METADATA_CHANGES, metadata_changes, size=None)
    told = BucketTold([], [])
    with no_search_for_cycles():
        for batch in walk(part):
            if not batch.num_rows:
                continue
            if batch.schema.equals(REPLAYED):
                told.compared.extend(batch.to_pylist())
                continue
            what = batch.column("what")[0].as_py()
            if what == VERSION:
                versions.add(batch)
            elif what == RANGE:
                told.ranges.extend(state_ranges(pa.Table.from_batches([batch])).to_pylist())
            else:
                assert what == CHANGE, what
                is_contested = pa.array(_is_contested(batch, tails))
                agreed.add(batch.filter(pc.invert(is_contested)))
                contested.add(batch.filter(is_contested))
    for files in (versions, agreed, contested):
        files.end()
    for contract in (gold.METADATA_HISTORY, gold.METADATA_CHANGES):
        names = [file.name for one in out.made if one.table == contract.name for file in one.files]
        if names:
            out.note(judge_files(contract, data_set(pins.lake.path_of(contract), names)))
    return out.result(told)


def _is_contested(changes: pa.RecordBatch, tails: Sequence[LostTail]) -> npt.NDArray[np.bool_]:
    """Whether a branch that lost may have the same change. Of equal changes only one is kept."""
    offsets = changes.column("record_offset").to_numpy()
    found = np.zeros(len(offsets), np.bool_)
    for tail in tails:
        found |= (offsets >= tail.position) & (offsets <= tail.last_offset)
    return found


@dataclass
class _Files:
    """Files of one table, written as their rows come. made: makes the table's rows of rows of
    WRITTEN. size: the bytes of Arrow in one file; None where all rows are to be in one file."""

    out: Output
    contract: Contract
    made: Callable[[pa.Table], pa.Table]
    size: int | None = _FILE_BYTES
    waiting: list[pa.RecordBatch] = field(default_factory=list)
    waiting_bytes: int = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds the rows. Raises OSError, UnwritableFileError."""
        if batch.num_rows:
            self.waiting.append(batch)
            self.waiting_bytes += batch.nbytes
            if self.size is not None and self.waiting_bytes >= self.size:
                self._write()

    def end(self) -> None:
        """Writes the last rows. Raises the errors of `add`."""
        if self.waiting:
            self._write()

    def _write(self) -> None:
        rows = table_of(self.contract, self.made(pa.Table.from_batches(self.waiting)))
        self.out.write(self.contract, rows)
        self.waiting, self.waiting_bytes = [], 0


@dataclass(frozen=True)
class Telling:
    """A unit: a cluster, of which all records were replayed. history: the new files of
    gold.metadata_history."""

    agreed: Agreed
    leaves_out: bool
    facts: BranchFacts
    compared: Sequence[Row]
    ranges: Sequence[Row]
    history: tuple[str, ...]
    replaced: Replaced


def tell(unit: Telling, pins: Pins) -> UnitResult:
    """Makes the tables of gold that have no row for each record."""
    out = Output(pins, unit.replaced)
    cluster_id = unit.agreed.cluster_id
    few = {one: pins.rows(one, [cluster_id]) for one in _FEW}
    tables = StoredTables(cluster_id, pins, few, unit.leaves_out)
    groups = {row["capture_group"]: row for row in unit.agreed.groups.to_pylist()}
    of = Silver(tables, unit.agreed.runs, groups)
    records = Records(unit.facts, unit.compared, unit.ranges)
    derived = Gold(of, records, partial(_health, unit=unit, pins=pins))
    for contract, node in GOLD_FUNCTIONS.items():
        out.put(contract, node(derived))
    out.carry_others()
    return out.result()


def _health(looks: Sequence[Row], *, unit: Telling, pins: Pins) -> Sequence[Row]:
    """The health of the cluster in its newest state, which the new files of gold.metadata_history
    have."""
    if not looks:
        return []
    end = min(look["end_offset"] for look in looks)
    begin = min(look["from_offset"] for look in looks)
    is_wanted = pc.field("entity").isin(JUDGED) & (
        pc.field("valid_to_offset").is_null() | (pc.field("valid_to_offset") >= min(begin, end))
    )
    folder = pins.lake.path_of(gold.METADATA_HISTORY)
    files = data_set(folder, unit.history)
    return health(files.to_table([*HEALTH_COLUMNS], is_wanted), looks)

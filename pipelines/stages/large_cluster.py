"""The stages that derive the tables of a cluster which is too large for one unit: the functions of
`whole_cluster`, in units of bounded size.

`judge_offsets` -> `agree` -> `survey_piece` -> `replay_bucket` -> `newest` -> `look_back`, as often
as needed -> `last_tables`. Where a table has a row for each record, or each change, the stage that
makes the rows writes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import pyarrow as pa
from pyarrow.dataset import Dataset

from pipelines.cluster.branch import BranchPiece
from pipelines.cluster.branch_facts import BranchFacts, BranchQuestions
from pipelines.cluster.rows import Row
from pipelines.data_files import data_set
from pipelines.dialects import DATA_FUSION, Sql
from pipelines.gold.failure_exposure import (
    StepRange,
    all_steps,
    look_back_rows,
    newest_state,
    newest_steps,
    ranges_of,
)
from pipelines.gold.health_rules import JudgedState, judged_state
from pipelines.gold.inputs import Gold, Records, Silver
from pipelines.gold.membership import RoundMember, members_of
from pipelines.gold.other_disks import NOTHING_BESIDE, BesideCluster
from pipelines.gold.verdicts import newest_evidence
from pipelines.quality.judge import Judgement, LeftOut, judge_layer, judge_stored
from pipelines.quality.suite_sql import table_name
from pipelines.replay.plan import PlannedSnapshot, Surveyed
from pipelines.replay.reading import (
    BranchLog,
    BranchReader,
    has_unknown,
    survey,
)
from pipelines.silver.committed_log import AgreedBranch
from pipelines.silver.log_runs import log_runs, rows_of_runs
from pipelines.stages.output import Output, Replaced, UnitResult, table_of
from pipelines.stages.pins import Pins
from pipelines.stages.stored import StoredTables
from pipelines.table_functions import GOLD_FUNCTIONS, SILVER_FUNCTIONS
from pipelines.tables import bronze, gold, silver
from pipelines.tables.contract import Contract
from replica.doctor.health.past import Past, Waiting

_RECORD_TABLES = (bronze.LOG_BATCHES, bronze.LOG_RECORDS)
SNAPSHOT_TABLES = (bronze.SNAPSHOTS, bronze.SNAPSHOT_RECORDS)
FEW = tuple(
    one for one in bronze.DERIVED_FROM if one not in (*_RECORD_TABLES, bronze.SNAPSHOT_RECORDS)
)
_NOTHING = Replaced(())
_STEPS_OF_A_RANGE = 1_000_000
"""About how many steps of the history are read in one unit: some ten seconds of work."""


@dataclass(frozen=True)
class Offsets:
    """A unit: the batches of a cluster that begin at offsets from low (inclusive) to high
    (exclusive)."""

    cluster_id: str
    low: int
    high: int
    records: int
    """The approximate number of records of these batches."""


def judge_offsets(unit: Offsets, pins: Pins) -> UnitResult:
    """Judges the batches and records of the unit. `facts` of the result has the runs of batches, as
    rows of silver.log_runs."""
    mine = f"cluster_id = {DATA_FUSION.literal(unit.cluster_id)}"
    where = f"{mine} AND base_offset >= {unit.low:d} AND base_offset < {unit.high:d}"
    judgements, left_out = judged(pins, _RECORD_TABLES, where)
    tables = StoredTables(unit.cluster_id, pins, {}, leaves_out=bool(left_out))
    runs = log_runs(tables.log_batches(unit.low, unit.high))
    return UnitResult((), judgements, left_out, runs)


def judged(
    pins: Pins, contracts: Sequence[Contract], where: Sql, joined: Sequence[Contract] = ()
) -> tuple[tuple[Judgement, ...], tuple[LeftOut, ...]]:
    """Judges the rows that fulfil a condition, in the query that reads them. Returns the
    judgements, and the rows that are left out.

    joined: tables that aren't judged, but that the suites of the judged tables join. Of these, too,
    only rows that fulfil the condition are read.
    """
    names = [one.name for one in (*contracts, *joined)]
    rows = {name: f"(SELECT * FROM {table_name(name)} WHERE {where})" for name in names}
    judgements, left_out = judge_stored(partial(pins.answer, names), contracts, rows)
    return (*judgements,), (*left_out,)


@dataclass(frozen=True)
class Agreeing:
    """A unit of the stage `agree`: a cluster."""

    cluster_id: str
    runs: Sequence[pa.Table]
    """The runs of all ranges of the cluster's offsets."""
    leaves_out: bool
    """Whether some batches or records are left out of what is derived."""
    records: int
    replaced: Replaced
    rounds: frozenset[int] = frozenset()
    """The numbers of the ingest rounds that the build judges."""


@dataclass(frozen=True)
class Agreed:
    """The result of the stage `agree` for a cluster."""

    cluster_id: str
    runs: pa.Table
    """The cluster's rows of silver.log_runs."""
    groups: pa.Table
    """The cluster's rows of silver.capture_groups."""
    log: BranchLog
    asked: BranchQuestions
    """The questions that each pass over a piece of the branch answers."""
    branch: AgreedBranch
    """The ranges of the agreed branch, ascending."""
    members: tuple[RoundMember, ...]
    """The captures of the cluster in the ingest rounds that the build judges."""

    @property
    def entries(self) -> int:
        """The number of offsets in the branch."""
        return self.branch.entries


def agree(unit: Agreeing, pins: Pins) -> UnitResult:
    """Makes the tables of silver that have few rows, and finds the agreed branch."""
    out = Output(pins, unit.replaced)
    few = {one: pins.rows(one, [unit.cluster_id]) for one in FEW}
    for one in judge_layer({c: few[c] for c in few if c is not bronze.SNAPSHOTS}).values():
        out.note(one)
    mine = f"cluster_id = {DATA_FUSION.literal(unit.cluster_id)}"
    judgements, left_out = judged(pins, SNAPSHOT_TABLES, mine)
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
    """A unit: a piece of a cluster's agreed branch, or a whole snapshot."""

    cluster_id: str
    of: BranchPiece | PlannedSnapshot
    asked: BranchQuestions
    leaves_out: bool
    before: Row | None
    """The entry of the branch before the piece, as a row of silver.committed_log; None for the
    first piece and for a snapshot."""
    records: int
    is_within_run: bool = False
    """Whether the piece begins within a run of batches."""


def pieces(agreed: Agreed) -> Iterator[Piece]:
    """The units of a cluster's branch, in ascending order, and of its snapshots,
    each content once."""
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


class PieceFacts(NamedTuple):
    """The result of survey_piece for a piece of the branch."""

    surveyed: Surveyed
    """The facts that the plan of the replay needs."""
    facts: BranchFacts
    """The facts from which tables are made."""


def survey_piece(unit: Piece, pins: Pins) -> UnitResult:
    """Makes the piece's rows of silver.committed_log. `facts` of the result is a PieceFacts. For a
    snapshot no rows are made, and `facts` is whether it has a record of a type or version that this
    release doesn't know."""
    tables = StoredTables(unit.cluster_id, pins, {}, unit.leaves_out)
    reader = BranchReader(tables, is_whole=not unit.leaves_out)
    if isinstance(unit.of, PlannedSnapshot):
        return UnitResult((), facts=has_unknown(reader, unit.of))
    found = survey(reader, unit.of, unit.asked)
    out = Output(pins, _NOTHING)
    before = unit.before
    if unit.is_within_run and found.committed.num_rows:  # a run's offsets have no gap
        first = found.committed["offset"][0].as_py()
        before = _entry(unit.cluster_id, first - 1, unit.of[0].leader_epoch)
    out.put(silver.COMMITTED_LOG, found.committed, [] if before is None else [before])
    return out.result(PieceFacts(found.surveyed, found.facts))


@dataclass(frozen=True)
class LastTables:
    """A unit: a cluster, of which all records were replayed."""

    agreed: Agreed
    leaves_out: bool
    facts: BranchFacts
    compared: Sequence[Row]
    ranges: Sequence[Row]
    history: tuple[str, ...]
    """The new files of gold.metadata_history."""
    replaced: Replaced
    past: Past | None = None
    """Since when the exposures and reassignments of the cluster's newest state have lasted; None
    while that isn't known."""
    beside: BesideCluster = NOTHING_BESIDE
    """What other directories of the newest captures' round show of the cluster's voters."""

    @property
    def cluster_id(self) -> str:
        return self.agreed.cluster_id

    @property
    def clusters(self) -> tuple[str, ...]:
        return (self.cluster_id,)


class NewestFacts(NamedTuple):
    """The result of the stage `newest state` for a cluster."""

    state_row: Row
    """The row of pipelines.gold.newest_states for this cluster."""
    steps: Sequence[StepRange]
    """The ranges of the history of that state, newest first."""


def newest(unit: LastTables, pins: Pins) -> UnitResult:
    """Finds the newest state of a cluster, and the history that look_back reads. `facts` of the
    result is a NewestFacts; None where the lake knows no state of the cluster."""
    newest_states = _derived(unit, pins).newest_states
    if not newest_states:
        return UnitResult(())
    (state_row,) = newest_states
    steps = all_steps(state_row)
    spans = [*ranges_of(_versions(unit, pins), steps, _STEPS_OF_A_RANGE)] or [steps]
    return UnitResult((), facts=NewestFacts(state_row, spans))


@dataclass(frozen=True)
class LookingBack:
    """A unit: a range of the history of a cluster's newest state."""

    cluster_id: str
    history: tuple[str, ...]
    """The new files of gold.metadata_history."""
    state_row: Row
    steps: StepRange
    asked: Waiting | None
    """The questions that newer ranges have left open; None where no question is answered yet."""

    @property
    def records(self) -> int:
        """The work of the unit, in records: a row of a step takes about as long as a record."""
        return self.steps.rows or 1


def look_back(unit: LookingBack, pins: Pins) -> UnitResult:
    """Reads one range of the history of the newest state. The field `facts` of the result is a
    PastRange."""
    versions = _versions(unit, pins)
    return UnitResult((), facts=look_back_rows(versions, unit.state_row, unit.steps, unit.asked))


def _versions(unit: LastTables | LookingBack, pins: Pins) -> Dataset:
    """The rows of gold.metadata_history in the unit's new files."""
    return data_set(pins.lake.path_of(gold.METADATA_HISTORY), unit.history)


def last_tables(unit: LastTables, pins: Pins) -> UnitResult:
    """Makes the last tables of gold, whose number of rows doesn't grow with the records. The field
    `facts` of the result is the NewestEvidence on the cluster."""
    out = Output(pins, unit.replaced)
    derived = _derived(unit, pins)
    for contract, node in GOLD_FUNCTIONS.items():
        out.put(contract, node(derived))
    out.carry_others()
    return out.result((*newest_evidence(derived),))


def _derived(unit: LastTables, pins: Pins) -> Gold:
    few = {one: pins.rows(one, [unit.cluster_id]) for one in FEW}
    tables = StoredTables(unit.cluster_id, pins, few, unit.leaves_out)
    groups = {row["capture_group"]: row for row in unit.agreed.groups.to_pylist()}
    records = Records(unit.facts, unit.compared, unit.ranges)
    of = Silver(tables, unit.agreed.runs, groups, beside=unit.beside)
    return Gold(of, records, partial(_health, unit=unit, pins=pins))


def _health(newest_states: Sequence[Row], *, unit: LastTables, pins: Pins) -> Sequence[JudgedState]:
    """The health of the cluster in its newest state."""
    judged_states = []
    for state_row in newest_states:
        assert unit.past is not None, "the stages before looked back"
        versions = _versions(unit, pins)
        steps = partial(newest_steps, versions, state_row)
        state = judged_state(state_row, newest_state(versions, state_row), unit.past, steps)
        judged_states.append(state)
    return judged_states

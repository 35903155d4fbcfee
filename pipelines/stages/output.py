"""The output of a unit: data files that no commit names yet, and the judgements of their rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from datafusion import SessionContext

from pipelines.cluster.rows import Row
from pipelines.data_files import read_data_file
from pipelines.delta.committing import WriteTarget
from pipelines.delta.few_rows import in_types
from pipelines.delta.unit_commits import IS_GONE, Made
from pipelines.dialects import DATA_FUSION, Sql
from pipelines.new_file import NewFile
from pipelines.quality.judge import Judged, Judgement, LeftOut, judge
from pipelines.quality.suite_sql import quoted
from pipelines.stages.pins import Pins
from pipelines.tables.contract import Contract
from pipelines.tables.gold import FINDINGS, VERDICTS
from pipelines.tables.of_a_lake import DERIVED
from replica.doctor.check import formatted, membership
from replica.doctor.check.catalogue.startup import FORMATTED_WITHOUT_VOTERS

Content: TypeAlias = Sequence[Row] | Iterable[Row] | pa.Table
"""Rows of a table, at least with the columns of its contract."""
CONTRACTS = {contract.name: contract for contract in DERIVED}
_BETWEEN = (*membership.RULES, *formatted.RULES, FORMATTED_WITHOUT_VOTERS)
BETWEEN_CLUSTERS = f"rule IN ({DATA_FUSION.literals(rule.id for rule in _BETWEEN)})"
"""SQL condition for the rows of gold.findings that the stage `rounds` makes."""
_MADE_APART = {FINDINGS.name: BETWEEN_CLUSTERS}
OF_UNITS = tuple(contract for contract in DERIVED if contract is not VERDICTS)
"""The derived tables of which a unit of clusters makes rows. The rows of gold.verdicts are made
last, because they need the rows that the stage `rounds` makes."""
_MOST_COMPARED = 1_000
"""The most rows that are read to see whether they changed. Reading more would take longer than to
write and commit them anew."""


@dataclass(frozen=True, slots=True)
class UnitResult:
    """The result of a unit: new data files, judgements, and what other stages need."""

    made: tuple[Made, ...]
    judgements: tuple[Judgement, ...] = ()
    """The judgements of the rows that the unit read or made."""
    left_out: tuple[LeftOut, ...] = ()
    """Rows of bronze from which nothing was derived."""
    facts: Any = None
    """Facts about the unit that other stages need."""

    @property
    def files(self) -> tuple[NewFile, ...]:
        """All data files that the unit wrote."""
        return tuple(file for one in self.made for file in (*one.files, *one.changes))


@dataclass(frozen=True, slots=True)
class Replaced:
    """The rows that a unit's new rows replace."""

    clusters: tuple[str, ...]
    """The ids of the clusters whose rows are removed."""
    own: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By table, the files of the pinned version that have only rows of `clusters`."""
    shared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By table, the files that also have rows of other clusters: these files are written anew."""
    removed: tuple[str, ...] = ()
    """The ids of all clusters whose rows in the shared files are removed. For those that aren't in
    `clusters`, other units make the new rows."""


@dataclass
class Output:
    """Takes the rows that a unit makes."""

    pins: Pins
    """The tables at the versions that the build reads."""
    replaced: Replaced
    is_whole: bool = False
    """Whether this object takes all rows of the unit's clusters. Then a file with exactly these
    rows can stay."""
    kept: set[str] = field(default_factory=set, init=False)
    made: list[Made] = field(default_factory=list, init=False)
    left_out: list[LeftOut] = field(default_factory=list, init=False)
    judgements: list[Judgement] = field(default_factory=list, init=False)

    def result(self, facts: Any = None) -> UnitResult:
        """The result of the unit, with everything that this object took. facts: as in
        UnitResult."""
        return UnitResult((*self.made,), (*self.judgements,), (*self.left_out,), facts)

    def note(self, judged: Judged) -> pa.Table:
        """Keeps the judgements and the rows that are left out. Returns the admitted rows."""
        self.judgements += judged.judgements
        self.left_out += judged.left_out
        return judged.admitted

    def put(self, contract: Contract, content: Content, context: Sequence[Row] = ()) -> None:
        """Takes new rows of a table, judges them and writes them. Rows that the table has already
        may be left out. context: the rows that come before the new ones, made by other units. They
        are neighbours of the new rows in the judgement, and are neither judged nor written.

        Raises OSError and UnwritableFileError where a file can't be written, and what delta-rs
        raises.
        """
        rows = table_of(contract, content)
        with_context = rows
        if context:
            with_context = pa.concat_tables([table_of(contract, context), rows])
        self.note(judge(contract, with_context, len(context)))
        if contract.change_feed:
            before = self.pins.columns(contract, contract.column_names, self.rows_before(contract))
            self.put_changes(contract, before, rows)
        elif self._has_file_of(contract, rows):
            self.kept.add(contract.name)
        else:
            self.write(contract, rows)

    def _has_file_of(self, contract: Contract, rows: pa.Table) -> bool:
        """Whether the only file to be removed has the same rows. Only small tables are compared."""
        own = self.replaced.own.get(contract.name, ())
        is_shared = contract.name in self.replaced.shared
        if not self.is_whole or is_shared or len(own) != 1 or rows.num_rows > _MOST_COMPARED:
            return False
        before = read_data_file(self.pins.lake.path_of(contract), own[0])
        same: bool = in_types(before, contract.arrow_schema).equals(rows)
        return same

    def rows_before(self, contract: Contract) -> Sql:
        """SQL condition for the rows of the pinned version that the unit's rows replace."""
        where = DATA_FUSION.of_clusters(self.replaced.clusters)
        apart: Sql | None = _MADE_APART.get(contract.name)
        return where if apart is None else f"{where} AND NOT ({apart})"

    def write(self, contract: Contract, rows: pa.Table) -> None:
        """Writes rows into a new file of the table."""
        file = WriteTarget.of(self.pins.lake, contract).write(rows.to_batches())
        if file is not None:
            self.made.append(Made(contract.name, (file,)))

    def put_changes(self, contract: Contract, before: pa.Table, after: pa.Table) -> None:
        """Writes only the rows that differ between `before` and `after`, so that the change data
        feed has only new, changed and deleted rows."""
        if not before.num_rows:
            self.write(contract, after)
            return
        new, changed = differences(contract, before, after)
        self.write(contract, new)
        if changed.num_rows:
            target = WriteTarget(self.pins.lake.path_of(contract), changed.schema, frozenset())
            file = target.write(changed.to_batches())
            assert file is not None, "there are rows"
            self.made.append(Made(contract.name, changes=(file,)))

    def put_findings(
        self, before: pa.Table, rows: pa.Table, *, keep: bool, gone: Sequence[str]
    ) -> None:
        """Takes the findings between clusters of the new rounds. before: the rows of all rounds so
        far. keep: whether rows of other rounds stay, except those of the clusters in `gone`."""
        self.note(judge(FINDINGS, rows))
        if keep:
            is_gone = pc.is_in(before["cluster_id"], pa.array(gone, pa.string()))
            is_new = _keys_in(FINDINGS, before, rows)
            before = before.filter(pc.or_(is_gone, is_new))
        self.put_changes(FINDINGS, before, rows)

    def put_verdicts(self, rows: pa.Table, replaced: Sequence[str] | None) -> None:
        """Takes new rows of gold.verdicts. replaced: the ids of the clusters whose rows the new
        rows replace; None where they replace all rows."""
        self.note(judge(VERDICTS, rows))
        before = self.pins.columns(VERDICTS, VERDICTS.column_names, "true")
        if replaced is not None:
            before = before.filter(pc.is_in(before["cluster_id"], pa.array(replaced, pa.string())))
        self.put_changes(VERDICTS, before, rows)

    def carry_others(self) -> None:
        """Notes the files that the commit removes, and writes the rows of other clusters in them
        anew."""
        folder = self.pins.lake.path
        for name in {*self.replaced.own, *self.replaced.shared} - self.kept:
            shared = self.replaced.shared.get(name, ())
            new: tuple[NewFile, ...] = ()
            if shared:
                contract = CONTRACTS[name]
                place = folder(contract.schema_name, contract.table_name)
                rows = pa.concat_tables(
                    in_types(read_data_file(place, one), contract.arrow_schema) for one in shared
                )
                gone = pa.array(self.replaced.removed, pa.string())
                kept = rows.filter(pc.invert(pc.is_in(rows["cluster_id"], gone)))
                file = WriteTarget.of(self.pins.lake, contract).write(kept.to_batches())
                new = () if file is None else (file,)
            self.made.append(Made(name, new, (*self.replaced.own.get(name, ()), *shared)))


def differences(contract: Contract, before: pa.Table, after: pa.Table) -> tuple[pa.Table, pa.Table]:
    """(new, changed): the rows of `after` whose keys are new; and, with the column IS_GONE, the
    rows whose other values changed and the rows of `before` whose keys are gone. Keys are
    unique."""
    context = SessionContext()
    for name, rows in (("b", before), ("a", after)):
        nothing = pa.RecordBatch.from_pylist([], rows.schema)
        context.register_record_batches(name, [rows.to_batches() or [nothing]])
    same = " AND ".join(f"(a.{key} IS NOT DISTINCT FROM b.{key})" for key in quoted(contract.keys))
    others = [name for name in contract.column_names if name not in contract.keys]
    differ = " OR ".join(f"(a.{one} IS DISTINCT FROM b.{one})" for one in quoted(others))
    schema = contract.arrow_schema
    new = context.sql(f"SELECT a.* FROM a LEFT ANTI JOIN b ON {same}")
    changed = context.sql(f"SELECT a.* FROM a JOIN b ON {same} WHERE {differ or 'false'}")
    gone = context.sql(f"SELECT b.* FROM b LEFT ANTI JOIN a ON {same}")
    marked = [_marked(in_types(changed.to_arrow_table(), schema), is_gone=False)]
    marked.append(_marked(in_types(gone.to_arrow_table(), schema), is_gone=True))
    return in_types(new.to_arrow_table(), schema), pa.concat_tables(marked)


def _keys_in(contract: Contract, rows: pa.Table, others: pa.Table) -> pa.Array:
    """For each row of `rows`, whether `others` has a row with the same keys."""
    keys = {tuple(row.values()) for row in others.select(contract.keys).to_pylist()}
    found = (tuple(row.values()) in keys for row in rows.select(contract.keys).to_pylist())
    return pa.array([*found], pa.bool_())


def _marked(rows: pa.Table, *, is_gone: bool) -> pa.Table:
    flags = pa.repeat(pa.scalar(is_gone), rows.num_rows)
    return rows.append_column(pa.field(IS_GONE, pa.bool_(), nullable=False), flags)


def table_of(contract: Contract, content: Content) -> pa.Table:
    """`content` as a table with the contract's columns and types."""
    if isinstance(content, pa.Table):
        return content.select(contract.column_names).cast(contract.arrow_schema)
    rows = [*content]
    columns = {name: [row[name] for row in rows] for name in contract.column_names}
    return pa.Table.from_pydict(columns, contract.arrow_schema)

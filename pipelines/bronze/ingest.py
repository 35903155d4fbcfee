"""Rounds of capture groups, written into the bronze tables.

Rounds of different clusters go side by side, in one pass: each step has the captures of all of
them. A pass that was killed is simply run again: its writes are MERGEs by key, and appends with a
transaction id. The table itself shows which rows an append still lacks. bronze.captures is written
last, in one commit, and marks the rounds as done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from deltalake import Transaction

from pipelines import delta
from pipelines.bronze import small_tables
from pipelines.bronze.captured import Captured, known_captures, place_side_by_side
from pipelines.bronze.damage import RawBytes, damage_row, damage_rows, unreadable
from pipelines.bronze.findings import judge_captures
from pipelines.bronze.log_ranges import Row
from pipelines.bronze.new_records import APPLICATION, write_new_records
from pipelines.bronze.seen_batches import write_seen_batches
from pipelines.bronze.snapshot_records import new_snapshots, write_snapshot_records, write_snapshots
from pipelines.capture.captures import Round
from pipelines.capture.in_place import ChangedFileError, InPlace
from pipelines.delta import Lake, ensure_table
from pipelines.delta.compacting import compact
from pipelines.dialects import DATA_FUSION
from pipelines.lake.delta_rs import open_if_there
from pipelines.lake.redaction import Redaction, redactor_of
from pipelines.runners.runner import Runner, nothing
from pipelines.runners.stage import Grain, Stage
from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from replica.errors import UsageError
from replica.format.damage import Damage, DamageKind
from replica.format.known_file import KnownFile
from replica.metadata.redact import Redactor


def changed_since(one: Captured) -> ChangedFileError | None:
    """The error that says why a file differs from the file that was captured; None where no file
    differs. Runs in a task."""
    files = one.capture.copies
    try:
        if isinstance(files, InPlace):
            files.check()
    except ChangedFileError as error:
        return error
    return None


def left_out_damage(one: Captured, why: ChangedFileError) -> Damage:
    """The damage that says why a capture is left out. It names the changed file by the path that
    the user knows."""
    shown = one.capture.location.shown
    files = one.capture.copies.files if isinstance(one.capture.copies, InPlace) else {}
    for relative, file in files.items():
        if file.path == why.path:
            shown = one.capture.shown_file(relative)
    detail = (
        f"left out, with the captures of its group: {why.reason}; ingest it again, and without "
        "--shared where somebody writes to it"
    )
    return Damage(0, 0, DamageKind.CHANGED, detail, shown)


_ROUNDS_TO_COMPACT = 12
"""The number of rounds after which small files are joined: twice a day for hourly captures."""
Counts = Counter[str]
"""Rows added or changed, by table name."""


@dataclass(frozen=True)
class Ingest:
    """An ingest into a lake."""

    runner: Runner
    """The runner of the stages."""
    lake: Lake
    redaction: Redaction | None
    """How secrets are hidden; with None they are kept."""
    tell: Callable[[Damage], None] = nothing
    """A function that gets each damage that is found after the captures were made. The damage names
    files as the user knows them."""

    def create_tables(self) -> None:
        """Create the tables that are absent.

        Raises UsageError where a table is missing though bronze.captures, which is made last, has
        rows.
        """
        absent = [c.name for c in bronze.BRONZE if open_if_there(self.lake, c.name) is None]
        if absent and bronze.CAPTURES.name not in absent:
            raise UsageError(
                f"{self.lake.root} has no {', '.join(absent)}, though it has bronze.captures: "
                "restore what is missing, or ingest the captures into a new lake"
            )
        for contract in reversed(bronze.BRONZE):
            ensure_table(self.lake, contract)

    def run_pass(
        self,
        rounds: Sequence[Round],
        now: datetime,
        progress: Callable[[str], None],
        decoded: Callable[[int], None],
        batch: Transaction | None = None,
    ) -> Counts:
        """Ingest the rounds of one pass, without the groups that the lake has already.

        rounds: no two of them have a cluster in common. now: captured_at of captures without a time
        of their own. progress: is called with a line of text before each step. decoded: is called
        with the number of bytes of logs that were decoded since the last call. batch: the
        micro-batch of a stream that this pass ends; the commit to bronze.captures has it as an app
        transaction.
        """
        known = known_captures(self.lake, [group for groups in rounds for group in groups], now)
        captured = place_side_by_side(rounds, known, now)
        for one in captured:
            if one.clock_is_behind:
                shown, at = one.capture.location.shown, one.at.isoformat(timespec="seconds")
                progress(f"{shown}: the clock is behind its newest capture: placed at {at}")
        redactor = redactor_of(self.redaction)
        left_out: Counts = Counter()
        while captured:
            try:
                pass_ = _Pass(self.lake, captured, redactor, self.runner, decoded, batch)
                return left_out + pass_.run(progress)
            except ChangedFileError as error:
                gone, changed = self._changed(captured, error)
                left_out.update(self.add_damage(changed))
                rounds = [
                    tuple(one for one in groups if one.group_id not in gone) for groups in rounds
                ]
                captured = place_side_by_side(rounds, known, now)
        return left_out

    def _changed(
        self, captured: tuple[Captured, ...], error: ChangedFileError
    ) -> tuple[set[str], list[Damage]]:
        """The groups in which a file was changed since its capture, and a damage for each replica
        with such a file. The pass begins again without these groups. What the pass has already
        written stays, and is not written twice. The next ingest reads these groups again.

        Raises the error where no file of a capture was changed.
        """
        stage: Stage[Captured, ChangedFileError | None] = Stage(
            "compare with the capture", Grain.DIRECTORY, changed_since, in_threads=True
        )
        found = zip(captured, self.runner.run(stage, captured), strict=True)
        changed = [(one, why) for one, why in found if why is not None]
        if not changed:
            raise error
        damages = [left_out_damage(one, why) for one, why in changed]
        for damage in damages:
            self.tell(damage)
        return {one.group_id for one, _ in changed}, damages

    def add_damage(self, damages: Sequence[Damage]) -> Counts:
        """Adds the damages that belong to no replica and that the lake doesn't have. Gives how many
        were added."""
        rows = [damage_row(None, damage) for damage in damages]
        return add_missing(self.lake, bronze.DAMAGE, rows)


@dataclass(frozen=True)
class _Pass:
    """The steps of one pass. decoded, batch: as in Ingest.run_pass."""

    lake: Lake
    captured: Sequence[Captured]
    """The captures of the rounds of this pass, one of each replica."""
    redactor: Redactor | None
    """Replaces the secrets in records; with None the secrets are kept."""
    runner: Runner
    """The runner of the stages."""
    decoded: Callable[[int], None]
    batch: Transaction | None = None
    counts: Counts = field(default_factory=Counter)
    """The rows that the steps have written so far."""
    known: dict[str, Mapping[str, KnownFile]] = field(default_factory=dict)
    """The known files of the captures, by capture and path."""

    def run(self, progress: Callable[[str], None]) -> Counts:
        """Does all steps. Gives the number of rows added or changed, by table. Each step may be
        done again by a later pass."""
        steps: dict[str, Callable[[], None]] = {
            "damage": self._damage,
            "log records": self._records,
            "snapshot records": self._snapshot_records,
            "snapshots": self._snapshots,
            "log batches": self._batches,
            "findings": self._findings,
            "state": self._state,
            "captures": self._captures,
        }
        if any(one.ingest_seq % _ROUNDS_TO_COMPACT == 0 for one in self.captured):
            steps["small files"] = self._compact
        for what, write in steps.items():
            progress(f"{len(self.captured)} replicas: {what}")
            write()
        return self.counts

    def _add(self, contract: Contract, rows: Sequence[Row]) -> None:
        self.counts.update(add_missing(self.lake, contract, rows))

    def _damage(self) -> None:
        """Writes the damage that the captures found: places from which no record can be read."""
        raw = RawBytes(self.redactor)
        rows = [row for one in self.captured for row in damage_rows(one, raw.hide)]
        self._add(bronze.DAMAGE, rows)

    def _records(self) -> None:
        self.counts[bronze.LOG_RECORDS.name] += write_new_records(
            self.lake,
            self.captured,
            self.redactor,
            self.runner,
            self._keep_unreadable,
            lambda part: self.decoded(part.range.end - part.range.start),
        )

    def _snapshot_records(self) -> None:
        """Writes the records of the snapshots that bronze.snapshots lacks. bronze.snapshots is
        written after them."""
        new = new_snapshots(self.lake, self.captured)
        if new:
            self.counts[bronze.SNAPSHOT_RECORDS.name] += write_snapshot_records(
                self.lake, new, self.redactor, self.runner, self._keep_unreadable
            )

    def _keep_unreadable(self, records: Sequence[Row]) -> None:
        """Adds rows of bronze.damage for records that could not be decoded."""
        captures = {one.capture.replica: one.capture.capture_id for one in self.captured}
        self._add(bronze.DAMAGE, unreadable(records, captures))

    def _snapshots(self) -> None:
        rows = write_snapshots(self.lake, self.captured)
        self.counts[bronze.SNAPSHOTS.name] += rows

    def _batches(self) -> None:
        rows = write_seen_batches(self.lake, self.captured, self.redactor, self.runner)
        self.counts[bronze.LOG_BATCHES.name] += rows

    def _findings(self) -> None:
        """Writes the findings of new captures. An unchanged directory in a new group was judged
        before."""
        captures = {one.capture.capture_id: one.capture for one in self.captured}
        ids = DATA_FUSION.literals(captures)
        seen = delta.values(self.lake, bronze.CAPTURES, ("capture_id",), f"capture_id IN ({ids})")
        known = {row["capture_id"] for row in seen}
        new = [capture for capture_id, capture in captures.items() if capture_id not in known]
        judged = [capture.judged for capture in new if capture.judged is not None]
        judged += judge_captures(
            self.runner, [capture for capture in new if capture.judged is None]
        )
        self.known.update({one.capture_id: one.known for one in judged})
        for capture in captures.values():
            self.known.setdefault(capture.capture_id, capture.known())
        self._add(bronze.FINDINGS, [row for one in judged for row in one.rows])

    def _state(self) -> None:
        by_capture = {one.capture.capture_id: one for one in self.captured}
        states = [small_tables.replica_state_row(one) for one in by_capture.values()]
        self._add(bronze.REPLICA_STATE, states)

    def _captures(self) -> None:
        rows = [
            small_tables.capture_row(one, self.known[one.capture.capture_id])
            for one in self.captured
        ]
        # each round has its own application id, so that one of two writers of a round fails
        firsts = {one.ingest_seq: one.group_id for one in reversed(self.captured)}
        applications = [f"{APPLICATION}-{group_id}" for group_id in firsts.values()]
        also = [] if self.batch is None else [self.batch]
        delta.add_values(self.lake, bronze.CAPTURES, rows, applications, also=also)
        self.counts[bronze.CAPTURES.name] += len(rows)

    def _compact(self) -> None:
        for contract in bronze.BRONZE:
            compact(self.lake, contract)


def add_missing(lake: Lake, contract: Contract, rows: Sequence[Row]) -> Counts:
    """Adds the rows whose keys the table lacks. Gives how many were added. contract: a table whose
    rows belong to captures."""
    if not rows:
        return Counter()
    unique = {tuple(row[key] for key in contract.keys): row for row in rows}
    ids = DATA_FUSION.literals({row["capture_id"] for row in rows if row["capture_id"]})
    seen = delta.version(lake, contract)
    of_captures = f"capture_id IS NULL OR capture_id IN ({ids or 'NULL'})"
    for known in delta.values(lake, contract, contract.keys, of_captures):
        unique.pop(tuple(known.values()), None)
    added = delta.add_values(lake, contract, [*unique.values()], [APPLICATION], seen)
    return Counter({contract.name: added.rows})

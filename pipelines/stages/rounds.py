"""Findings about clusters that were captured together, from the files of all these clusters; and
tables whose rows belong to no cluster."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from operator import itemgetter

from pipelines.cluster.aggregates import grouped
from pipelines.cluster.rows import Row
from pipelines.dialects import DATA_FUSION
from pipelines.gold.membership import (
    ENTRY_COLUMNS,
    RoundMember,
    entries_at,
    meta_properties_of,
)
from pipelines.gold.other_disks import FormattedMember, RoundDirectories
from pipelines.quality.judge import judge
from pipelines.stages.output import UnitResult
from pipelines.stages.pins import Pins
from pipelines.tables import bronze
from pipelines.tables.keys import REPLICA_KEYS, replica_of
from replica.doctor.check.catalogue.groups import METADATA_LOG_NOT_GIVEN
from replica.doctor.check.formatted import WITHOUT_LOG
from replica.format.discovery import DirectoryPath
from replica.format.file_names import METADATA_FOLDER
from replica.format.formatted import FormattedDirectory

_OF_CAPTURES = (*REPLICA_KEYS, "capture_id", "ingest_seq", "source")


def directories_of(pins: Pins, numbers: Collection[int]) -> dict[int, RoundDirectories]:
    """The directories of each round in `numbers`, by the round's number. The name of
    meta.properties is only looked up in rounds with a directory without a metadata log."""
    without_log = f"rule IN ({DATA_FUSION.literals(WITHOUT_LOG)})"
    found = pins.columns(bronze.FINDINGS, ["capture_id", "rule"], without_log).to_pylist()
    formatted = {row["capture_id"]: row["rule"] for row in found}
    rows = _captures(pins, _OF_CAPTURES, numbers)
    mixed = {row["ingest_seq"] for row in rows if row["capture_id"] in formatted}
    files = _captures(pins, ("capture_id", "ingest_seq", "files"), mixed)
    paths = {(row["capture_id"], row["ingest_seq"]): row["files"] for row in files}
    rows.sort(key=itemgetter("source"))
    return {
        number: RoundDirectories(
            tuple(
                (replica_of(row), meta_properties_of(row["source"], paths.get(_place(row), ())))
                for row in together
                if row["capture_id"] not in formatted
            ),
            tuple(
                _formatted(row, formatted[row["capture_id"]])
                for row in together
                if row["capture_id"] in formatted
            ),
        )
        for number, together in grouped(rows, itemgetter("ingest_seq")).items()
    }


def _captures(pins: Pins, names: Sequence[str], numbers: Collection[int]) -> list[Row]:
    """The captures of the rounds with these numbers. names: the columns to read."""
    where = f"ingest_seq IN ({DATA_FUSION.literals(sorted(numbers))})" if numbers else "false"
    found: list[Row] = pins.columns(bronze.CAPTURES, names, where).to_pylist()
    return found


_place = itemgetter("capture_id", "ingest_seq")


def _formatted(row: Row, rule: str) -> FormattedMember:
    shown = DirectoryPath(METADATA_FOLDER, row["source"]).shown_node
    directory = FormattedDirectory(
        shown, replica_of(row), has_partitions=rule == METADATA_LOG_NOT_GIVEN.id
    )
    return FormattedMember(row["capture_id"], directory)


@dataclass(frozen=True)
class Members:
    """A unit: members of a round, and the offsets at which their logs are compared."""

    members: tuple[RoundMember, ...]
    offsets: tuple[int, ...]
    """The offsets whose entries are compared."""


def first_entries(unit: Members, pins: Pins) -> UnitResult:
    """Finds the batches that hold the offsets. `facts` of the result has them (Entries) by
    capture_id."""
    clusters = sorted({one.member.replica.cluster_id for one in unit.members})
    rows = holding(pins, clusters, unit.offsets)
    return UnitResult((), facts={one.capture_id: entries_at(rows, one) for one in unit.members})


def holding(pins: Pins, clusters: Sequence[str], offsets: Sequence[int]) -> list[Row]:
    """The batches of the clusters that hold one of the offsets, each with `holds`: the offsets in
    the batch."""
    places = (f"base_offset <= {one:d} AND last_offset >= {one:d}" for one in offsets)
    where = " OR ".join(f"({place})" for place in places) or "false"
    names = (*REPLICA_KEYS, *ENTRY_COLUMNS)
    rows = pins.columns(
        bronze.LOG_BATCHES, names, f"{DATA_FUSION.of_clusters(clusters)} AND ({where})"
    )
    found: list[Row] = rows.to_pylist()
    for row in found:
        row["holds"] = [o for o in offsets if row["base_offset"] <= o <= row["last_offset"]]
    return found


def judge_damage(_: None, pins: Pins) -> UnitResult:
    """Judges bronze.damage, whose rows name no cluster."""
    rows = pins.columns(bronze.DAMAGE, bronze.DAMAGE.column_names, "true")
    judged = judge(bronze.DAMAGE, rows)
    return UnitResult((), judged.judgements, judged.left_out)

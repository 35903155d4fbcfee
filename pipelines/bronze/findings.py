"""bronze.findings: each directory judged by the rules of `kraftlake check`, without a replay.

The replay of the agreed branch, in gold, finds whether a snapshot's content equals its log, and
whether every record can be applied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pipelines.capture.look import JudgedLook, Look
from pipelines.finding_rows import finding_row
from pipelines.runners.runner import Runner
from pipelines.runners.stage import Grain, Stage
from pipelines.tables.bronze import FINDINGS
from replica.doctor.check.catalogue.snapshots import SNAPSHOT_NOT_KNOWN, SNAPSHOT_UNVERIFIED
from replica.doctor.check.directory import DirectoryFacts, gather, judge_directory, judge_snapshots
from replica.doctor.check.examined import Examined
from replica.doctor.check.formatted import judge_formatted
from replica.doctor.check.landmarks import known_files
from replica.doctor.check.replay_fold import FoldedImages
from replica.doctor.check.rule import Finding
from replica.format.content import FileContent
from replica.format.directory import MetadataDirectory, SegmentFile
from replica.format.file_names import LOG_KINDS
from replica.format.formatted import FormattedDirectory
from replica.format.reading import MAX_LOG_BYTES, open_file
from replica.model.epochs import OffsetAndEpoch
from replica.scan.compact import CompactBatches
from replica.scan.segments import scan

Row = dict[str, Any]


def judge_looks(runner: Runner, looks: Sequence[Look]) -> list[JudgedLook]:
    """One unit for each look."""
    stage: Stage[_Unit, JudgedLook] = Stage(
        "judge directories",
        Grain.DIRECTORY,
        _judge,
        writes=(FINDINGS.name,),
        in_threads=True,
    )
    return runner.run(stage, [*map(_Unit, looks)])


@dataclass
class _Unit:
    """A look. Another process gets it without the batches of large segments, which would be most of
    the bytes that it is sent: it finds these batches in the copies."""

    look: Look
    is_handed_over: bool = False

    def __reduce__(self) -> tuple[type[_Unit], tuple[Look, bool]]:
        return _Unit, (_handed_over(self.look), True)


def _judge(unit: _Unit) -> JudgedLook:
    look = unit.look
    return judge_look(replace(look, directory=_found_again(look)) if unit.is_handed_over else look)


def judge_look(look: Look) -> JudgedLook:
    """Judges a look by the copies of its logs in the spool. Of a log directory that was formatted
    only the rules about all directories of the round can say more."""
    if look.location.is_formatted:
        return JudgedLook(look.capture_id, (_never_started(look),), {})
    contents = {
        file.path: FileContent(open_file(look.copy_of(file), MAX_LOG_BYTES))
        for file in look.directory.files
        if file.name.kind in LOG_KINDS
    }
    examined = Examined(look.location, look.directory, contents)
    facts = gather(examined)
    found = [*judged(facts)]
    known = known_files(facts, [finding for finding, _ in found], look.known())
    keys = {"capture_id": look.capture_id, **asdict(look.replica)}
    rows = tuple(keys | row for row in rows_of(examined, found))
    return JudgedLook(look.capture_id, rows, known)


def _never_started(look: Look) -> Row:
    directory = FormattedDirectory(look.location.shown_node, look.replica)
    (found,) = judge_formatted([directory], [])
    return {
        "capture_id": look.capture_id,
        **asdict(look.replica),
        **finding_row(found),
        "snapshot_end_offset": None,
        "snapshot_epoch": None,
    }


Judged = tuple[Finding, OffsetAndEpoch | None]
"""A finding, and the id of the complete snapshot that it is about."""


def judged(facts: DirectoryFacts) -> Iterator[Judged]:
    """What the rules say of a directory without a replay of its log."""
    for finding in judge_directory(facts, FoldedImages()):
        yield finding, None
    for verdict in judge_snapshots(facts, {}):
        for finding in (*verdict.broken, *verdict.notes):
            yield finding, verdict.id


def rows_of(examined: Examined, found: Iterable[Judged]) -> Iterator[Row]:
    """The findings as rows of bronze.findings without the keys of capture and replica. Left out are
    those of the rules that gold decides."""
    for finding, snapshot in found:
        if finding.rule not in (SNAPSHOT_UNVERIFIED, SNAPSHOT_NOT_KNOWN):
            yield {
                **finding_row(finding),
                "file": examined.shown_file(finding.file),
                "snapshot_end_offset": None if snapshot is None else snapshot.offset,
                "snapshot_epoch": None if snapshot is None else snapshot.epoch,
            }


def _handed_over(look: Look) -> Look:
    """The look without the batches of large segments."""

    def without(segment: SegmentFile) -> SegmentFile:
        return replace(segment, scan=replace(segment.scan, batches=CompactBatches()))

    return replace(look, directory=_with_large(look.directory, without))


def _found_again(look: Look) -> MetadataDirectory:
    """The look's directory, with the batches that `_handed_over` left out."""

    def found(segment: SegmentFile) -> SegmentFile:
        with open_file(look.copy_of(segment.file), MAX_LOG_BYTES) as copy:
            found_again = scan(copy, expected_offset=segment.file.name.base_offset, compact=True)
            return replace(segment, scan=found_again)

    return _with_large(look.directory, found)


def _with_large(
    directory: MetadataDirectory, change: Callable[[SegmentFile], SegmentFile]
) -> MetadataDirectory:
    """The directory, with `change` applied to each large segment."""

    def changed(segment: SegmentFile) -> SegmentFile:
        return change(segment) if isinstance(segment.scan.batches, CompactBatches) else segment

    return replace(
        directory,
        segments=tuple(map(changed, directory.segments)),
        deleted_segments=tuple(map(changed, directory.deleted_segments)),
    )

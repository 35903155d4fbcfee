"""bronze.findings: each directory judged by the rules of `kraftlake check`, without a replay.

The replay of the agreed branch, in gold, finds whether a snapshot's content equals its log, and
whether every record can be applied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pipelines.capture.capture import Capture, JudgedCapture
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


def judge_captures(runner: Runner, captures: Sequence[Capture]) -> list[JudgedCapture]:
    """Judges the captures, with one unit of the runner for each. Returns their judgements in the
    order of the captures."""
    stage: Stage[_Unit, JudgedCapture] = Stage(
        "judge directories",
        Grain.DIRECTORY,
        _judge,
        writes=(FINDINGS.name,),
        in_threads=True,
    )
    return runner.run(stage, [*map(_Unit, captures)])


@dataclass
class _Unit:
    """A unit: a capture. It is sent to another process without the batches of large segments, which
    would be most of the bytes. That process reads these batches from the copies."""

    capture: Capture
    is_handed_over: bool = False

    def __reduce__(self) -> tuple[type[_Unit], tuple[Capture, bool]]:
        return _Unit, (_handed_over(self.capture), True)


def _judge(unit: _Unit) -> JudgedCapture:
    capture = unit.capture
    return judge_capture(
        replace(capture, directory=_found_again(capture)) if unit.is_handed_over else capture
    )


def judge_capture(capture: Capture) -> JudgedCapture:
    """Judges a capture by the copies of its files in the spool. A log directory without a metadata
    log gets only the finding never-started or metadata-log-not-given here: the other rules compare
    it with the other directories of the round, and are applied in gold."""
    if capture.location.is_formatted:
        return JudgedCapture(capture.capture_id, (_without_log(capture),), {})
    contents = {
        file.path: FileContent(open_file(capture.copy_of(file), MAX_LOG_BYTES))
        for file in capture.directory.files
        if file.name.kind in LOG_KINDS
    }
    examined = Examined(capture.location, capture.directory, contents)
    facts = gather(examined)
    found = [*judged(facts)]
    known = known_files(facts, [finding for finding, _ in found], capture.known())
    keys = {"capture_id": capture.capture_id, **asdict(capture.replica)}
    rows = tuple(keys | row for row in rows_of(examined, found))
    return JudgedCapture(capture.capture_id, rows, known)


def _without_log(capture: Capture) -> Row:
    where = capture.location
    directory = FormattedDirectory(
        where.shown_node, capture.replica, has_partitions=where.has_partitions
    )
    (found,) = judge_formatted([directory], [])
    return {
        "capture_id": capture.capture_id,
        **asdict(capture.replica),
        **finding_row(found),
        "snapshot_end_offset": None,
        "snapshot_epoch": None,
    }


Judged = tuple[Finding, OffsetAndEpoch | None]
"""(a finding, the id of the complete snapshot that it is about; None where it is about no such
snapshot)."""


def judged(facts: DirectoryFacts) -> Iterator[Judged]:
    """The findings of those rules of `check` that need no replay of the directory's log."""
    for finding in judge_directory(facts, FoldedImages()):
        yield finding, None
    for verdict in judge_snapshots(facts, {}):
        for finding in (*verdict.broken, *verdict.notes):
            yield finding, verdict.id


def rows_of(examined: Examined, found: Iterable[Judged]) -> Iterator[Row]:
    """The findings as rows of bronze.findings without the keys of capture and replica. Findings of
    the rules that gold decides are left out."""
    for finding, snapshot in found:
        if finding.rule not in (SNAPSHOT_UNVERIFIED, SNAPSHOT_NOT_KNOWN):
            yield {
                **finding_row(finding),
                "file": examined.shown_file(finding.file),
                "snapshot_end_offset": None if snapshot is None else snapshot.offset,
                "snapshot_epoch": None if snapshot is None else snapshot.epoch,
            }


def _handed_over(capture: Capture) -> Capture:
    """The capture without the batches of large segments."""

    def without(segment: SegmentFile) -> SegmentFile:
        return replace(segment, scan=replace(segment.scan, batches=CompactBatches()))

    return replace(capture, directory=_with_large(capture.directory, without))


def _found_again(capture: Capture) -> MetadataDirectory:
    """The capture's directory, with the batches that `_handed_over` left out."""

    def found(segment: SegmentFile) -> SegmentFile:
        with open_file(capture.copy_of(segment.file), MAX_LOG_BYTES) as copy:
            found_again = scan(copy, expected_offset=segment.file.name.base_offset, compact=True)
            return replace(segment, scan=found_again)

    return _with_large(capture.directory, found)


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

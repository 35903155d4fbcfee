"""Compares snapshots that have the same id on several replicas: they must hold the same state.

The bootstrap snapshot 0-0 is left out. It holds the records of formatting on its node, not a state
of the log (see the rule initial-voters-differ).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replica.doctor.check.catalogue import groups
from replica.doctor.check.examined import Examined, by_cluster
from replica.doctor.check.replaying import snapshot_image
from replica.doctor.check.rule import Finding
from replica.doctor.check.snapshot_validity import Compared, compare_images, describe
from replica.format.directory import SnapshotFile
from replica.model.epochs import BOOTSTRAP_SNAPSHOT, OffsetAndEpoch


def judge_same_snapshots(group: Sequence[Examined]) -> Iterator[Finding]:
    """Findings about each usable snapshot that differs from the first snapshot with the same id."""
    for members in by_cluster(group):
        first: dict[OffsetAndEpoch, tuple[Examined, SnapshotFile]] = {}
        for examined in members:
            for snapshot_id, snapshot in examined.usable_snapshots:
                if snapshot_id == BOOTSTRAP_SNAPSHOT:
                    continue
                other = first.setdefault(snapshot_id, (examined, snapshot))
                content, others = examined.content_of(snapshot), other[0].content_of(other[1])
                if not content.equals(others):
                    yield from _compare(*other, examined, snapshot)


def _compare(
    a: Examined, snapshot_a: SnapshotFile, b: Examined, snapshot_b: SnapshotFile
) -> Iterator[Finding]:
    image_a, image_b = snapshot_image(a, snapshot_a), snapshot_image(b, snapshot_b)
    if image_a is None or image_b is None or snapshot_b.id is None:
        return
    found = compare_images(image_b, image_a)
    yield from judge_contents(
        b.shown_file(snapshot_b.file.path),
        a.shown_file(snapshot_a.file.path),
        snapshot_b.id,
        found.counted(found.others or [*found.orphans, *found.dropped]),
    )


def judge_contents(
    file: str, other: str, snapshot_id: OffsetAndEpoch, compared: Compared
) -> Iterator[Finding]:
    """The finding about a snapshot that differs from another replica's snapshot of the same id.
    file, other: the two files, as the user names them.

    compared: the differences. `compared.first` has some of them.
    """
    rule, count = groups.SNAPSHOT_ID_CONFLICT, compared.different
    if not count:
        rule, count = groups.SNAPSHOT_ID_ORPHANS, compared.orphans + compared.dropped
    if count:
        message = f"{describe(compared.first, count)} (against {other})"
        yield rule.at(file, message, offset=snapshot_id.offset, epoch=snapshot_id.epoch)

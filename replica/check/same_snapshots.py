"""Snapshots of one id on several replicas: they must hold one state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replica.check.catalogue import groups
from replica.check.examined import Examined
from replica.check.membership import by_cluster
from replica.check.replaying import snapshot_image
from replica.check.rule import Finding
from replica.check.snapshots import compare_images, describe
from replica.format.directory import SnapshotFile
from replica.types import OffsetAndEpoch


def judge_same_snapshots(group: Sequence[Examined]) -> Iterator[Finding]:
    """Each usable snapshot against the first one of its id."""
    for members in by_cluster(group):
        first: dict[OffsetAndEpoch, tuple[Examined, SnapshotFile]] = {}
        for examined in members:
            for snapshot in examined.directory.snapshots:
                if snapshot.id is None or not snapshot.is_usable:
                    continue
                other = first.setdefault(snapshot.id, (examined, snapshot))
                if _content(*other) != _content(examined, snapshot):
                    yield from _compare(*other, examined, snapshot)


def _content(examined: Examined, snapshot: SnapshotFile) -> bytes:
    return examined.contents[snapshot.file.path]


def _compare(
    a: Examined, snapshot_a: SnapshotFile, b: Examined, snapshot_b: SnapshotFile
) -> Iterator[Finding]:
    image_a, image_b = snapshot_image(a, snapshot_a), snapshot_image(b, snapshot_b)
    if image_a is None or image_b is None or snapshot_b.id is None:
        return
    orphans, others = compare_images(image_b, image_a)
    found = others or orphans
    rule = groups.SNAPSHOT_ID_CONFLICT if others else groups.SNAPSHOT_ID_ORPHANS
    if found:
        yield rule.at(
            b.shown_file(snapshot_b.file.path),
            f"{describe(found, len(found))} (against {a.shown_file(snapshot_a.file.path)})",
            offset=snapshot_b.id.offset,
            epoch=snapshot_b.id.epoch,
        )

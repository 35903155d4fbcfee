"""The state that `kraftlake restore` begins with, from directories or from a lake."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from jobs.directories.recover import examined_nodes, plan_of
from jobs.moments import Moment
from jobs.output import ProgressLine, complain
from pipelines.lake import Lake
from replica.check.examined import Examined
from replica.check.members import by_cluster
from replica.check.replaying import replay_log, snapshot_image
from replica.errors import DataError, UsageError
from replica.format.walk import LocatedBatch
from replica.history.recovery import RecoveryDecision
from replica.message.schema import REDACTED
from replica.metadata.image.image import Image
from replica.metadata.image.texts import image_of
from replica.model.epochs import OffsetAndEpoch


class RestoreSource(NamedTuple):
    """shown: where the state comes from. end_offset: exclusive. redacted: by kind of entity, how
    many are not in the image because the source lacks their secrets."""

    image: Image
    shown: str
    end_offset: int
    redacted: Counter[str]


def of_directories(paths: Sequence[str], at_offset: int | None) -> RestoreSource:
    """The state of the directory with which a quorum would continue (`kraftlake recover`).

    at_offset: the end of a batch; None for the end of its log. Raises UsageError where the state
    there isn't known to the last record.
    """
    with ExitStack() as stack:
        found = examined_nodes(paths, stack)
    clusters = by_cluster(found)
    if len(clusters) > 1:
        raise UsageError(f"{', '.join(paths)}: {len(clusters)} clusters: name one's directories")
    (members,) = clusters
    examined = _best(members)
    end = _end(examined, at_offset)
    image = _image(examined, end)
    if image is None:
        raise UsageError(
            f"{examined.shown}: the state at offset {end.offset} isn't known: records before it "
            "are missing, damaged or unknown, as `kraftlake check` says; name another --at-offset"
        )
    return RestoreSource(image, examined.shown, end.offset, Counter())


def _best(members: Sequence[Examined]) -> Examined:
    plan, by_key = plan_of(members)
    if plan.answer is not RecoveryDecision.SAFE:
        reasons = "; ".join(plan.reasons)
        complain(f"restore: not all of this state is proven to be committed: {reasons}")
    return by_key[plan.ranking[0].log.key]


def _end(examined: Examined, at_offset: int | None) -> OffsetAndEpoch:
    batches = [one for segment in examined.directory.segments for one in segment.scan.batches]
    ends = [_end_of(one) for one in batches]
    ends += [one.id for one in examined.directory.snapshots if one.id is not None and one.is_whole]
    ends = sorted(end for end in ends if end.offset > 0)
    if not ends:
        raise UsageError(f"{examined.shown}: no record")
    if at_offset is None:
        return ends[-1]
    place = bisect_left(ends, OffsetAndEpoch(at_offset, -1))
    if place < len(ends) and ends[place].offset == at_offset:
        return ends[place]
    near = sorted({end.offset for end in ends[max(0, place - 1) : place + 1]})
    raise UsageError(
        f"--at-offset {at_offset}: no batch or snapshot of {examined.shown} ends there; "
        f"{' and '.join(map(str, near))} would do"
    )


def _end_of(batch: LocatedBatch) -> OffsetAndEpoch:
    return OffsetAndEpoch(batch.header.next_offset, batch.header.leader_epoch)


def _image(examined: Examined, end: OffsetAndEpoch) -> Image | None:
    progress = ProgressLine()
    image = replay_log(examined, (end,), progress.show).images.get(end)
    progress.clear()
    if image is not None:
        return image
    for snapshot in examined.directory.snapshots:
        if snapshot.id == end and snapshot.is_whole:
            return snapshot_image(examined, snapshot)
    return None


def of_lake(
    lake: Lake, cluster: str | None, moment: Moment, *, committed_only: bool
) -> RestoreSource:
    """The state that `kraftlake state` gives at the moment. Raises UsageError."""
    from jobs.asking.lake_history import cluster_history  # Directories need no delta-rs.
    from jobs.asking.sql_views import HISTORY

    history = cluster_history(lake, cluster, committed_only=committed_only)
    end_offset = history.end_offset(moment)
    redacted: Counter[str] = Counter()
    try:
        image = image_of(_readable(history.entities(end_offset), redacted))
    except DataError as error:
        raise error.in_file(f"{lake}: {HISTORY}") from error
    return RestoreSource(image, f"{lake}, cluster {history.cluster_id}", end_offset, redacted)


def _readable(
    rows: Iterator[Sequence[Any]], redacted: Counter[str]
) -> Iterator[tuple[str, str, int | None]]:
    """Kind, value and offset of the entities with their secrets. The others are counted."""
    for kind, _, value, offset in rows:
        if kind in ("scram", "delegation_token") and REDACTED in value:
            redacted[kind] += 1  # A redacted value is no base64.
        else:
            yield kind, value, offset

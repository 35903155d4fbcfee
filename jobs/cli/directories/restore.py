"""`kraftlake restore`: makes the file from which a new cluster boots with the metadata of a lost
cluster, which directories or a lake hold."""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from jobs.cli.commands.options import lake_unless
from jobs.cli.commands.options import names_in as names_of
from jobs.cli.commands.recovering import RestoreOptions
from jobs.cli.directories.judged_clusters import disks_of_several
from jobs.cli.directories.notices import printed_at_the_end
from jobs.cli.directories.recover import given_nodes, plan_of
from jobs.cli.moments import Moment, asked_moment
from jobs.cli.output import ProgressLine, complain, write_either, write_line
from pipelines.capture.destination import destination_at
from pipelines.capture.private import make_folder, new_file
from pipelines.lake import Lake
from pipelines.object_store import is_uri, shown_uri
from pipelines.own_folder import names_in, refuse_foreign_names, refuse_in_log_directory
from replica.doctor.check.examined import Examined, by_cluster
from replica.doctor.check.replaying import replay_log, snapshot_image
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.of_directories import first_change
from replica.doctor.health.sizes import entity_counts
from replica.doctor.quorum.conditions import unproven_changes
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.doctor.quorum.recovery import RecoveryDecision, RecoveryPlan
from replica.doctor.restore.checkpoint import checkpoint, voters_records
from replica.doctor.restore.plan import RestoreDifference, RestorePlan, plan_restore
from replica.errors import DataError, UnreadableFileError, UsageError, writing
from replica.format.control import ControlMessage
from replica.format.file_names import METADATA_FOLDER
from replica.format.reading import MAX_STATE_BYTES, read_own_file
from replica.format.snapshot import BOOTSTRAP_NAME, SnapshotName, format_name
from replica.history.divergence import Relation
from replica.message.schema import REDACTED
from replica.metadata.image.image import Image
from replica.metadata.image.texts import image_of
from replica.model.epochs import BOOTSTRAP_SNAPSHOT, OffsetAndEpoch
from replica.words import counted, up_to

FIRST_WITHOUT_BOOTSTRAP_FILE = (4, 4)
"""The first release whose kafka-storage writes the bootstrap records into the
log's checkpoint 0-0."""
_CHECKPOINT = f"{METADATA_FOLDER}/{format_name(SnapshotName(BOOTSTRAP_SNAPSHOT))}"


def run(options: RestoreOptions) -> int:
    """Prints what will be different, and writes the checkpoint. Returns 1 where recover --plan
    refuses to continue with this state, else 0. Raises KraftlakeError."""
    if options.output is not None:
        if is_uri(options.output):
            raise UsageError(f"-o {shown_uri(options.output)}: name a local folder")
        names = names_in(options.output)
        refuse_foreign_names(f"-o {options.output}", names, lambda name: False, "restore")
        refuse_in_log_directory(f"-o {options.output}", options.output)
    brokers = broker_map(options.map_brokers)
    source = _source(options)
    if Cluster(source.image).is_migrating:
        complain(
            "restore: a migration from ZooKeeper is under way: the cluster needs both stores, and "
            "a broker that still runs with ZooKeeper can't join the new one"
        )
    plan = plan_restore(source.image, options.release, brokers)
    code = 1 if source.is_refused else 0
    control = _control_records(options)
    _show(plan, source, json_output=options.json_output)
    if options.output is None:
        return code
    timestamp_ms = time.time_ns() // 1_000_000
    content = checkpoint(plan.records(), timestamp_ms, control)
    name = _CHECKPOINT if _is_in_the_log(options.release) else BOOTSTRAP_NAME
    with destination_at(options.output):  # refuses a link, and folders that others can change
        _write(Path(options.output, name), content)
    if not options.json_output:
        place = os.path.join(options.output, name)
        write_line(f"written: {place}, {counted(len(content), 'byte')}")
        write_line(
            f"next: kafka-storage format each new controller, copy the file to {name} below its "
            "metadata.log.dir, then start the controllers, then the brokers"
        )
    return code


def broker_map(text: str | None) -> dict[int, int]:
    """The new id of each broker by its old id, from a text such as 1=11,2=12; empty for None.
    Raises UsageError for another text."""
    found: dict[int, int] = {}
    for part in text.split(",") if text else ():
        old, equals, new = (piece.strip() for piece in part.partition("="))
        if not (equals and _is_id(old) and _is_id(new)) or int(old) in found:
            raise UsageError(
                f"--map-brokers {text}: expected OLD=NEW ids with commas between, such as 1=11,2=12"
            )
        found[int(old)] = int(new)
    return found


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _source(options: RestoreOptions) -> RestoreSource:
    lake = lake_unless(options.paths, options.lake, "restore")
    if lake is None:
        order = names_of(options.order)
        return of_directories(options.paths or (), options.at_offset, order)
    moment = asked_moment(options.at_offset, options.at_time)
    return of_lake(lake, options.cluster, moment, committed_only=options.committed_only)


def _is_in_the_log(release: str) -> bool:
    return tuple(map(int, release.split("."))) >= FIRST_WITHOUT_BOOTSTRAP_FILE


def _control_records(options: RestoreOptions) -> tuple[ControlMessage, ...]:
    """The records of kraft.version and of the voters, from the checkpoint 0-0 of the formatted
    directory. Empty where no such directory was given, and for a release that boots from
    bootstrap.checkpoint, which doesn't hold such records. Raises UsageError where the checkpoint
    can't be read."""
    if options.formatted is None or not _is_in_the_log(options.release):
        return ()
    path = os.path.join(options.formatted, _CHECKPOINT)
    try:
        data = read_own_file(path, MAX_STATE_BYTES)
    except UnreadableFileError as error:
        raise UsageError(
            f"--formatted {options.formatted}: {error}; name a metadata.log.dir that kafka-storage "
            f"of Kafka {options.release} has formatted"
        ) from error
    try:
        return voters_records(data)
    except DataError as error:
        raise UsageError(
            f"--formatted: {error.in_file(path)}; format the directory again by kafka-storage"
        ) from error


def _show(plan: RestorePlan, source: RestoreSource, *, json_output: bool) -> None:
    why = "left out: the source has no secrets: set the credentials again"
    withheld = [
        RestoreDifference(kind, count, why) for kind, count in sorted(source.redacted.items())
    ]
    kinds = {name: count for name, count in entity_counts(plan.image).items() if count}
    restored = ({"kind": "restored", "entity": name, "number": kinds[name]} for name in kinds)
    changes = [*withheld, *plan.changes]
    rows = chain(restored, ({"kind": "change", **one._asdict()} for one in changes))
    lines = (
        f"from {source.shown}, {up_to(source.end_offset)}",
        *(f"  {name}: {count}" for name, count in kinds.items()),
        "different in the new cluster:",
        *(f"  {one.entity}: {one.number}: {one.detail}{_examples(one)}" for one in changes),
    )
    write_either(rows, lines, json_output=json_output)


def _examples(one: RestoreDifference) -> str:
    more = ", ..." if one.number > len(one.examples) else ""
    return f" ({', '.join(one.examples)}{more})" if one.examples else ""


def _write(path: Path, content: bytes) -> None:
    with writing(str(path)):
        make_folder(path.parent)
        with new_file(path) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())


class RestoreSource(NamedTuple):
    """A state to restore."""

    image: Image
    shown: str
    """The origin of the state, for messages."""
    end_offset: int
    """The end (exclusive) of the state."""
    redacted: Counter[str]
    """By kind, the number of entities that are not in the image because the source lacks their
    secrets."""
    is_refused: bool = False
    """Whether `kraftlake recover --plan` refuses to continue with this state."""


def of_directories(
    paths: Sequence[str], at_offset: int | None, order: Sequence[str] = ()
) -> RestoreSource:
    """The state of the directory with which a quorum would continue (`kraftlake recover`).

    at_offset: the end of a batch; None for the end of the directory's log. order: see
    find_newest_inputs. Raises UsageError where the state at that end isn't known, because
    records before it are missing, damaged or unknown.
    """
    with ExitStack() as stack:
        notices = stack.enter_context(printed_at_the_end())
        given = given_nodes(paths, stack, notices, order)
    clusters = by_cluster(given.usable)
    if len(clusters) > 1:
        several = disks_of_several(given.usable)
        why = f". {several}" if several else ""
        told = f"{len(clusters)} clusters: name one's directories{why}"
        raise UsageError(f"{', '.join(paths)}: {told}")
    (members,) = clusters
    plan, by_key = plan_of(members, given.earlier)
    examined = by_key[plan.winner.key]
    end = _end(examined, at_offset)
    is_refused = _is_refused(plan, end.offset, is_named=at_offset is not None)
    _tell_unproven(plan)
    _tell_uncommitted(examined, plan.quorum, end.offset)
    image = _image(examined, end)
    if image is None:
        raise UsageError(
            f"{examined.shown}: the state {up_to(end.offset)} isn't known: records before it "
            "are missing, damaged or unknown, as `kraftlake check` says; name another --at-offset"
        )
    return RestoreSource(image, examined.shown, end.offset, Counter(), is_refused)


def _is_refused(plan: RecoveryPlan, end: int, *, is_named: bool) -> bool:
    """Whether the plan refuses to continue with the records below the offset `end`. Prints the
    refusal. is_named: whether the user named this end."""
    disputed = _disputed_from(plan)
    is_below = is_named if disputed is None else end <= disputed
    if plan.answer is not RecoveryDecision.REFUSED or is_below:
        return False
    told = "start no node: `kraftlake recover --plan` refuses to go on with these directories"
    if disputed:
        told += f". Nothing below offset {disputed} is disputed: --at-offset {disputed}"
    complain(f"restore: {told}")
    return True


def _disputed_from(plan: RecoveryPlan) -> int | None:
    """The first offset of a record that is lost though it is committed, or that contradicts another
    log; None where the refusal has another reason."""
    standings = chain(plan.ranking, *plan.led_by.values())
    starts = [
        one.at_risk[0].start
        for one in standings
        if one.at_risk and (one.lost.committed or one.relation is Relation.CONFLICT)
    ]
    return min([*starts, *(each.start for each in plan.commitment.contested)], default=None)


def _tell_unproven(plan: RecoveryPlan) -> None:
    if plan.answer is not RecoveryDecision.SAFE:
        reasons = "; ".join(plan.reasons)
        complain(f"restore: not all of this state is proven to be committed: {reasons}")


def _tell_uncommitted(examined: Examined, quorum: KnownQuorum, end: int) -> None:
    """Prints which records below the offset `end` are not proven to be on a majority of voters."""
    never = first_change(examined, quorum.possible_end, end)
    if never is not None:
        complain(
            f"restore: offsets {never} to {end - 1} are on no majority of the voters, so they were "
            f"not committed: topics that never came to be may be among them. --at-offset "
            f"{quorum.possible_end} leaves them out"
        )
    perhaps = first_change(examined, quorum.proven_end, min(end, quorum.possible_end))
    if perhaps is not None:
        complain(
            f"restore: needs: {unproven_changes(perhaps, quorum.proven_end)} have to be "
            "committed, which these directories don't prove: name those of more voters"
        )


def _end(examined: Examined, at_offset: int | None) -> OffsetAndEpoch:
    batches = (one for segment in examined.directory.segments for one in segment.scan.batches)
    ends = [OffsetAndEpoch(one.header.next_offset, one.header.leader_epoch) for one in batches]
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
    from jobs.cli.asking.lake_history import cluster_history  # Directories need no delta-rs.
    from jobs.cli.asking.sql_views import HISTORY

    history = cluster_history(lake, cluster, committed_only=committed_only)
    end_offset = history.end_offset(moment)
    redacted: Counter[str] = Counter()
    try:
        held = history.entities(end_offset, "entity, value, record_offset")
        image = image_of(_readable(held, redacted))
    except DataError as error:
        raise error.in_file(f"{lake}: {HISTORY}") from error
    return RestoreSource(image, f"{lake}, cluster {history.cluster_id}", end_offset, redacted)


def _readable(
    rows: Iterator[Sequence[Any]], redacted: Counter[str]
) -> Iterator[tuple[str, str, int | None]]:
    """(kind, value, offset) of each entity, without SCRAM credentials and delegation tokens whose
    secret is redacted. These are counted in `redacted`, by their kind."""
    for kind, value, offset in rows:
        if kind in ("scram", "delegation_token") and REDACTED in value:
            redacted[kind] += 1  # a redacted value is no base64
        else:
            yield kind, value, offset

"""`kraftlake restore`: makes what a new cluster boots from, out of the metadata of a lost one."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jobs.directories.restore_source import RestoreSource, of_directories, of_lake
from jobs.moments import NOW, Moment
from jobs.output import counted, write_json, write_line
from pipelines.capture.destination import destination_at
from pipelines.capture.private import make_folder, new_file
from pipelines.lake import Lake
from pipelines.object_store import is_uri, shown_uri
from pipelines.own_folder import names_in, refuse_foreign_names, refuse_in_log_directory
from replica.errors import DataError, UnreadableFileError, UnwritableFileError, UsageError
from replica.format.control import ControlMessage
from replica.format.file_names import METADATA_FOLDER
from replica.format.reading import MAX_STATE_BYTES, read_own_file
from replica.format.snapshot import BOOTSTRAP_NAME, SnapshotName, format_name
from replica.health.sizes import entity_counts
from replica.model.epochs import BOOTSTRAP_SNAPSHOT
from replica.restore.checkpoint import checkpoint, voters_records
from replica.restore.plan import RestoreDifference, RestorePlan, plan_restore

FIRST_WITHOUT_BOOTSTRAP_FILE = (4, 4)
"""Since this release kafka-storage puts the records into the checkpoint 0-0 of the log."""
_CHECKPOINT = f"{METADATA_FOLDER}/{format_name(SnapshotName(BOOTSTRAP_SNAPSHOT))}"


@dataclass(frozen=True)
class RestoreOptions:
    """paths or lake: the source. formatted: a log directory that kafka-storage has formatted, None
    where there is none. brokers: old ids to new ones. output: None for a dry run."""

    release: str
    output: str | None
    paths: Sequence[str] = ()
    lake: Lake | None = None
    cluster: str | None = None
    moment: Moment = NOW
    committed_only: bool = False
    formatted: str | None = None
    brokers: Mapping[int, int] = field(default_factory=dict)
    json_output: bool = False


def run(request: RestoreOptions) -> int:
    """Print what will be different, and write the checkpoint. Returns 0. Raises KraftlakeError."""
    if request.output is not None:
        if is_uri(request.output):
            raise UsageError(f"-o {shown_uri(request.output)}: name a local folder")
        names = names_in(request.output)
        refuse_foreign_names(f"-o {request.output}", names, lambda name: False, "restore")
        refuse_in_log_directory(f"-o {request.output}", request.output)
    source = _source(request)
    plan = plan_restore(source.image, request.release, request.brokers)
    control = _control_records(request)
    _tell(plan, source, json_output=request.json_output)
    if request.output is None:
        return 0
    timestamp_ms = time.time_ns() // 1_000_000
    content = checkpoint(plan.records(), timestamp_ms, control)
    name = _CHECKPOINT if _is_in_the_log(request.release) else BOOTSTRAP_NAME
    with destination_at(request.output):  # This refuses a link, and folders that others can change.
        _write(Path(request.output, name), content)
    if not request.json_output:
        place = os.path.join(request.output, name)
        write_line(f"written: {place}, {counted(len(content), 'byte')}")
        write_line(
            f"next: kafka-storage format each new controller, copy the file to {name} below its "
            "metadata.log.dir, then start the controllers, then the brokers"
        )
    return 0


def broker_map(text: str | None) -> dict[int, int]:
    """Old ids to new ones, from 1=11,2=12. Raises UsageError."""
    found: dict[int, int] = {}
    for part in (text or "").split(",") if text else ():
        old, equals, new = (piece.strip() for piece in part.partition("="))
        if not (equals and _is_id(old) and _is_id(new)) or int(old) in found:
            raise UsageError(
                f"--map-brokers {text}: expected OLD=NEW ids with commas between, such as 1=11,2=12"
            )
        found[int(old)] = int(new)
    return found


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _source(request: RestoreOptions) -> RestoreSource:
    if request.lake is None:
        return of_directories(request.paths, request.moment.at_offset)
    return of_lake(
        request.lake, request.cluster, request.moment, committed_only=request.committed_only
    )


def _is_in_the_log(release: str) -> bool:
    return tuple(map(int, release.split("."))) >= FIRST_WITHOUT_BOOTSTRAP_FILE


def _control_records(request: RestoreOptions) -> tuple[ControlMessage, ...]:
    """kraft.version and the voters, from the checkpoint 0-0 of the formatted directory. None where
    the records don't go into that checkpoint."""
    if request.formatted is None or not _is_in_the_log(request.release):
        return ()
    path = os.path.join(request.formatted, _CHECKPOINT)
    try:
        data = read_own_file(path, MAX_STATE_BYTES)
    except UnreadableFileError as error:
        raise UsageError(
            f"--formatted {request.formatted}: {error}; name a metadata.log.dir that kafka-storage "
            f"of Kafka {request.release} has formatted"
        ) from error
    try:
        return voters_records(data)
    except DataError as error:
        raise UsageError(
            f"--formatted: {error.in_file(path)}; format the directory again by kafka-storage"
        ) from error


def _tell(plan: RestorePlan, source: RestoreSource, *, json_output: bool) -> None:
    why = "left out: the source has no secrets: set the credentials again"
    withheld = [
        RestoreDifference(kind, count, why) for kind, count in sorted(source.redacted.items())
    ]
    kinds = {name: count for name, count in entity_counts(plan.image).items() if count}
    if json_output:
        for name, count in kinds.items():
            write_json({"kind": "restored", "entity": name, "number": count})
        for one in (*withheld, *plan.changes):
            write_json({"kind": "change", **one._asdict()})
        return
    write_line(f"from {source.shown}, up to offset {source.end_offset}")
    for name, count in kinds.items():
        write_line(f"  {name}: {count}")
    write_line("different in the new cluster:")
    for one in (*withheld, *plan.changes):
        shown = f" ({', '.join(one.examples)}{_more(one)})" if one.examples else ""
        write_line(f"  {one.entity}: {one.number}: {one.detail}{shown}")


def _more(one: RestoreDifference) -> str:
    return ", ..." if one.number > len(one.examples) else ""


def _write(path: Path, content: bytes) -> None:
    try:
        make_folder(path.parent)
        with new_file(path) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise UnwritableFileError(str(path), error.strerror or str(error)) from error

"""`kraftlake capture` and `kraftlake redact`: copies of metadata directories, with their hashes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial

from jobs.cli.commands.copying import CaptureOptions, RedactOptions
from jobs.cli.directories.archive_to_send import archived
from jobs.cli.directories.discovering import discovered
from jobs.cli.output import complain, write_json, write_line
from jobs.cli.redacting import make_redactor
from pipelines.capture.bundle import is_bundle
from pipelines.capture.manifest import manifest_of
from pipelines.capture.taking import CapturedDirectory, checked_directories, directories, take
from pipelines.object_store import shown_uri
from replica.doctor.redacted.record_redactor import RecordRedactor
from replica.errors import UnreadableFileError, UsageError
from replica.format.damage import Damage
from replica.format.discovery import DirectoryPath, DiscoveredPath, NothingToReadError
from replica.shell_text import line, path
from replica.words import counted

_READABLE = "Still readable in the copy: hosts, racks, IP addresses, ports, ids"
_READABLE_NAMES = (
    " So are the names of topics, users, groups and clients, which --names replaces by hashes."
)


def run(options: CaptureOptions) -> int:
    """Captures the directories below the paths. Returns 1 where something is damaged, a directory
    kept changing, or one of several paths holds nothing to copy; else 0. Raises KraftlakeError."""
    redactor = _redactor(options) if options.redacted else None
    report = partial(_report, "capture")
    with ExitStack() as stack:
        found, damages = _found(options.paths, stack)
        taken = take(found, options.output, report, redactor=redactor)
    return _show(taken, options) or int(bool(damages))


def run_redact(options: RedactOptions) -> int:
    """Copies directories of stopped nodes, in particular captures, without their secrets. Returns
    what `run` returns.

    The copy of a capture has the capture's time. Raises UsageError where the paths hold captures of
    several times.
    """
    with ExitStack() as stack:
        found, damages = _found(options.paths, stack)
        manifests = [manifest_of(one) for one in found]
        moments = {one.captured_at for one in manifests}
        if len(moments) > 1:
            raise UsageError(
                "redact: the paths were captured at different times, and a copy has one time: "
                "redact one capture at a time, each to a folder of its own"
            )
        at = moments.pop() or datetime.now(UTC)
        report = partial(_report, "redact")
        with archived(options.output) as folder:
            times = [one.modified_at(where) for one, where in zip(manifests, found, strict=True)]
            known = {path: time for one in times for path, time in one.items()}
            taken = take(found, folder, report, lambda: at, _redactor(options), known)
    return _show(taken, options) or int(bool(damages))


def _found(
    paths: Sequence[str], stack: ExitStack
) -> tuple[tuple[DirectoryPath, ...], Sequence[Damage]]:
    """(the directories below the paths, the damages of bundles and of paths without anything to
    copy). Prints the damages. Bundles stay unpacked until `stack` closes. Raises the errors of
    `directories`. But a folder without anything to copy is only a damage where another path has
    something to copy."""
    found: list[DiscoveredPath] = []
    damages: list[Damage] = []
    empty: list[NothingToReadError] = []
    for named in paths:
        try:
            if is_bundle(named):
                held, left_out, _ = discovered(named, stack)
                found += held
                damages += left_out
            else:
                found += directories([named])
        except NothingToReadError as error:
            empty.append(error)
    if len(empty) == len(paths):
        raise empty[0]
    damages += [error.damage for error in empty]
    for damage in damages:
        complain(str(damage))
    if not found:
        raise UnreadableFileError(damages[0].file, damages[0].detail)
    return checked_directories(found), damages


def _redactor(options: CaptureOptions | RedactOptions) -> RecordRedactor:
    """The redactor of the copies. Raises UsageError."""
    redactor = make_redactor(False, options.redact_key, options.show_config or ())
    assert redactor is not None, "only --keep-secrets goes without one"
    return RecordRedactor(redactor, hashes_names=options.hashes_names)


def _show(taken: Sequence[CapturedDirectory], options: CaptureOptions | RedactOptions) -> int:
    """Prints the captured directories. Returns 1 where one of them is damaged or kept changing,
    else 0."""
    for one in taken:
        if options.json_output:
            write_json(_fields(one))
        else:
            content = f"{counted(one.files, 'file')}, {counted(one.size_bytes, 'byte')}"
            write_line(f"{one.folder}: {one.shown}: {content}")
    if not options.json_output:
        is_to_send = isinstance(options, RedactOptions) or options.redacted
        words = ("check",) if is_to_send else ("ingest", "--lake", "LAKE")
        if is_to_send:
            write_line(f"{_READABLE}.{'' if options.hashes_names else _READABLE_NAMES}")
        write_line(f"next: {line('kraftlake', *words, path(shown_uri(options.output)))}")
    return 1 if any(one.damages for one in taken) else 0


def _report(command: str, one: CapturedDirectory) -> None:
    for damage in one.damages:
        complain(str(damage))
    if one.has_moved:
        complain(
            f"{one.shown}: changed during each of three reads, so its files may not fit together: "
            "capture it again, to another folder"
        )
    before = one.size_bytes - one.sent_bytes
    arrived = f", {counted(before, 'byte')} had arrived before" if before > 0 else ""
    done = "copied without secrets" if command == "redact" else "sent"
    complain(f"{command}: {one.shown}: {counted(one.sent_bytes, 'byte')} {done}{arrived}")


def _fields(one: CapturedDirectory) -> dict[str, object]:
    return {
        "folder": one.folder,
        "source": one.shown,
        "files": one.files,
        "size_bytes": one.size_bytes,
        "sent_bytes": one.sent_bytes,
        "moved": one.has_moved,
        "damages": len(one.damages),
    }

"""`kraftlake capture` and `kraftlake redact`: copies of metadata directories, with their hashes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from functools import partial

from jobs.output import complain, counted, write_json, write_line
from jobs.redacting import make_redactor
from pipelines.capture.manifest import manifest_of
from pipelines.capture.taking import CapturedDirectory, directories, take
from pipelines.object_store import shown_uri
from replica.errors import UsageError
from replica.redacted.records import RecordRedactor


def run(
    paths: Sequence[str],
    *,
    output: str,
    redactor: RecordRedactor | None = None,
    json_output: bool = False,
) -> int:
    """Capture the directories below the paths. Returns 1 where one is damaged or kept changing.

    output: a folder or a URI of pyarrow.fs. redactor: hides the secrets of the copies; None keeps
    them. Raises KraftlakeError.
    """
    taken = take(directories(paths), output, partial(_report, "capture"), redactor=redactor)
    return _show(taken, output, json_output=json_output)


def run_redact(
    paths: Sequence[str], *, output: str, redactor: RecordRedactor, json_output: bool = False
) -> int:
    """Copy directories of stopped nodes, in particular captures, without their secrets; otherwise
    as `run`.

    The copy of a capture has the capture's time. Raises UsageError where the paths hold captures of
    several times.
    """
    found = directories(paths)
    manifests = [manifest_of(one) for one in found]
    moments = {one.captured_at for one in manifests}
    if len(moments) > 1:
        raise UsageError(
            "redact: the paths were captured at different times, and a copy has one time: redact "
            "one capture at a time, each to a folder of its own"
        )
    at = moments.pop() or datetime.now(UTC)
    taken = take(found, output, partial(_report, "redact"), lambda: at, redactor)
    return _show(taken, output, json_output=json_output)


def record_redactor(
    key_file: str | None, show_configs: Collection[str], *, hashes_names: bool
) -> RecordRedactor:
    """The redactor of the copies.

    key_file: the file with the key of the fingerprints; None for a random key that is stored
    nowhere. hashes_names: whether names of topics, users and groups are hashed too. Raises
    UsageError.
    """
    redactor = make_redactor(False, key_file, show_configs)
    assert redactor is not None, "only --keep-secrets goes without one"
    return RecordRedactor(redactor, hashes_names=hashes_names)


def _show(taken: Sequence[CapturedDirectory], output: str, *, json_output: bool) -> int:
    """Print what was taken. Returns the exit code."""
    for one in taken:
        if json_output:
            write_json(_fields(one))
        else:
            content = f"{counted(one.files, 'file')}, {counted(one.size_bytes, 'byte')}"
            write_line(f"{one.folder}: {one.shown}: {content}")
    if not json_output:
        write_line(f"next: kraftlake ingest --lake LAKE {shown_uri(output)}")
    return 1 if any(one.damages for one in taken) else 0


def _report(command: str, one: CapturedDirectory) -> None:
    for damage in one.damages:
        complain(str(damage))
    if one.has_moved:
        complain(
            f"{one.shown}: changed all the while it was read, so its files may not fit together: "
            "capture it once more, to another folder"
        )
    before = one.size_bytes - one.sent_bytes
    arrived = f", {counted(before, 'byte')} had arrived before" if before > 0 else ""
    complain(f"{command}: {one.shown}: {counted(one.sent_bytes, 'byte')} sent{arrived}")


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

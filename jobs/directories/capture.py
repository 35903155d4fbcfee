"""`kraftlake capture`: the metadata directories of running nodes, copied with their hashes."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.output import complain, counted, write_json, write_line
from pipelines.capture.taking import Taken, directories, take
from pipelines.object_store import shown_uri


def run(paths: Sequence[str], *, output: str, json_output: bool = False) -> int:
    """Capture the directories below the paths; 1 where one is damaged or never held still.

    output: a folder or a URI of pyarrow.fs. Raises KraftlakeError.
    """
    found = directories(paths)
    taken = take(found, output, _report)
    for one in taken:
        if json_output:
            write_json(_fields(one))
        else:
            write_line(f"{one.folder}: {one.shown}: {_content(one)}")
    if not json_output:
        write_line(f"next: kraftlake ingest --lake LAKE {shown_uri(output)}")
    return 1 if any(one.damages for one in taken) else 0


def _content(one: Taken) -> str:
    return f"{counted(one.files, 'file')}, {counted(one.size_bytes, 'byte')}"


def _report(one: Taken) -> None:
    for damage in one.damages:
        complain(str(damage))
    if one.has_moved:
        complain(
            f"{one.shown}: changed all the while it was read, so its files may not fit together: "
            "capture it once more, to another folder"
        )
    before = one.size_bytes - one.sent_bytes
    arrived = f", {counted(before, 'byte')} had arrived before" if before > 0 else ""
    complain(f"capture: {one.shown}: {counted(one.sent_bytes, 'byte')} sent{arrived}")


def _fields(one: Taken) -> dict[str, object]:
    return {
        "folder": one.folder,
        "source": one.shown,
        "files": one.files,
        "size_bytes": one.size_bytes,
        "sent_bytes": one.sent_bytes,
        "moved": one.has_moved,
        "damages": len(one.damages),
    }

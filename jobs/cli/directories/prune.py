"""`kraftlake prune`: removes captures that are older than an age."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from jobs.cli.commands.copying import PruneOptions
from jobs.cli.output import complain, ms_of, time_text, write_json, write_line
from pipelines.capture.pruning import (
    OldCapture,
    old_captures,
    one_at_a_time,
    remove,
    remove_rests,
)
from replica.errors import UnwritableFileError, UsageError
from replica.words import counted

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def run(options: PruneOptions) -> int:
    """Removes the old captures in the folder, or with --dry-run only names them. Returns 0, or 1
    where a capture can't be removed. Raises KraftlakeError."""
    before = datetime.now(UTC) - age_of(options.older_than)
    with one_at_a_time(options.folder):
        if not options.dry_run:
            remove_rests(options.folder)
        count, left = _pruned(options, before)
    if not options.json_output:
        done = "would be removed" if options.dry_run else "removed"
        write_line(f"{counted(count, 'capture')} {done}, taken before {time_text(before)}")
    return int(left > 0)


def _pruned(options: PruneOptions, before: datetime) -> tuple[int, int]:
    """The number of captures that were removed, or would be, and the number that
    can't be removed."""
    count = left = 0
    for old in old_captures(options.folder, before):
        try:
            if not options.dry_run:
                remove(old)
        except UnwritableFileError as error:
            complain(f"prune: {old.path} was not deleted: {error}")
            left += 1
            continue
        count += 1
        _show(old, options)
    return count, left


def age_of(text: str) -> timedelta:
    """The age in a text of a number and m, h, d or w. Raises UsageError for any other text, and for
    0."""
    found = re.fullmatch(r"([1-9]\d{0,5})([mhdw])", text, re.ASCII)
    if found is None:
        raise UsageError(f"--older-than {text}: expected a number and m, h, d or w, such as 36h")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def _show(old: OldCapture, options: PruneOptions) -> None:
    if options.json_output:
        write_json(
            {
                "folder": old.path,
                "captured_at": ms_of(old.captured_at),
                "files": old.files,
                "size_bytes": old.size_bytes,
                "removed": not options.dry_run,
            }
        )
    else:
        content = f"{counted(old.files, 'file')}, {counted(old.size_bytes, 'byte')}"
        write_line(f"{old.path}: captured {time_text(old.captured_at)}, {content}")

"""Directories that somebody wrote to while tasks read them in their place."""

from __future__ import annotations

from pipelines.bronze.captured import Captured
from pipelines.capture.in_place import ChangedFileError, InPlace
from replica.format.damage import Damage, DamageKind


def changed_since(one: Captured) -> ChangedFileError | None:
    """Says why a file differs from what the look found; None where no file does. It runs in a
    task."""
    files = one.look.copies
    try:
        if isinstance(files, InPlace):
            files.check()
    except ChangedFileError as error:
        return error
    return None


def left_out_damage(one: Captured, why: ChangedFileError) -> Damage:
    """The damage of a look that doesn't count, by the user's name of the file."""
    shown = one.look.location.shown
    files = one.look.copies.files if isinstance(one.look.copies, InPlace) else {}
    for relative, file in files.items():
        if file.path == why.path:
            shown = one.look.shown_file(relative)
    detail = (
        f"left out, with the captures of its group: {why.reason}; ingest it again, and without "
        "--shared where somebody writes to it"
    )
    return Damage(0, 0, DamageKind.CHANGED, detail, shown)

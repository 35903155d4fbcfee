"""Writing a page of HTML to the file that an option names."""

from __future__ import annotations

import os
from pathlib import Path

from replica.errors import UsageError


def write_page(output: str, page: str, option: str) -> None:
    """Writes a file atomically. Where the output is a pipe, a device or a link, the page is written
    into it, because a new file would replace it. option: the option that names the output. Raises
    UsageError."""
    is_special = os.path.lexists(output) and (os.path.islink(output) or not os.path.isfile(output))
    draft = output if is_special else f"{output}.{os.getpid()}.tmp"
    try:
        if not is_special:
            Path(draft).unlink(missing_ok=True)  # a link there must not be written through
        with open(draft, "w" if is_special else "x", encoding="utf-8", newline="\n") as file:
            file.write(page)
        if not is_special:
            os.replace(draft, output)
    except OSError as error:
        if not is_special and os.path.exists(draft):
            os.unlink(draft)
        raise UsageError(
            f"{option} {output}: {error.strerror or error}; "
            "name a file in a folder that can be written"
        ) from error

"""The types of records that the builds of a lake pass over, as `build --pass-over` says. The lake
remembers them."""

from __future__ import annotations

from pipelines.lake.lake import Lake
from replica.errors import UsageError
from replica.metadata.passed_over import NOTHING, PassedOver, parse

FILE_NAME = "_pass_over"


def passed_over_in(lake: Lake) -> PassedOver:
    """The types that the lake's builds pass over. Raises UsageError where the lake's file of them
    has a content that no build writes."""
    content = lake.read(FILE_NAME)
    text = "" if content is None else content.decode(errors="replace").strip()
    try:
        return parse(text) if text else NOTHING
    except UsageError as error:
        raise UsageError(
            f"{lake}/{FILE_NAME}: {error}; `{lake.command('build', '--pass-over', 'vendors')}` "
            "writes it anew"
        ) from error


def remember(lake: Lake, passed_over: PassedOver) -> None:
    """Let later builds pass over these types. Raises UnwritableFileError, OSError."""
    if passed_over:
        lake.write(FILE_NAME, f"{passed_over.text}\n".encode("ascii"))
    else:
        lake.remove(FILE_NAME)

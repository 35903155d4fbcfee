"""Where a lake and its tables lie, in the words of delta-rs. Loads nothing: `sql` starts here."""

from __future__ import annotations


def is_remote(lake: str) -> bool:
    """Whether the lake is a URI of an object store."""
    return "://" in lake and not lake.startswith("file:")


def local_path(lake: str) -> str:
    """The folder of a local lake, a file: prefix taken away."""
    return lake.removeprefix("file://").removeprefix("file:")


def table_uri(lake: str, table: str) -> str:
    """Where a table lies, as delta-rs names it."""
    root = lake.replace("s3a://", "s3://", 1) if is_remote(lake) else local_path(lake)
    return f"{root.rstrip('/')}/{table.replace('.', '/')}"

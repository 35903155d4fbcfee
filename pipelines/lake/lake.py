"""A lake is one folder, local or in an object store: <lake>/<schema>/<table>, and small files.

This module loads neither pyspark nor deltalake, because `kraftlake sql` starts here. The names of
small files begin with an underscore, which no table's name does.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.object_store import opened, s3a_uri
from replica.errors import UnwritableFileError, UsageError
from replica.format.reading import MAX_STATE_BYTES, VanishedFileError, read_file
from replica.shell_text import Shell, line, path

if TYPE_CHECKING:
    from pipelines.tables.contract import Contract

OWN = "own"
"""The folder of the tables that a user adds to a lake (pipelines.own_tables)."""
SCHEMAS = ("bronze", "silver", "gold", OWN)
"""The folders of a lake that hold its tables."""
_AUTHORITY = re.compile(r"[a-z][a-z0-9+.-]*://[^/]*", re.IGNORECASE)
_UNSUPPORTED = re.compile(r"[\x00-\x1f\x7f\\%\[\]|^\ud800-\udfff]")
"""The characters that no path of a lake may have: delta-rs reads a path as a URL, and would open
another folder, or no folder."""


@dataclass(frozen=True, slots=True)
class Lake:
    """A lake. Lakes with the same root are equal.

    Raises UsageError for a place with a character that some readers of tables misread.
    """

    place: str = field(compare=False)
    """A folder or a URI as the user wrote it; messages repeat it."""
    root: str
    """The lake's place for Spark, whose JVM may have another working directory: an absolute path,
    or a URI that Hadoop knows (s3:// becomes s3a://)."""

    def __init__(self, place: str | os.PathLike[str]) -> None:
        text = os.fspath(place)
        object.__setattr__(self, "place", text)
        if "://" not in text:
            text = str(Path(text.removeprefix("file:")).absolute())
        found = _UNSUPPORTED.search(_AUTHORITY.sub("", text))
        if found:
            sign = ascii(found[0]).replace("udc", "x")  # a byte that is no UTF-8
            raise UsageError(
                f"{text}: no path of a lake can have {sign} in it: name a folder without "
                r"\ % [ ] | ^, control characters and bytes that are no UTF-8"
            )
        object.__setattr__(self, "root", s3a_uri(text).rstrip("/") or "/")

    def __str__(self) -> str:
        return self.place

    def command(self, name: str, *words: str) -> Shell:
        """The command line `kraftlake NAME --lake` of this lake, for messages."""
        return line("kraftlake", name, "--lake", path(self.place), *words)

    @property
    def is_remote(self) -> bool:
        """Whether the lake lies in an object store."""
        return "://" in self.place and not self.place.startswith("file:")

    @property
    def folder(self) -> Path:
        """The folder of a local lake."""
        assert not self.is_remote, "a lake in an object store has no folder"
        return Path(self.place.removeprefix("file://").removeprefix("file:"))

    def table_uri(self, table: str) -> str:
        """The place of a table such as bronze.captures, in delta-rs's form."""
        root = self.place.replace("s3a://", "s3://", 1) if self.is_remote else str(self.folder)
        return f"{root.rstrip('/')}/{table.replace('.', '/')}"

    def path(self, schema: str, table: str) -> str:
        """The place of a table, in Spark's form."""
        return f"{self.root}/{schema}/{table}"

    def path_of(self, contract: Contract) -> str:
        """The place of the contract's table, in Spark's form."""
        return self.path(contract.schema_name, contract.table_name)

    def read(self, name: str) -> bytes | None:
        """The content of a small file; None where there is no such file. Raises
        UnreadableFileError, OSError."""
        if not self.is_remote:
            try:
                return read_file(str(self.folder / name), MAX_STATE_BYTES)
            except VanishedFileError:
                return None
        with opened(self.place) as (store, root):
            try:
                with store.open_input_stream(f"{root}/{name}") as file:
                    return bytes(file.read())
            except FileNotFoundError:
                return None

    def write(self, name: str, data: bytes) -> None:
        """Write a small file, atomically and durably. Raises UnwritableFileError, OSError."""
        if self.is_remote:
            with opened(self.place, UnwritableFileError) as (store, root):
                with store.open_output_stream(f"{root}/{name}") as file:
                    file.write(data)
                return
        path = self.folder / name
        draft = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
        try:
            with draft.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Remove a small file, if it exists. Raises UnwritableFileError, OSError."""
        if not self.is_remote:
            (self.folder / name).unlink(missing_ok=True)
            return
        with (
            opened(self.place, UnwritableFileError) as (store, root),
            suppress(FileNotFoundError),
        ):
            store.delete_file(f"{root}/{name}")

    def replace_folder(self, name: str, files: Mapping[str, bytes]) -> None:
        """Make these files, by name, the whole content of a folder of the lake. Raises
        UnwritableFileError, OSError."""
        if not self.is_remote:
            folder = self.folder / name
            folder.mkdir(parents=True, exist_ok=True)
            held = {path.name for path in folder.iterdir()}
        else:
            with opened(self.place, UnwritableFileError) as (store, root):
                from pyarrow import fs

                selector = fs.FileSelector(f"{root}/{name}", allow_not_found=True)
                held = {info.base_name for info in store.get_file_info(selector) if info.is_file}
        for file, data in files.items():
            self.write(f"{name}/{file}", data)
        for file in sorted(held - set(files)):
            self.remove(f"{name}/{file}")

    def has_folder(self, name: str) -> bool:
        """Whether the lake has a folder of this name. Raises UnreadableFileError."""
        if not self.is_remote:
            return (self.folder / name).is_dir()
        with opened(self.place) as (store, root):
            return bool(store.get_file_info(f"{root}/{name}").type.name == "Directory")

"""The small files that lie in a lake beside its tables, on a file system or in an object store.

Their names begin with an underscore, as no table's does.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pipelines.lake_paths import is_remote, local_path
from pipelines.object_store import opened
from replica.errors import UnwritableFileError
from replica.format.reading import MAX_STATE_BYTES, VanishedFileError, read_file


def read(lake: str, name: str) -> bytes | None:
    """The file's content, None where there is none. UnreadableFileError, OSError."""
    if not is_remote(lake):
        try:
            return read_file(str(Path(local_path(lake), name)), MAX_STATE_BYTES)
        except VanishedFileError:
            return None
    with opened(lake) as (store, root):
        try:
            with store.open_input_stream(f"{root}/{name}") as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None


def write(lake: str, name: str, data: bytes) -> None:
    """Whole or not at all, and durably. UnwritableFileError, OSError."""
    if is_remote(lake):
        with opened(lake, UnwritableFileError) as (store, root):
            with store.open_output_stream(f"{root}/{name}") as file:
                file.write(data)
            return
    path = Path(local_path(lake), name)
    draft = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def remove(lake: str, name: str) -> None:
    """The file, where there is one. UnwritableFileError, OSError."""
    if not is_remote(lake):
        Path(local_path(lake), name).unlink(missing_ok=True)
        return
    with opened(lake, UnwritableFileError) as (store, root), suppress(FileNotFoundError):
        store.delete_file(f"{root}/{name}")


def replace_folder(lake: str, name: str, files: Mapping[str, bytes]) -> None:
    """Makes the files, by name, all that the folder holds. UnwritableFileError, OSError."""
    if not is_remote(lake):
        folder = Path(local_path(lake), name)
        folder.mkdir(parents=True, exist_ok=True)
        held = {path.name for path in folder.iterdir()}
    else:
        with opened(lake, UnwritableFileError) as (store, root):
            from pyarrow import fs

            selector = fs.FileSelector(f"{root}/{name}", allow_not_found=True)
            held = {info.base_name for info in store.get_file_info(selector) if info.is_file}
    for file, data in files.items():
        write(lake, f"{name}/{file}", data)
    for file in sorted(held - set(files)):
        remove(lake, f"{name}/{file}")


def has_folder(lake: str, name: str) -> bool:
    """Whether anything lies below the name. UnreadableFileError."""
    if not is_remote(lake):
        return Path(local_path(lake), name).is_dir()
    with opened(lake) as (store, root):
        return bool(store.get_file_info(f"{root}/{name}").type.name == "Directory")

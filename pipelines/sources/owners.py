"""The owners of the files that a source reads: the directory in which a file lies, and the replica
that this directory belongs to by its meta.properties."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from pipelines.capture.grouping import replica_at
from pipelines.capture.remote import read_remote
from pipelines.object_store import is_uri, shown_uri
from pipelines.sources.files import Owner, SourceFile
from replica.errors import DataError, FileSystemError
from replica.format import meta_properties
from replica.format.snapshot import DRAFT_FOLDER
from replica.model.keys import ReplicaId


def with_owners(files: Iterable[SourceFile], given: ReplicaId | None) -> list[SourceFile]:
    """The files with their owners. given: the replica to which files belong if no meta.properties
    in their directory names one."""
    found = cache(owner_at)  # a directory has many files

    def owner(file: SourceFile) -> Owner:
        one = found(folder_of(file.path))
        return one if one.replica is not None or given is None else replace(one, replica=given)

    return [replace(file, owner=owner(file)) for file in files]


def folder_of(path: str) -> str:
    """The metadata directory of a log or snapshot, by the file's absolute path or its URI."""
    bare, mark, query = path.partition("?") if is_uri(path) else (path, "", "")
    folder = bare.rpartition("/")[0]
    return folder.removesuffix(f"/{DRAFT_FOLDER}") + mark + query


def owner_at(folder: str) -> Owner:
    """The owner of the files of a folder, which is a local path or a URI."""
    if not is_uri(folder):
        return Owner(folder, replica_at(folder))
    return Owner(shown_uri(folder), _replica_at_uri(folder))


def _replica_at_uri(folder: str) -> ReplicaId | None:
    bare, mark, query = folder.partition("?")
    for place in (bare, os.path.dirname(bare)):
        try:
            data = read_remote(f"{place}/{meta_properties.FILE_NAME}{mark}{query}", 0, None)
            return meta_properties.decode(data).replica
        except (FileSystemError, DataError):
            continue
    return None

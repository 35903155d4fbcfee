"""What a lake's last build was made from, kept in the lake: a build of the same has nothing to do.

Nothing has changed where the code that computes the tables is the same, every bronze table is at
the version that was read, and every table that the build wrote is at the version that it wrote.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from pipelines import lake_files
from pipelines.delta_rs import newest_versions

FILE_NAME = "_last_build"
_PACKAGES = ("pyspark", "delta-spark", "pyarrow")
_CODE = ("pipelines", "replica")


@dataclass(frozen=True)
class LastBuild:
    """A build that ended well.

    code: the fingerprint of what made it. versions: by table name, of the bronze tables as they
    were read and of the derived ones as they were written. rows: by table name, what it told.
    """

    code: str
    versions: Mapping[str, int]
    rows: Mapping[str, int]

    def still_holds(self, lake: str) -> bool:
        """Whether a build of the lake would make the tables that are there already."""
        if self.code != code_fingerprint():
            return False
        return newest_versions(lake, self.versions) == self.versions


def last_build(lake: str) -> LastBuild | None:
    """None where none is known, also where another release wrote the file otherwise."""
    content = lake_files.read(lake, FILE_NAME)
    try:
        return None if content is None else LastBuild(**json.loads(content))
    except (ValueError, TypeError):
        return None


def note_build(lake: str, versions: Mapping[str, int], rows: Mapping[str, int]) -> None:
    """Keep what a build was made from, and what it made. UnwritableFileError, OSError."""
    build = LastBuild(code_fingerprint(), versions, rows)
    lake_files.write(lake, FILE_NAME, json.dumps(asdict(build)).encode())


def code_fingerprint() -> str:
    """Of the sources that compute tables, and of the releases of the packages that they stand on.

    Of sources, because a checkout has one release number through many changes.
    """
    digest = hashlib.sha256()
    for package in _PACKAGES:
        digest.update(f"{package} {version(package)}\n".encode())
    root = Path(__file__).parent.parent
    for folder in _CODE:
        for path in sorted((root / folder).rglob("*.py")):
            digest.update(f"{path.relative_to(root).as_posix()}\n".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()

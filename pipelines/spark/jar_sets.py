"""Sets of jars that are used together, and the folder of the cache that keeps them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

COMMAND = "python -P -m pipelines.spark.jars"
_FEW = 3
"""The most names that a message lists."""


@dataclass(frozen=True)
class Jar:
    """One Maven artifact, and the hash of its file."""

    organisation: str
    module: str
    revision: str
    sha256: str

    @property
    def file_name(self) -> str:
        """The name of the jar's file, which is the same for Maven, Ivy and `--jars`."""
        return f"{self.module}-{self.revision}.jar"


@dataclass(frozen=True)
class JarSet:
    """Jars that are used together."""

    name: str
    """The name of the set in messages."""
    size: int
    """The size of all jars together, in MB."""
    folder: str
    """The folder of the set in the cache. Each version has its own folder, so an upgrade never
    mixes versions."""
    jars: tuple[Jar, ...]
    option: str = ""
    """The option of `python -P -m pipelines.spark.jars` that fetches these jars, too."""

    @property
    def cache(self) -> Path:
        """The folder that keeps the jars after they were fetched."""
        return cache_dir("jars", self.folder)

    @property
    def shown(self) -> str:
        """The jars' names, or the command that fetches them where they are many."""
        if len(self.jars) > _FEW:
            return f"the {len(self.jars)} jars that `{COMMAND} {self.option}` fetches"
        return listed(jar.file_name for jar in self.jars)


def cache_dir(*names: str) -> Path:
    """A folder of kraftlake's cache, which may not exist yet."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    # the XDG specification says to ignore a relative path
    base = Path(root) if os.path.isabs(root) else Path(os.path.expanduser("~")) / ".cache"
    return base.joinpath("kraftlake", *names)


def listed(names: Iterable[str]) -> str:
    """All names where they are few; otherwise their number and the first name."""
    known = list(names)
    if len(known) > _FEW:
        return f"{len(known)} jars, {known[0]} among them"
    return " and ".join(known)

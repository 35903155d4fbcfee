"""Jars that are used together, and the folder of the cache that keeps them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_FEW = 3
"""Names in a message."""


@dataclass(frozen=True)
class Jar:
    """One Maven artifact and what its file must hash to."""

    organisation: str
    module: str
    revision: str
    sha256: str

    @property
    def file_name(self) -> str:
        """The name Maven, Ivy and `--jars` all give it."""
        return f"{self.module}-{self.revision}.jar"


@dataclass(frozen=True)
class JarSet:
    """Jars that are used together. name: for messages. size: of all, MB. folder: in the cache; a
    version has one of its own, so upgrades never mix. option: of `python -m pipelines.jars`."""

    name: str
    size: int
    folder: str
    jars: tuple[Jar, ...]
    option: str = ""

    @property
    def cache(self) -> Path:
        """Where they are kept once they are fetched."""
        return cache_dir(self.folder)

    @property
    def shown(self) -> str:
        """Their names, where they are few."""
        if len(self.jars) > _FEW:
            return (
                f"the {len(self.jars)} jars that `python -m pipelines.jars {self.option}` fetches"
            )
        return listed(jar.file_name for jar in self.jars)


def cache_dir(folder: str) -> Path:
    """A folder of the cache, which need not be there yet."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says to ignore a relative one.
    base = Path(root) if os.path.isabs(root) else Path(os.path.expanduser("~")) / ".cache"
    return base / "kraftlake" / "jars" / folder


def listed(names: Iterable[str]) -> str:
    """All of them where they are few, else how many, and the first."""
    known = list(names)
    if len(known) > _FEW:
        return f"{len(known)} jars, {known[0]} among them"
    return " and ".join(known)

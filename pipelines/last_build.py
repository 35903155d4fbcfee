"""The inputs and outputs of a lake's last build, kept in the lake.

If they are unchanged, a build has nothing to do; if some clusters have changed, it computes only
these. Nothing has changed if the code that computes the tables is the same, every bronze table has
the version that was read, and every derived table has the version that was written. A table that
was removed and made again can have the same version, so the table's id in its Delta log counts,
too.

`Building` has what builds with and without Spark share: their progress, and the versions that they
write.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pipelines import delta
from pipelines.lake import Lake
from pipelines.lake.delta_rs import newest_states
from pipelines.quality.verdicts import TableResult
from pipelines.tables.contract import Contract
from pipelines.tables.of_a_lake import TABLES

FILE_NAME = "_last_build"
_PACKAGES = ("pyspark", "delta-spark", "pyarrow")
_CODE = ("pipelines", "replica")
_NAMES = frozenset(contract.name for contract in TABLES)


@dataclass(frozen=True)
class LastBuild:
    """A build that succeeded.

    code: the fingerprint of the code. tables: the id and version of each table, by the table's
    name: of a bronze table as it was read, and of a derived one as it was written. rows: the row
    counts that the build gave, by table name. clusters: the digest of each cluster
    (pipelines.clusters.digests), by cluster_id; empty for a build with Spark. unbroken: the tables
    of which all rows satisfied their expectations.
    """

    code: str
    tables: Mapping[str, tuple[str, int]]
    rows: Mapping[str, int]
    clusters: Mapping[str, str] = field(default_factory=dict)
    unbroken: tuple[str, ...] = ()

    def still_holds(self, lake: Lake, tables: Iterable[str] | None = None) -> bool:
        """Whether the same code computes tables now, and these tables, by default all, are
        unchanged. Then a build of the lake would make the tables that exist already."""
        if self.code != code_fingerprint():
            return False
        wanted = self.tables if tables is None else {one: self.tables.get(one) for one in tables}
        return newest_states(lake, wanted) == wanted


def last_build(lake: Lake) -> LastBuild | None:
    """The last build. None where it is unknown, and where the file has another form, because
    another release or a person wrote it."""
    content = lake.read(FILE_NAME)
    try:
        return None if content is None else _parsed(json.loads(content))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _parsed(said: Any) -> LastBuild:
    """The build of the file's content. Raises ValueError, TypeError, KeyError or AttributeError
    for a content that note_build never writes."""
    tables = {name: (str(table), int(version)) for name, (table, version) in said["tables"].items()}
    rows = {name: int(count) for name, count in said["rows"].items()}
    if not tables or not tables.keys() | rows.keys() <= _NAMES:
        raise ValueError("other tables than a build reads and writes")
    clusters = {str(cluster_id): str(one) for cluster_id, one in said["clusters"].items()}
    unbroken = tuple(str(name) for name in said["unbroken"])
    return LastBuild(said["code"], tables, rows, clusters, unbroken)


def note_build(
    lake: Lake,
    versions: Mapping[str, int],
    rows: Mapping[str, int],
    clusters: Mapping[str, str] = MappingProxyType({}),
    unbroken: Iterable[str] = (),
) -> None:
    """Keeps the inputs and outputs of a build. Raises UnwritableFileError, OSError."""
    ids = {name: table for name, (table, _) in newest_states(lake, versions).items()}
    tables = {name: (ids.get(name, ""), version) for name, version in versions.items()}
    told = rows, dict(clusters), tuple(sorted(unbroken))
    build = LastBuild(code_fingerprint(), tables, *told)
    lake.write(FILE_NAME, json.dumps(asdict(build)).encode())


def code_fingerprint() -> str:
    """The fingerprint of the sources that compute tables, and of the releases of the packages that
    they use.

    The sources count, because a checkout keeps one release number through many changes.
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


@dataclass
class Building:
    """A build that goes on.

    progress: is called with a line of text before each table is written. share: is called with the
    part of the steps that is done, from 0 to 1. steps: the number of all steps; a written table is
    one. counts: the number of rows of each table that the build has written, by the table's name.
    versions: the versions of these tables.
    """

    lake: delta.Lake
    progress: Callable[[str], None]
    share: Callable[[float], None]
    steps: int
    counts: dict[str, int] = field(default_factory=dict, init=False)
    versions: dict[str, int] = field(default_factory=dict, init=False)
    _behind: int = field(default=0, init=False)

    def done(self, steps: int = 1) -> None:
        """Counts `steps` more steps as done."""
        self._behind = min(self.steps, self._behind + steps)
        self.share(self._behind / self.steps)

    @contextmanager
    def writing(self, contract: Contract) -> Iterator[None]:
        """The context in which a table is written. The table exists when the context begins; when
        it ends, the table's rows and version are noted."""
        self.progress(contract.name)
        delta.ensure_table(self.lake, contract)
        yield
        written = delta.size(self.lake, contract)
        self.counts[contract.name] = written.row_count or 0
        self.versions[contract.name] = written.version
        self.done()

    def note(
        self,
        results: Iterable[TableResult],
        clusters: Mapping[str, str] = MappingProxyType({}),
        unbroken: Iterable[str] = (),
    ) -> None:
        """Notes for the next build the tables that this one has read and written, unless another
        build wrote tables in between. results: the results of the gates. clusters, unbroken: as in
        LastBuild."""
        judged = {one.table.name: one.version for one in results}
        if self.versions.items() <= judged.items():
            note_build(self.lake, judged, self.counts, clusters, unbroken)

"""What builds with and without Spark share: their progress, and the versions that they write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType

from pipelines import delta
from pipelines.last_build import note_build
from pipelines.quality.verdicts import TableResult
from pipelines.tables.contract import Contract


def nobody_asks(_: float) -> None:
    """Ignores the share that is done, for a caller that doesn't need it."""


@dataclass
class StepProgress:
    """The progress of a build. count: the number of all its steps. behind: the number of the steps
    that are done. share: is called with the part of the steps that is done, from 0 to 1."""

    count: int
    share: Callable[[float], None]
    behind: int = 0

    def done(self, steps: int = 1) -> None:
        """Counts `steps` more steps as done."""
        self.behind = min(self.count, self.behind + steps)
        self.share(self.behind / self.count)


@dataclass
class Building:
    """A build that goes on. progress: is called with a line of text before each table is written.
    counts: the number of rows of each table that the build has written, by the table's name.
    versions: the versions of these tables."""

    lake: delta.Lake
    progress: Callable[[str], None]
    steps: StepProgress
    counts: dict[str, int] = field(default_factory=dict, init=False)
    versions: dict[str, int] = field(default_factory=dict, init=False)

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
        self.steps.done()

    def note(
        self,
        results: Iterable[TableResult],
        clusters: Mapping[str, str] = MappingProxyType({}),
        unbroken: Iterable[str] = (),
    ) -> None:
        """Notes for the next build what this one has read and written, unless another build wrote
        tables in between. results: those of the gates. clusters, unbroken: as in
        last_build.LastBuild."""
        judged = {one.table.name: one.version for one in results}
        if self.versions.items() <= judged.items():
            note_build(self.lake, judged, self.counts, clusters, unbroken)

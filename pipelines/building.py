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
    """count: of all steps. share: is told the share of them that is done, from 0 to 1."""

    count: int
    share: Callable[[float], None]
    behind: int = 0

    def done(self, steps: int = 1) -> None:
        """Counts `steps` more steps as done."""
        self.behind = min(self.count, self.behind + steps)
        self.share(self.behind / self.count)


@dataclass
class Building:
    """One build. progress: is told a line before each table. counts, versions: the rows of the
    written tables, and their versions, by table name."""

    lake: delta.Lake
    progress: Callable[[str], None]
    steps: StepProgress
    counts: dict[str, int] = field(default_factory=dict, init=False)
    versions: dict[str, int] = field(default_factory=dict, init=False)

    @contextmanager
    def writing(self, contract: Contract) -> Iterator[None]:
        """The context around the write of a table. The table exists in it."""
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
        """Keeps the inputs and outputs for the next build, unless another build wrote tables in
        between. results: of the gates. clusters, unbroken: as of last_build.LastBuild."""
        judged = {one.table.name: one.version for one in results}
        if self.versions.items() <= judged.items():
            note_build(self.lake, judged, self.counts, clusters, unbroken)

"""The answers of the tables about one cluster's history; each query is asked once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pipelines.report.evidence import Evidence
from pipelines.report.source import Figure, ReportSource, Row
from pipelines.report.travel import queries
from pipelines.report.travel.judged import MomentJudgement, judged_at
from pipelines.report.travel.moments import ReportMoment, chosen
from pipelines.report.travel.steps import ReportSteps, steps_of
from replica.errors import DataError, UnreadableFileError


@dataclass(frozen=True)
class Trip:
    """changes: rows of queries.changes; steps: what follows from them and from the versions.

    all_changes, all_versions: how many the tables have. is_sampled: whether some are left out.
    judgements: the health at some of the steps, in the order of offsets. judged_by: the SQL of
    one of these states, None where no state was judged.
    """

    changes: Figure
    versions: Figure
    steps: ReportSteps
    all_changes: int
    all_versions: int
    is_sampled: bool
    judgements: tuple[MomentJudgement, ...]
    judged_by: str | None


def gather_trip(source: ReportSource, evidence: Evidence, share: int) -> Trip | None:
    """The trip. share: how many changes of the cluster may be on the page. None where a table is
    missing, or where nothing ever changed. Raises KraftlakeError."""
    if not all(name in source.tables for name in queries.REQUIRED):
        return None
    cluster = evidence.cluster_id
    size = source.ask(queries.sizes(cluster))[0]
    is_sampled = max(size["changes"], size["versions"]) > share
    limit = share if is_sampled else None
    changes = source.figure(queries.changes(cluster, limit))
    versions = source.figure(queries.versions(cluster, limit))
    with _values_of(source):
        steps = steps_of(changes.rows, versions.rows, evidence.leaders.rows)
        if not steps.offsets:
            return None
        moments = _moments(source, evidence, steps, changes.rows)
        judgements = tuple(judged_at(source, evidence, steps, moment) for moment in moments)
    return Trip(
        changes,
        versions,
        steps,
        size["changes"],
        size["versions"],
        is_sampled,
        judgements,
        queries.state_at(cluster, moments[-1].end_offset) if moments else None,
    )


@contextmanager
def _values_of(source: ReportSource) -> Iterator[None]:
    """Raises UnreadableFileError, which names the table, for a value that no build writes."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, DataError) as error:
        reason = (
            f"a value in it is no entity as `kraftlake build` writes it ({type(error).__name__}: "
            f"{error}); run `kraftlake build --lake {source.lake}` again, or fill a new lake"
        )
        raise UnreadableFileError(source.lake.table_uri(queries.HISTORY), reason) from error


def _moments(
    source: ReportSource, evidence: Evidence, steps: ReportSteps, changes: tuple[Row, ...]
) -> tuple[ReportMoment, ...]:
    entities = source.ask(queries.judged_entities(evidence.cluster_id))[0]["entities"]
    ranges = () if evidence.state_ranges is None else evidence.state_ranges.rows
    lost = [loss.first for loss in evidence.losses]
    return chosen(steps, changes, ranges, lost, entities)

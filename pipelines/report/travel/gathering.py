"""Asks a lake for one cluster's history, and judges moments of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from operator import itemgetter

from pipelines.gold.health_rules import cluster_of
from pipelines.gold.health_rules import steps_of as visible_changes
from pipelines.report.change_queries import HISTORY
from pipelines.report.evidence import Evidence
from pipelines.report.source import ReportSource
from pipelines.report.travel import queries
from pipelines.report.travel.cluster_history import MAX_EXPOSURES, ClusterHistory, MomentJudgement
from pipelines.report.travel.moments import ReportMoment, chosen
from pipelines.report.travel.steps import ReportSteps, steps_of
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.exposure import NOTHING, Exposure, exposures
from replica.doctor.health.judging import judge_health
from replica.doctor.health.leaderless import outages_of
from replica.doctor.health.past import does_harm
from replica.doctor.health.refusals import Refusal, refusals
from replica.doctor.health.rewound import RewoundPartitions
from replica.errors import DataError, UnreadableFileError


def judged_at(
    source: ReportSource, evidence: Evidence, steps: ReportSteps, moment: ReportMoment
) -> MomentJudgement:
    """The judgement of replica.doctor.health on the state at the moment. No reassignment counts as
    too long, because no query asks for the beginnings of reassignments. Raises KraftlakeError."""
    cluster = _state(source, evidence, moment.end_offset, steps.times[moment.step])
    harmful = sorted(_harmful(exposures(cluster)), key=_worst_first)
    return MomentJudgement(
        moment, tuple(judge_health(cluster)), tuple(harmful[:MAX_EXPOSURES]), len(harmful)
    )


def _state(
    source: ReportSource, evidence: Evidence, end_offset: int, now_ms: int | None
) -> Cluster:
    """The state with this end offset, exclusive."""
    rows = source.ask(queries.state_at(evidence.cluster_id, end_offset))
    look = {
        "cluster_id": evidence.cluster_id,
        "source": "",
        "end_offset": end_offset,
        "is_whole": True,
        "voters": evidence.voters(end_offset),
        "now_ms": now_ms,
    }
    return cluster_of(look, [(row["entity"], row["value"], row["record_offset"]) for row in rows])


def _refusals(source: ReportSource, evidence: Evidence) -> tuple[Refusal, ...]:
    """The times during which partitions refused writes, back to the record at which the replay of
    the newest state begins."""
    if not evidence.known_ranges:
        return ()
    newest = max(evidence.known_ranges, key=itemgetter("to_offset"))
    begin, end = newest["from_offset"], newest["to_offset"]
    cluster = _state(source, evidence, end, None)
    rows = source.ask(queries.steps_back(evidence.cluster_id, begin, end))
    steps = [*visible_changes(rows)]
    outages = outages_of(RewoundPartitions.of(cluster), steps)
    return refusals(cluster, outages, steps)


def _harmful(found: Iterable[Exposure]) -> Iterator[Exposure]:
    """The present problems, and the failures that would add to them. found: all exposures of one
    state; the exposure without a failure comes first."""
    now = None
    for one in found:
        now = one if now is None else now
        if does_harm(one) and (one is now or one.harm != now.harm or one.has_majority is False):
            yield one


def _worst_first(one: Exposure) -> tuple[bool, bool, int, int, int, tuple[str, ...]]:
    return (
        one.failure.kind != NOTHING,
        one.has_majority is not False,
        -one.harm.leaderless,
        -one.harm.below_min_isr,
        len(one.failure.gone),
        one.failure.gone,
    )


def gather_history(source: ReportSource, evidence: Evidence, share: int) -> ClusterHistory | None:
    """The history of the cluster; None where a table is missing, or where nothing ever changed.
    share: the most changes of the cluster on the page. Raises KraftlakeError."""
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
        entities = source.ask(queries.judged_entities(cluster))[0]["entities"]
        lost = [loss.first for loss in evidence.losses]
        moments = chosen(steps, changes.rows, evidence.known_ranges, lost, entities)
        judgements = tuple(judged_at(source, evidence, steps, moment) for moment in moments)
        refused = () if is_sampled else _refusals(source, evidence)
    return ClusterHistory(
        changes,
        versions,
        steps,
        size["changes"],
        size["versions"],
        is_sampled,
        judgements,
        queries.state_at(cluster, moments[-1].end_offset) if moments else None,
        refused,
    )


@contextmanager
def _values_of(source: ReportSource) -> Iterator[None]:
    """A context in which a value that no build writes raises UnreadableFileError, which names the
    table."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, DataError) as error:
        reason = (
            f"a value in it is no entity as `kraftlake build` writes it ({type(error).__name__}: "
            f"{error}); run `{source.lake.command('build')}` again, or fill a new lake"
        )
        raise UnreadableFileError(source.lake.table_uri(HISTORY), reason) from error

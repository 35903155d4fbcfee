"""gold.verdicts: the verdict of replica.doctor.verdict on each cluster, as `kraftlake check` gives
it, by the newest capture group and the newest state.

The evidence of a cluster's own rows is found where its other tables are made. The findings that
compare directories of several clusters, which were captured together, are known only once all
clusters are derived. So the rows are made last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from pipelines.cluster.aggregates import grouped
from pipelines.cluster.rows import Row
from pipelines.finding_rows import finding_of
from pipelines.gold.inputs import Gold
from pipelines.gold.verdict_rows import verdict_row
from replica.doctor.check.catalogue import RULES_BY_ID
from replica.doctor.check.formatted import RULES as RULES_ABOUT_FORMATTED
from replica.doctor.quorum.known_quorum import ABSENT, KnownQuorum
from replica.doctor.verdict.evidence import (
    NO_LOG,
    ClusterEvidence,
    PlacedFinding,
    ToLose,
    losses_of,
)
from replica.doctor.verdict.facts import VerdictDraft, draft_on
from replica.doctor.verdict.verdict import OF_OTHER_CLUSTERS, Gap, KnownState, MissingVoters
from replica.history.commitment import Losses
from replica.history.divergence import Relation

_NO_STATE = Gap("the cluster's state", "no log or snapshot in the lake has a record that tells it")
_FORMATTED = frozenset(rule.id for rule in RULES_ABOUT_FORMATTED)


@dataclass(frozen=True)
class NewestEvidence:
    """What the newest capture group of a cluster shows by itself; of a cluster without any log its
    newest round. captures: its rows of bronze.captures, with the columns of CAPTURE_COLUMNS. draft:
    the verdict without what directories say of each other."""

    captures: Sequence[Row]
    draft: VerdictDraft
    quorum: KnownQuorum


CAPTURE_COLUMNS = ("capture_id", "capture_group", "captured_at", "ingest_seq", "node_id")


def newest_evidence(of: Gold) -> Iterator[NewestEvidence]:
    """The evidence on the cluster; none where no capture of it is known."""
    captures = [*_columns(of.newest_captures)]
    if captures:
        yield NewestEvidence(captures, draft_on(_evidence(of, captures)), of.quorum)
    elif of.bronze.formatted:
        number = max(row["ingest_seq"] for row in of.bronze.formatted)
        newest = [row for row in of.bronze.formatted if row["ingest_seq"] == number]
        evidence = ClusterEvidence(of.silver.cluster_id, gaps=(NO_LOG,))
        yield NewestEvidence([*_columns(newest)], draft_on(evidence), KnownQuorum())


def _columns(captures: Iterable[Row]) -> Iterator[Row]:
    return ({name: row[name] for name in CAPTURE_COLUMNS} for row in captures)


def verdicts(
    clusters: Iterable[NewestEvidence], between: Iterable[Row], captures: Iterable[Row]
) -> Iterator[Row]:
    """The row of each cluster.

    between: rows of membership_findings and formatted_findings, also those of earlier builds. A
    finding counts for the cluster of the directory that it is about; one about a directory that was
    formatted and never started counts, as in `check`, for the one cluster that has logs in its
    round. So a cluster without any log has a row only where its round has no log, or logs of
    several clusters. captures: cluster_id, capture_id and ingest_seq of all captures of these
    rounds.
    """
    rows = [*between]
    formatted: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["rule"] in _FORMATTED:
            formatted[row["capture_id"]].append(row)
    rounds = grouped(captures, itemgetter("ingest_seq"))
    for newest in clusters:
        of_round = rounds.get(newest.captures[0]["ingest_seq"], ())
        with_logs = {one["cluster_id"] for one in of_round if one["capture_id"] not in formatted}
        has_logs = newest.captures[0]["capture_id"] not in formatted
        if not has_logs and len(with_logs) == 1:
            continue
        counted = newest.captures if not has_logs else of_round if len(with_logs) == 1 else ()
        beside = (
            PlacedFinding(row["file"], finding_of(row))
            for one in counted
            for row in formatted.get(one["capture_id"], ())
        )
        placed = (*_placed(newest.captures, rows),) if has_logs else ()
        verdict = newest.draft.verdict((*placed, *beside))
        yield verdict_row(newest.captures, verdict, newest.quorum)


def nodes_elsewhere(
    clusters: Iterable[NewestEvidence], between: Iterable[Row]
) -> Iterator[tuple[str, frozenset[int]]]:
    """(cluster_id, nodes) for each cluster that has nodes of which only directories of another
    cluster were captured. between: as in `verdicts`."""
    found = [row for row in between if row["rule"] in OF_OTHER_CLUSTERS]
    for newest in clusters if found else ():
        nodes = {
            int(subject.name.removeprefix("node "))
            for one in _placed(newest.captures, found)
            for subject in one.finding.subjects
        }
        if nodes and newest.draft.cluster_id is not None:
            yield newest.draft.cluster_id, frozenset(nodes)


def _placed(captures: Sequence[Row], found: Iterable[Row]) -> Iterator[PlacedFinding]:
    """The findings about files of these captures, by node, in whatever order an engine read them.
    found: rows of gold.findings."""
    nodes = {row["capture_id"]: f"node {row['node_id']}" for row in captures}
    of_captures = (
        row
        for row in found
        if row["family"] != "health" and row["capture_id"] in nodes and row["rule"] in RULES_BY_ID
    )
    for row in sorted(of_captures, key=_by_node):
        yield PlacedFinding(nodes[row["capture_id"]], finding_of(row))


def _by_node(row: Row) -> tuple[int, str, str, int, int]:
    place = (-1 if row[name] is None else row[name] for name in ("position", "offset"))
    return row["node_id"], row["rule"], row["file"], *place


def _evidence(of: Gold, captures: Sequence[Row]) -> ClusterEvidence:
    """The evidence without the findings that compare directories with each other."""
    state_row = of.newest_states[0] if of.newest_states else None
    state = of.judged_states[0] if of.judged_states else None
    return ClusterEvidence(
        of.silver.cluster_id,
        len(captures),
        tuple(_placed(captures, of.findings)),
        losses_of(_to_lose(of, captures)),
        None if state is None else state.findings,
        0 if state is None else state.partitions,
        None if state is None else state.leaderless,
        {} if state is None else state.leaderless_in_restart,
        tuple(str(voter.key.node_id) for voter in of.quorum.voters),
        tuple(str(key.node_id) for key in of.quorum.unreliable),
        None if state_row is None else _known_state(state_row),
        _missing(of.quorum, captures),
        () if state_row is not None else (_NO_STATE,),
    )


def _to_lose(of: Gold, captures: Sequence[Row]) -> Iterator[tuple[ToLose, Iterable[int]]]:
    """What logs of the newest group hold now and will lose, for losses_of."""
    name = captures[0]["capture_group"]
    group = next(row for row in of.groups if row["capture_group"] == name)
    for pair in group["pairs"]:
        if pair["relation"] != Relation.DIVERGED.value:
            continue
        loser, lost, first = pair["truncating_node"], None, pair["divergence_offset"]
        if loser is None:
            loser = pair["node_a"]
        else:
            names = ("committed_lost", "unproven_lost", "superseded_lost")
            lost, first = Losses(*(pair[one] for one in names)), pair["truncation_offset"]
        if_stopped = pair.get("if_stopped", False)
        loss = ToLose((str(loser),), first, pair["records_lost"], lost, if_stopped=if_stopped)
        yield loss, {pair["node_a"], pair["node_b"]} - {loser}


def _known_state(state_row: Row) -> KnownState:
    return KnownState(state_row["end_offset"], state_row["now_ms"], f"node {state_row['node_id']}")


def _missing(quorum: KnownQuorum, captures: Sequence[Row]) -> MissingVoters | None:
    missing = frozenset(voter.key for voter in quorum.in_doubt(*ABSENT))
    if not missing:
        return None
    given = frozenset(row["node_id"] for row in captures)
    return MissingVoters(missing, len(quorum.voters), given)

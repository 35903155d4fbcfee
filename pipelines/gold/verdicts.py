"""gold.verdicts: the verdict of replica.doctor.verdict on each cluster, as `kraftlake check` gives
it, by the newest capture group and the newest state.

The evidence of a cluster's own rows is collected where its other tables are made. The findings that
compare directories of several clusters, which were captured together, are known only once all
clusters are derived. So the rows are made last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import basename

from pipelines.cluster.rows import Row
from pipelines.finding_rows import finding_of, unstartable_nodes
from pipelines.gold.inputs import Gold
from pipelines.gold.membership import may_hold_records
from pipelines.gold.other_disks import BesideCluster, RoundDirectories
from pipelines.gold.unled import missing_voters
from pipelines.gold.verdict_rows import verdict_row
from replica.doctor.check.catalogue import RULES_BY_ID
from replica.doctor.check.catalogue.groups import VOTER_DISK_EMPTY
from replica.doctor.check.formatted import RULES as RULES_ABOUT_FORMATTED
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.doctor.quorum.known_voter import ABSENT
from replica.doctor.verdict.evidence import (
    NO_LOG,
    PASSED_OVER,
    ClusterEvidence,
    PlacedFinding,
    ToLose,
    losses_of,
    never_written,
    unled_of,
    voters_of,
)
from replica.doctor.verdict.facts import VerdictDraft, draft_on
from replica.doctor.verdict.verdict import OF_OTHER_CLUSTERS, Gap, KnownState
from replica.format import meta_properties
from replica.history.commitment import Losses
from replica.history.divergence import Relation

_NO_STATE = Gap("the cluster's state", "no log or snapshot in the lake has a record that tells it")
_FORMATTED = frozenset(rule.id for rule in RULES_ABOUT_FORMATTED)


@dataclass(frozen=True)
class NewestEvidence:
    """The evidence on a cluster from its newest capture group alone; for a cluster without any log,
    from its newest ingest round."""

    captures: Sequence[Row]
    """The group's rows of bronze.captures, with the columns of CAPTURE_COLUMNS."""
    draft: VerdictDraft
    """The verdict without the findings of the comparison of directories."""
    quorum: KnownQuorum

    @property
    def ingest_seq(self) -> int:
        """The number of the captures' ingest round."""
        return int(self.captures[0]["ingest_seq"])


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
    clusters: Iterable[NewestEvidence],
    between: Iterable[Row],
    rounds: Mapping[int, RoundDirectories],
) -> Iterator[Row]:
    """The rows of gold.verdicts, one for each cluster.

    between: rows of membership_findings, also those of earlier builds. A finding counts for the
    cluster of the directory that it is about. rounds: the rounds of the newest captures. A finding
    about a directory that was formatted and never started counts, as in `check`, for the one
    cluster that has logs in its round. So a cluster without any log has a row only where its round
    has no log, or logs of several clusters.
    """
    rows = [row for row in between if row["rule"] not in _FORMATTED]
    for newest in clusters:
        of_round = rounds[newest.ingest_seq]
        formatted = {one.capture_id for one in of_round.formatted}
        has_logs = newest.captures[0]["capture_id"] not in formatted
        is_only_one = len(of_round.clusters) == 1
        if not has_logs and is_only_one:
            continue
        own = {row["capture_id"] for row in newest.captures}
        beside = (
            PlacedFinding(finding.where, finding)
            for one, finding in of_round.findings()
            if is_only_one or (not has_logs and one.capture_id in own)
        )
        placed = (*_placed(newest.captures, rows),) if has_logs else ()
        verdict = newest.draft.verdict((*placed, *beside))
        yield verdict_row(newest.captures, verdict, newest.quorum)


def clusters_beside(
    clusters: Iterable[NewestEvidence],
    between: Iterable[Row],
    rounds: Mapping[int, RoundDirectories],
) -> Iterator[tuple[str, BesideCluster]]:
    """(cluster_id, facts) for each cluster about which other directories of the same round show
    something. Either a voter's node has only directories of another cluster or without a metadata
    log, or a node refuses to start with its directories. between, rounds: as in `verdicts`."""
    between = [*between]
    found = [row for row in between if row["rule"] in OF_OTHER_CLUSTERS]
    for newest in clusters:
        cluster_id = newest.draft.cluster_id
        if cluster_id is not None:
            elsewhere = frozenset(
                int(subject.name.removeprefix("node "))
                for one in _placed(newest.captures, found)
                for subject in one.finding.subjects
            )
            of_round = rounds[newest.ingest_seq]
            unstartable = unstartable_nodes(newest.captures, between)
            beside = of_round.beside(cluster_id, newest.quorum, elsewhere, unstartable)
            if beside:
                yield cluster_id, beside


def _placed(captures: Sequence[Row], found: Iterable[Row]) -> Iterator[PlacedFinding]:
    """The findings about files of these captures, sorted by node, so that the order in which an
    engine read them doesn't matter. found: rows of gold.findings."""
    nodes = {row["capture_id"]: f"node {row['node_id']}" for row in captures}
    of_captures = (
        row
        for row in found
        if row["family"] != "health"
        and row["capture_id"] in nodes
        and row["rule"] in RULES_BY_ID
        # without a metadata log, it is about a directory that is none of the captures'
        and (
            row["rule"] != VOTER_DISK_EMPTY.id or basename(row["file"]) != meta_properties.FILE_NAME
        )
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
        (
            *_placed(captures, of.findings),
            *(PlacedFinding(finding.where, finding) for finding in of.emptied),
        ),
        losses_of(_to_lose(of, captures)),
        None if state is None else state.findings,
        0 if state is None else state.partitions,
        None if state is None else state.leaderless,
        None if state is None else state.refusing,
        () if state is None else state.returning,
        {} if state is None else state.leaderless_in_restart,
        {} if state is None else state.still_refusing,
        () if state is None else state.copy_first,
        () if state is None else state.emptied,
        {} if state is None else state.absent,
        tuple(str(voter.key.node_id) for voter in of.quorum.voters),
        voters_of(of.quorum),
        unled_of(of.quorum),
        tuple(str(key.node_id) for key in of.quorum.unreliable),
        tuple(str(key.node_id) for key in of.quorum.replaced),
        None if state_row is None else _known_state(state_row),
        missing_voters(captures, of.quorum, of.silver.beside.without_log),
        tuple(_gaps(of, captures)),
        releases="" if state is None else state.releases,
    )


def _to_lose(of: Gold, captures: Sequence[Row]) -> Iterator[tuple[ToLose, Iterable[int]]]:
    """For losses_of, a pair for each two diverged logs of the newest group: the entries that one
    log will lose, and the id of the other log's node."""
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


def _gaps(of: Gold, captures: Sequence[Row]) -> Iterator[Gap]:
    if of.newest_states:
        if of.passed_over:
            yield Gap(of.passed_over, PASSED_OVER)
    elif any(of.silver.held.places(row["capture_id"]).size for row in captures) or any(
        map(may_hold_records, of.newest_captures)
    ):
        yield _NO_STATE
    else:
        absent = {one.key.node_id for one in of.quorum.in_doubt(*ABSENT)}
        without_log = frozenset(of.silver.beside.without_log)
        yield never_written(absent - without_log if of.quorum.voters else None)

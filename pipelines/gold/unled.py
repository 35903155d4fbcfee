"""Whether the files of the newest captures show that a cluster's quorum has no leader. The verdict
says so, too; but exposures depend on this fact, and are computed before the verdict."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from pipelines.cluster.rows import Row
from pipelines.finding_rows import finding_of
from replica.doctor.check.catalogue import files, log
from replica.doctor.quorum.conditions import NoLeader
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.doctor.quorum.known_voter import ABSENT
from replica.doctor.verdict.evidence import ClusterEvidence, PlacedFinding, unled_of, voters_of
from replica.doctor.verdict.outage import no_leader_by, outage_facts
from replica.doctor.verdict.verdict import MissingVoters

_OF_ELECTIONS = (files.ELECTIONS_WITHOUT_WINNER.id, log.ENDLESS_ELECTIONS.id)


def unled_by_files(
    captures: Sequence[Row], found: Iterable[Row], quorum: KnownQuorum, without_log: Collection[int]
) -> NoLeader | None:
    """Why the quorum has no leader, or may have none; None where no file shows that. captures: the
    newest group. found: the findings about the files of all captures, as beside_other_logs gives
    them. without_log: the nodes of which only a directory without a metadata log was captured."""
    nodes = {row["capture_id"]: row["node_id"] for row in captures}
    rows = [one for one in found if one["rule"] in _OF_ELECTIONS and one["capture_id"] in nodes]
    rows.sort(key=lambda row: (nodes[row["capture_id"]], row["file"]))
    evidence = ClusterEvidence(
        findings=tuple(
            PlacedFinding(f"node {nodes[row['capture_id']]}", finding_of(row)) for row in rows
        ),
        voters=tuple(str(voter.key.node_id) for voter in quorum.voters),
        known_voters=voters_of(quorum),
        unled=unled_of(quorum),
        missing=missing_voters(captures, quorum, without_log),
    )
    return no_leader_by(outage_facts(evidence))


def missing_voters(
    captures: Iterable[Row], quorum: KnownQuorum, without_log: Collection[int]
) -> MissingVoters | None:
    """The voters of whom no directory was captured with a metadata log, for
    ClusterEvidence.missing; None where there are none."""
    missing = frozenset(voter.key for voter in quorum.in_doubt(*ABSENT))
    if not missing:
        return None
    given = frozenset(row["node_id"] for row in captures)
    return MissingVoters(missing, len(quorum.voters), given, frozenset(without_log))

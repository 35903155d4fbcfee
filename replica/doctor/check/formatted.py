"""Judges log directories without a metadata log, beside directories with one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from replica.doctor.check.catalogue import groups
from replica.doctor.check.rule import Finding
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.doctor.quorum.known_voter import VoterDoubt
from replica.format.formatted import FormattedDirectory
from replica.model.keys import ReplicaId

RULES = (
    groups.NEVER_STARTED, groups.METADATA_LOG_NOT_GIVEN, groups.FORMATTED_FOR_ANOTHER_CLUSTER,
    groups.LOG_DIRECTORIES_DIFFER,
)  # fmt: skip
"""The rules of the findings that judge_formatted makes."""
WITHOUT_LOG = (groups.NEVER_STARTED.id, groups.METADATA_LOG_NOT_GIVEN.id)
"""The rules of the findings of a log directory without a metadata log that is judged alone."""
Judged = tuple[ReplicaId, str]
"""The replica of a directory with a metadata log, and the user's name of its meta.properties."""


def judge_formatted(
    formatted: Sequence[FormattedDirectory], judged: Sequence[Judged]
) -> Iterator[Finding]:
    """Findings about the directories without a metadata log, one for each directory. A directory
    gets no finding if it is a further log directory of a judged node and names the node's cluster.
    judged: the directories with a metadata log that were checked together with `formatted`."""
    clusters = {replica.cluster_id for replica, _ in judged}
    for one in formatted:
        node_id, cluster_id = one.replica.node_id, one.replica.cluster_id
        same_node = [found for found in judged if found[0].node_id == node_id]
        if any(replica.cluster_id == cluster_id for replica, _ in same_node):
            continue
        beside = next((name for _, name in same_node if _parent(name) == one.parent), None)
        what = f"cluster {cluster_id}, node {node_id}, directory {one.replica.directory_id}"
        if beside is not None:
            message = f"{what}; {beside} names another cluster"
            yield groups.LOG_DIRECTORIES_DIFFER.at(one.meta_properties, message, node=node_id)
        elif len(clusters) == 1 and cluster_id not in clusters:
            message = f"{what}; the other directories are of cluster {next(iter(clusters))}"
            yield groups.FORMATTED_FOR_ANOTHER_CLUSTER.at(
                one.meta_properties, message, node=node_id
            )
        elif one.has_partitions:
            yield groups.METADATA_LOG_NOT_GIVEN.at(one.meta_properties, what, node=node_id)
        else:
            yield groups.NEVER_STARTED.at(one.meta_properties, what, node=node_id)


def judge_emptied(
    quorum: KnownQuorum, without_log: Mapping[int, FormattedDirectory]
) -> Iterator[Finding]:
    """Findings about voters that led or voted, but for whose nodes only directories without a
    metadata log were given. without_log: these directories, by node id."""
    for voter in quorum.in_doubt(VoterDoubt.NO_LOG):
        if voter.attested_epoch is not None:
            node_id, epoch = voter.key.node_id, voter.attested_epoch
            message = f"voter {node_id} led or voted in epoch {epoch}: {voter.why_doubted}"
            file = without_log[node_id].meta_properties
            yield groups.VOTER_DISK_EMPTY.at(file, message, epoch=epoch, node=node_id)


def _parent(name: str) -> str:
    return os.path.dirname(os.path.dirname(name))

"""What `check` shows of a quorum that never had a leader: how each node was formatted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from jobs.cli.output import table_lines
from replica.doctor.check.first_election import FormattedNode, candidates
from replica.metadata.image.settings import METADATA_VERSION
from replica.words import listed

_COLUMNS = ("node", "cluster", "formatted", "voters", "epoch", "first records", "directory")


def first_election_lines(
    nodes: Sequence[FormattedNode], configured: frozenset[int]
) -> Iterator[str]:
    """A row for each node, and for each cluster who may lead; nothing where there was a leader.
    configured: the voters that settings name, for nodes whose files name none."""
    if not nodes:
        return
    yield ""
    yield "No log here holds a record. How the nodes were formatted:"
    yield ""
    yield from table_lines(_COLUMNS, map(_cells, nodes))
    for cluster in candidates(nodes):
        known = replace(cluster, voters=cluster.voters or configured)
        yield f"cluster {known.cluster_id}: {known.text}"


def _cells(node: FormattedNode) -> tuple[str, ...]:
    voters = sorted({voter.node_id for voter in node.voters})
    return (
        str(node.replica.node_id),
        node.replica.cluster_id,
        node.formatting.value.replace("-", " "),
        listed([str(one) for one in voters]) or "-",
        "-" if node.epoch is None else str(node.epoch),
        listed(sorted(node.records or (), key=_weight), limit=2) or "-",
        listed(node.shown, limit=2),
    )


def _weight(record: str) -> tuple[bool, bool, str]:
    """What nodes may differ in comes first: credentials, and the metadata.version."""
    return not record.startswith("SCRAM"), not record.startswith(METADATA_VERSION), record


def first_election_rows(nodes: Sequence[FormattedNode]) -> Iterator[dict[str, Any]]:
    """The rows of --json."""
    for node in nodes:
        yield {
            "kind": "formatted",
            "cluster_id": node.replica.cluster_id,
            "node_id": node.replica.node_id,
            "directory_id": node.replica.directory_id,
            "directories": list(node.shown),
            "formatting": node.formatting.value,
            "voters": sorted({voter.node_id for voter in node.voters}),
            "epoch": node.epoch,
            "records": None if node.records is None else sorted(node.records),
        }

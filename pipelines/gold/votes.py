"""gold.votes: which voter voted for which candidate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pipelines.cluster.aggregates import are_equal, distinct, grouped
from pipelines.cluster.control import known_directory
from pipelines.cluster.rows import Row


def votes(cluster_id: str, history: Sequence[Row], state: Iterable[Row]) -> Iterator[Row]:
    """Rows of gold.votes. history: rows of gold.leader_epoch_history. state: rows of
    bronze.replica_state.

    A LEADER_CHANGE names the voters that had granted their vote when the leader took office. Later
    votes, and votes for other candidates, are only in quorum-states, while the voter is in that
    epoch.
    """
    cast = grouped((*_granted(history), *_own(state)), lambda told: told[:3])
    leaders = {row["epoch"]: row["leader_id"] for row in history}
    candidates = Counter(key[:2] for key in cast)
    for (epoch, voter, candidate), told in cast.items():
        yield {
            "cluster_id": cluster_id,
            "epoch": epoch,
            "voter_id": voter,
            "candidate_id": candidate,
            "voter_directory_ids": distinct(known_directory(one.directory_id) for one in told),
            "sources": distinct(one.source for one in told),
            "is_elected": are_equal(candidate, leaders.get(epoch)),
            "is_double": candidates[epoch, voter] > 1,
        }


class _Vote(NamedTuple):
    """A vote in one source."""

    epoch: int | None
    voter_id: int | None
    candidate_id: int
    directory_id: str | None
    source: str


def _granted(history: Iterable[Row]) -> Iterator[_Vote]:
    for row in history:
        if row["leader_id"] is not None:
            for voter in row["granting_voters"] or ():
                vote = voter["voter_id"], row["leader_id"], voter["directory_id"]
                yield _Vote(row["epoch"], *vote, "leader_change")


def _own(state: Iterable[Row]) -> Iterator[_Vote]:
    for row in state:
        if row["voted_id"] is not None and row["voted_id"] >= 0:
            vote = row["node_id"], row["voted_id"], row["directory_id"]
            yield _Vote(row["leader_epoch"], *vote, "quorum_state")

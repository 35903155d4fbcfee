"""Voters in the form of silver.voter_sets' column `voters`, from each source that names voters.

A voter is a dict of voter_id, directory_id, endpoints, min_supported_version and
max_supported_version, in this order. What the source doesn't say is None.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.in_memory.rows import Row, nulls_first
from replica.model.keys import ZERO_UUID


def known_directory(directory: str | None) -> str | None:
    """None for the zero UUID, which stands for any directory (VoterSet.isVoter)."""
    return None if directory == ZERO_UUID else directory


def node_ids_as_voters(ids: Sequence[int] | None) -> list[Row] | None:
    """Voters of a source that gives only node ids, sorted; None where the source gives no ids."""
    return None if ids is None else _in_order([voter(node) for node in ids])


def configured_voters_as_voters(voters: Sequence[Row] | None) -> list[Row] | None:
    """Voters of controller.quorum.voters, sorted; None where `voters` is None. voters: dicts of
    voter_id, host and port."""
    if voters is None:
        return None
    return _in_order([voter(one["voter_id"], endpoints=[_endpoint(one)]) for one in voters])


def leader_voters_as_voters(voters: Sequence[Row] | None) -> list[Row] | None:
    """Voters of a LEADER_CHANGE, in their order; None where `voters` is None. voters: dicts of
    voter_id and directory_id."""
    if voters is None:
        return None
    return [voter(one["voter_id"], one["directory_id"]) for one in voters]


def _endpoint(configured: Row) -> Row:
    return {"name": None, "host": configured["host"], "port": configured["port"]}


def voter(
    node: int | None,
    directory: str | None = None,
    endpoints: list[Row] | None = None,
    versions: tuple[int | None, int | None] = (None, None),
) -> Row:
    """An element of the column. versions: the lowest and the highest kraft.version that it
    supports."""
    return {
        "voter_id": node,
        "directory_id": directory,
        "endpoints": endpoints,
        "min_supported_version": versions[0],
        "max_supported_version": versions[1],
    }


def _in_order(voters: list[Row]) -> list[Row]:
    return sorted(voters, key=nulls_first)

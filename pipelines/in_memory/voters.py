"""Voters as silver.voter_sets' column `voters` has them, out of what names them."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.in_memory.rows import Row, nulls_first
from replica.types import ZERO_UUID


def known_directory(directory: str | None) -> str | None:
    """None for the zero UUID, which stands for any directory (VoterSet.isVoter)."""
    return None if directory == ZERO_UUID else directory


def node_ids_as_voters(ids: Iterable[int]) -> list[Row]:
    """For sources that know a voter by its node id only."""
    return [voter_row(node) for node in sorted(ids)]


def configured_voters_as_voters(voters: Iterable[Row]) -> list[Row]:
    """voters: of controller.quorum.voters, dicts of voter_id, host and port."""
    rows = (voter_row(one["voter_id"], endpoints=[_endpoint(one)]) for one in voters)
    return sorted(rows, key=nulls_first)


def leader_voters_as_voters(voters: Iterable[Row] | None) -> list[Row] | None:
    """voters: of a leader change, dicts of voter_id and directory_id. None for None."""
    if voters is None:
        return None
    return [voter_row(voter["voter_id"], voter["directory_id"]) for voter in voters]


def voter_row(
    voter_id: int,
    directory_id: str | None = None,
    endpoints: list[Row] | None = None,
    versions: tuple[int | None, int | None] = (None, None),
) -> Row:
    """An element of `voters`, None for what is not given; versions: lowest and highest
    supported."""
    return {
        "voter_id": voter_id,
        "directory_id": directory_id,
        "endpoints": endpoints,
        "min_supported_version": versions[0],
        "max_supported_version": versions[1],
    }


def _endpoint(voter: Row) -> Row:
    return {"name": None, "host": voter["host"], "port": voter["port"]}

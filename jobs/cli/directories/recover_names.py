"""The names that the commands of a recovery plan use: hosts and ports, paths, bundles."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from replica.doctor.check.examined import Examined, newest_voters
from replica.shell_text import is_host, paths


def endpoints_of(ranked: Sequence[Examined]) -> dict[int, tuple[str, int]]:
    """The host and port of each voter, by the voters record of the newest log, else by
    quorum.properties. A voter with a name that no host can have is left out. ranked: as for
    newest_voters."""
    found = {
        voter.voter_id: (voter.host, voter.port)
        for examined in ranked
        for voter in examined.directory.configured_voters or ()
    }
    newest = newest_voters(ranked)
    for voter in () if newest is None else newest.voters:
        if voter.endpoints:
            found[voter.key.node_id] = (voter.endpoints[0].host, voter.endpoints[0].port)
    return {node_id: place for node_id, place in found.items() if is_host(place[0])}


def bundle_of(path: str) -> str | None:
    """The bundle that holds a directory; None where the directory lies on a disk."""
    while path and not os.path.lexists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return path if os.path.isfile(path) else None


def shown_paths(names: Iterable[str]) -> list[str]:
    return paths(map(os.path.normpath, names))

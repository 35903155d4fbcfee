"""Keeps a note of what `kraftlake forget` is removing, in a file of the lake, until the work is
done.

While the work is half done, bronze.captures still has the captures that are being removed, and an
ingest would rely on them. So every job that writes to the lake first calls `refuse_half_forgotten`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from pipelines.lake import Lake
from replica.errors import UsageError

FILE_NAME = "_forgetting.json"
"""The name of the note's file. Delta tables never start with an underscore."""


@dataclass(frozen=True, slots=True)
class Targets:
    """The captures and clusters to forget."""

    captures: frozenset[str] = frozenset()
    """Ids of captures, or of capture groups."""
    clusters: frozenset[str] = frozenset()
    """Cluster ids."""

    def __or__(self, other: Targets) -> Targets:
        return Targets(self.captures | other.captures, self.clusters | other.clusters)

    def has(self, capture_id: str, capture_group: str, cluster_id: str) -> bool:
        """Whether a row of bronze.captures is among the targets."""
        return bool({capture_id, capture_group} & self.captures) or cluster_id in self.clusters


def begun(lake: Lake) -> Targets:
    """The targets of an earlier run that did not finish; empty without such a run. Raises
    UsageError where the note can't be understood."""
    content = lake.read(FILE_NAME)
    if content is None:
        return Targets()
    try:
        fields = json.loads(content)
        return Targets(frozenset(fields["captures"]), frozenset(fields["clusters"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"{lake}/{FILE_NAME}: not a file of `kraftlake forget`: restore it"
        ) from error


def begin(lake: Lake, targets: Targets) -> None:
    """Note the targets durably and atomically, before anything is changed."""
    fields = {"captures": sorted(targets.captures), "clusters": sorted(targets.clusters)}
    lake.write(FILE_NAME, json.dumps(fields).encode())


def end(lake: Lake) -> None:
    """Remove the note of the targets, because the work is done."""
    lake.remove(FILE_NAME)


def refuse_half_forgotten(lake: Lake) -> None:
    """Raises UsageError where a run of `kraftlake forget` did not finish."""
    if lake.read(FILE_NAME) is not None:
        raise UsageError(
            f"{lake}: a `kraftlake forget` was interrupted: run "
            f"`{lake.command('forget', '--yes')}`, which finishes it"
        )

"""What of a lake is to be forgotten: a file in the lake as long as it isn't done.

bronze.captures still has what is half forgotten, and an ingest would rest on it: so whoever writes
to the lake asks `refuse_half_forgotten` first.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from replica.errors import UsageError

FILE_NAME = "_forgetting.json"
"""Delta tables never start with an underscore."""


@dataclass(frozen=True, slots=True)
class Targets:
    """captures: ids of captures, or of capture groups. clusters: cluster ids."""

    captures: frozenset[str] = frozenset()
    clusters: frozenset[str] = frozenset()

    def __or__(self, other: Targets) -> Targets:
        return Targets(self.captures | other.captures, self.clusters | other.clusters)

    def has(self, capture_id: str, capture_group: str, cluster_id: str) -> bool:
        """Whether a row of bronze.captures is meant."""
        return bool({capture_id, capture_group} & self.captures) or cluster_id in self.clusters


def begun(lake: str) -> Targets:
    """What an earlier run began to forget and did not finish."""
    path = Path(lake, FILE_NAME)
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        return Targets(frozenset(fields["captures"]), frozenset(fields["clusters"]))
    except FileNotFoundError:
        return Targets()
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: not what `kraftlake forget` writes: restore it") from error


def begin(lake: str, targets: Targets) -> None:
    """Say so durably, whole or not at all, before anything is changed."""
    path = Path(lake, FILE_NAME)
    fields = {"captures": sorted(targets.captures), "clusters": sorted(targets.clusters)}
    draft = path.with_suffix(".part")
    with draft.open("w", encoding="utf-8") as file:
        json.dump(fields, file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def end(lake: str) -> None:
    """Nothing is half forgotten any more."""
    Path(lake, FILE_NAME).unlink(missing_ok=True)


def refuse_half_forgotten(lake: str) -> None:
    """UsageError where a run of `kraftlake forget` did not come to its end."""
    if Path(lake, FILE_NAME).exists():
        raise UsageError(
            f"{lake}: a `kraftlake forget` was interrupted: run `kraftlake forget --lake {lake} "
            "--yes`, which finishes it"
        )

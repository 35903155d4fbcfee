"""`kraftlake recover --plan`: with which of the directories that are left should a quorum go on?"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from jobs.check_inputs import CheckInputs, find_inputs
from jobs.output import Progress, complain, write_json, write_line
from jobs.recover_text import describe
from pipelines.capture.grouping import AmbiguousOrderError
from replica.check.examined import Examined, examine, replica_log
from replica.check.members import by_cluster
from replica.errors import UsageError
from replica.format.discovery import DirectoryPath
from replica.history.recovery import Answer, RecoveryPlan, plan_recovery
from replica.types import ReplicaKey


def run(paths: Sequence[str], *, json_output: bool) -> int:
    """Print a plan for each cluster; 0 where all are safe, else 1. Nothing is ever changed."""
    codes = []
    for members in by_cluster(_examined(paths)):
        _refuse_copies(members)
        by_key = {_key(one): one for one in members}
        unreliable = {key for key, one in by_key.items() if one.hides_entries}
        plan = plan_recovery([replica_log(one, one.shown) for one in members], unreliable)
        codes.append(0 if plan.answer is Answer.SAFE else 1)
        if json_output:
            _write_rows(plan, by_key)
        else:
            for line in describe(plan, by_key):
                write_line(line)
    return max(codes)


def _examined(paths: Sequence[str]) -> list[Examined]:
    """The directories of all paths, each read once; those of nobody known are named."""
    progress, found = Progress(), []
    with ExitStack() as stack:
        inputs = _inputs(paths, stack)
        for damage in inputs.damages:
            complain(str(damage))
        for one in (one for group in inputs.groups for one in group):
            if not isinstance(one, DirectoryPath):
                complain(f"{one.shown}: left out: only a whole directory can be gone on with")
                continue
            progress.show(f"{one.shown}: reading")
            examined = examine(one)
            if examined.replica is None:
                complain(f"{one.shown}: left out: no meta.properties tells whose it is")
            else:
                found.append(examined)
    progress.clear()
    if not found:
        raise UsageError(f"{', '.join(paths)}: no node's directory; name those that are left")
    for examined in found:
        for damage in examined.damages:
            complain(str(damage))
    return found


def _inputs(paths: Sequence[str], stack: ExitStack) -> CheckInputs:
    """Raises UsageError where they are of several moments: only the newest counts here."""
    try:
        inputs = find_inputs(paths, (), stack)
    except AmbiguousOrderError as error:
        raise UsageError(f"{error.captures}: name only what is left now") from error
    if sum(isinstance(group[0], DirectoryPath) for group in inputs.groups) > 1:
        raise UsageError("captures of several moments: name only what is left now")
    return inputs


def _refuse_copies(members: Sequence[Examined]) -> None:
    seen: dict[ReplicaKey, Examined] = {}
    for one in members:
        other = seen.setdefault(_key(one), one)
        if other is not one:
            raise UsageError(
                f"{other.shown} and {one.shown} are two copies of node {_key(one).node_id}: name "
                "the newest"
            )


def _write_rows(plan: RecoveryPlan, by_key: dict[ReplicaKey, Examined]) -> None:
    for rank, standing in enumerate(plan.ranking, start=1):
        log, lost = standing.log, standing.lost
        examined, position = by_key[log.key], log.position()
        assert examined.replica is not None, "by_cluster takes no others"
        row: dict[str, Any] = {
            "rank": rank,
            "directory": examined.shown,
            "cluster_id": examined.replica.cluster_id,
            "node_id": log.key.node_id,
            "directory_id": log.key.directory_id,
            "is_voter": standing.is_voter,
            "last_epoch": position.epoch,
            "log_end_offset": position.offset,
            "relation": None if standing.relation is None else standing.relation.value,
            "at_risk": [[each.start, each.end] for each in standing.at_risk],
            "committed_lost": lost.committed,
            "unproven_lost": lost.unproven,
            "superseded_lost": lost.superseded,
            "answer": plan.answer.value,
            "has_majority": plan.has_majority,
            "missing": sorted([v.node_id, v.directory_id] for v in plan.missing),
            "reasons": list(plan.reasons),
        }
        write_json(row)


def _key(examined: Examined) -> ReplicaKey:
    assert examined.replica is not None, "by_cluster takes no others"
    return examined.replica.key

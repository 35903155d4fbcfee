"""`kraftlake plan`: whether a change is safe, by the state that directories, a lake or a quorum
give."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jobs.option_files import text_in
from jobs.outcome import SAFETY_CODES
from jobs.output import complain, write_json, write_line
from replica.errors import UsageError
from replica.health.cluster import Cluster
from replica.preflight.answer import ChangeSafety, Preflight, unknown
from replica.preflight.reassigning import reassign
from replica.preflight.reassignment_file import assignments_in
from replica.preflight.stopping import stop_brokers, stop_rack
from replica.preflight.upgrading import upgrade
from replica.preflight.voters import add_voter, remove_voter, to_dynamic

_MAX_FILE_BYTES = 64 * 1024 * 1024

Check = Callable[[Cluster], Preflight]


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes that were asked about. Others are None or False."""

    reassignment: str | None = None
    stop_broker: str | None = None
    stop_rack: str | None = None
    remove_voter: int | None = None
    add_voter: int | None = None
    upgrade: str | None = None
    to_dynamic: bool = False

    def checks(self) -> list[Check]:
        """The checks of these changes. Raises UsageError for a wrong file or list."""
        found: list[Check] = []
        if self.reassignment is not None:
            assignments = assignments_in(
                text_in("--reassignment", self.reassignment, _MAX_FILE_BYTES), self.reassignment
            )
            found.append(lambda cluster: reassign(cluster, assignments))
        if self.stop_broker is not None:
            brokers = _ids(self.stop_broker)
            found.append(lambda cluster: stop_brokers(cluster, brokers))
        if (rack := self.stop_rack) is not None:
            if not rack.strip():
                raise UsageError("--stop-rack: expected the name of a rack, as in broker.rack")
            found.append(lambda cluster: stop_rack(cluster, rack))
        if (removed := self.remove_voter) is not None:
            found.append(lambda cluster: remove_voter(cluster, removed))
        if (added := self.add_voter) is not None:
            found.append(lambda cluster: add_voter(cluster, added))
        if (release := self.upgrade) is not None:
            found.append(lambda cluster: upgrade(cluster, release))
        if self.to_dynamic:
            found.append(to_dynamic)
        return found


def run(
    look: Callable[[], Cluster],
    changes: Changes,
    *,
    limit: int,
    wait_s: float | None = None,
    json_output: bool = False,
) -> int:
    """Print the answers. Returns 0 where every change is safe, 1 where one is unsafe, else 3.
    Raises KraftlakeError.

    look: gives the present state, of directories, a lake or a running quorum. limit: how many
    reasons of a change are shown in text. wait_s: seconds after which to look again, until every
    change is safe; None to look once.
    """
    checks = changes.checks()
    if not checks:
        raise UsageError("plan: name a change, such as --stop-broker 2 (see --help)")
    while True:
        cluster = look()
        found = [_held(check(cluster), cluster) for check in checks]
        _show(found, cluster, limit, json_output=json_output)
        code = _code(found)
        if wait_s is None or code == 0:
            return code
        time.sleep(wait_s)


def _held(found: Preflight, cluster: Cluster) -> Preflight:
    """The checks' results. No change is safe on a state that isn't known to its end, or that lacks
    a record."""
    doubts = []
    if not cluster.is_whole:
        doubts.append(f"is known up to offset {cluster.end_offset} only")
    if cluster.refused_at is not None:
        doubts.append(f"lacks the record at offset {cluster.refused_at}, which can't be applied")
    told = (unknown("state", f"{doubt}: `kraftlake check` says more") for doubt in doubts)
    return Preflight(found.action, (*found.reasons, *told), found.needs)


def _code(found: Sequence[Preflight]) -> int:
    answers = {one.answer for one in found}
    for answer in (ChangeSafety.UNSAFE, ChangeSafety.UNKNOWN):
        if answer in answers:
            return SAFETY_CODES[answer.value]
    return 0


def _show(found: Sequence[Preflight], cluster: Cluster, limit: int, *, json_output: bool) -> None:
    name = "of an unknown id" if cluster.cluster_id is None else cluster.cluster_id
    complain(f"plan: cluster {name} at offset {cluster.end_offset}")
    for one in found:
        if json_output:
            write_json(
                {
                    "action": one.action,
                    "answer": one.answer.value,
                    "end_offset": cluster.end_offset,
                    "reasons": [reason._asdict() for reason in one.reasons],
                    "needs": list(one.needs),
                }
            )
            continue
        write_line(f"{one.answer.value.upper():8}{one.action}")
        for reason in one.reasons[:limit]:
            mark = "note" if reason.answer is ChangeSafety.SAFE else reason.answer.value
            at = "" if reason.offset is None else f" (offset {reason.offset})"
            write_line(f"  {mark:8}{reason.subject}: {reason.detail}{at}")
        if len(one.reasons) > limit:
            more = len(one.reasons) - limit
            write_line(f"  ... and {more} more; --limit {len(one.reasons)} or --json lists all")
        for need in one.needs:
            write_line(f"  needs   {need}")


def _ids(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise UsageError(
            f"--stop-broker {text}: expected broker ids with commas between, such as 1,2"
        )
    return tuple(map(int, parts))

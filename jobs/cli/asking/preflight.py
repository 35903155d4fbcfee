"""`kraftlake plan`: whether a change is safe, by the state that directories, a lake or a quorum
give."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from jobs.cli.asking.about import asked_cluster
from jobs.cli.asking.cluster_source import ClusterSource, Wanted
from jobs.cli.asking.state_of_cluster import source_of
from jobs.cli.commands.options import passed_over_in
from jobs.cli.commands.planning import PlanOptions
from jobs.cli.directories.broker_defaults import defaults_in
from jobs.cli.directories.verdict_text import write_verdict
from jobs.cli.option_files import text_in
from jobs.cli.outcome import SAFETY_CODES
from jobs.cli.output import complain, more_line, write_either
from replica.doctor.health.cluster import Cluster
from replica.doctor.preflight.answer import ChangeSafety, Preflight, Reason, gravest
from replica.doctor.preflight.decommissioning import decommission
from replica.doctor.preflight.ground import grounded
from replica.doctor.preflight.reassigning import reassign
from replica.doctor.preflight.reassignment_file import assignments_in
from replica.doctor.preflight.rolling import roll
from replica.doctor.preflight.stopping import stop_brokers, stop_rack
from replica.doctor.preflight.upgrading import downgrade, upgrade
from replica.doctor.preflight.voters import add_voter, remove_voter, to_dynamic
from replica.errors import UsageError

_MAX_FILE_BYTES = 64 * 1024 * 1024

Check = Callable[[Cluster], Preflight]


def run(options: PlanOptions) -> int:
    """Print the answers. Returns 0 where every change is safe, 1 where one is unsafe, else 3.
    Raises KraftlakeError."""
    checks = _checks(options)
    if not checks:
        raise UsageError("plan: name a change, such as --stop-broker 2 (see --help)")
    defaults = defaults_in(options.broker_config)
    if options.bootstrap is not None:
        from jobs.cli.engine.live_state import live_quorum

        quorum = live_quorum(
            options.bootstrap,
            options.timeout_s,
            options.command_config,
            passed_over_in(options.pass_over),
        )
        with quorum as live:
            return _judge(lambda: live.source(defaults), checks, options)
    asked = asked_cluster(options, "plan")
    return _judge(lambda: source_of(asked, defaults, Wanted(verdict=True)), checks, options)


def _checks(options: PlanOptions) -> list[Check]:
    """The checks of the changes that were asked about. Raises UsageError for a wrong file or
    list."""
    found = [*_of_partitions(options), *_of_nodes(options)]
    if (removed := options.remove_voter) is not None:
        found.append(lambda cluster: remove_voter(cluster, removed))
    if (added := options.add_voter) is not None:
        found.append(lambda cluster: add_voter(cluster, added))
    if (release := options.upgrade) is not None:
        found.append(lambda cluster: upgrade(cluster, release))
    if (older := options.downgrade) is not None:
        found.append(lambda cluster: downgrade(cluster, older))
    if options.to_dynamic:
        found.append(to_dynamic)
    return found


def _of_partitions(options: PlanOptions) -> Iterator[Check]:
    if (path := options.reassignment) is not None:
        assignments = assignments_in(text_in("--reassignment", path, _MAX_FILE_BYTES), path)
        yield lambda cluster: reassign(cluster, assignments)


def _of_nodes(options: PlanOptions) -> Iterator[Check]:
    if options.stop_broker is not None:
        stopped = _ids("--stop-broker", options.stop_broker)
        yield lambda cluster: stop_brokers(cluster, stopped)
    if (rack := options.stop_rack) is not None:
        if not rack.strip():
            raise UsageError("--stop-rack: expected the name of a rack, as in broker.rack")
        yield lambda cluster: stop_rack(cluster, rack)
    if options.decommission is not None:
        leaving = _ids("--decommission", options.decommission)
        yield lambda cluster: decommission(cluster, leaving)
    if options.roll:
        yield roll


def _judge(look: Callable[[], ClusterSource], checks: Sequence[Check], options: PlanOptions) -> int:
    """Judge the changes once, or with --while until all are safe. look: gives the present state,
    of directories, a lake or a running quorum."""
    while True:
        source = look()
        cluster = source.cluster
        if source.verdict is not None:
            write_verdict(source.verdict, json_output=options.json_output)
        found = [grounded(check(cluster), cluster) for check in checks]
        _show(found, cluster, options.limit, json_output=options.json_output)
        for notice in source.notices:
            complain(notice)
        code = SAFETY_CODES[gravest(one.answer for one in found).value]
        if options.while_s is None or code == 0:
            return code
        time.sleep(options.while_s)


def _show(found: Sequence[Preflight], cluster: Cluster, limit: int, *, json_output: bool) -> None:
    name = "of an unknown id" if cluster.cluster_id is None else cluster.cluster_id
    complain(f"plan: cluster {name} at offset {cluster.end_offset}")
    rows = (_row(one, cluster.end_offset) for one in found)
    lines = (line for one in found for line in _described(one, limit))
    write_either(rows, lines, json_output=json_output)


def _row(one: Preflight, end_offset: int) -> dict[str, object]:
    return {
        "kind": "plan",
        "action": one.action,
        "answer": one.answer.value,
        "end_offset": end_offset,
        "reasons": [_reason_row(reason) for reason in one.reasons],
        "needs": list(one.needs),
        "order": list(one.order),
    }


def _reason_row(reason: Reason) -> dict[str, object]:
    return {
        "answer": reason.answer,
        "subject": reason.subject,
        "detail": reason.detail,
        "offset": reason.offset,
    }


def _described(one: Preflight, limit: int) -> Iterator[str]:
    yield f"{one.answer.value.upper():8}{one.action}"
    for reason in one.reasons[:limit]:
        mark = "note" if reason.answer is ChangeSafety.SAFE else reason.answer.value
        at = "" if reason.offset is None else f" (offset {reason.offset})"
        yield f"  {mark:8}{reason.subject}: {reason.detail}{at}"
    yield from (f"  {line}" for line in more_line(limit, len(one.reasons)))
    if one.order:
        yield f"  order   {', '.join(map(str, one.order))}"
    yield from (f"  needs   {need}" for need in one.needs)


def _ids(option: str, texts: Sequence[str]) -> list[int]:
    """The ids in the values of an option. Raises UsageError."""
    return [number for text in texts for number in _ids_of(option, text)]


def _ids_of(option: str, text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise UsageError(f"{option} {text}: expected broker ids with commas between, such as 1,2")
    return tuple(map(int, parts))

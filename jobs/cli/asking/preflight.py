"""`kraftlake plan`: whether a change is safe, by the state that directories, a lake or a quorum
give."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from jobs.cli.asking.about import asked_cluster
from jobs.cli.asking.cluster_source import ClusterSource, Wanted
from jobs.cli.asking.plan_line import answer_of, plan_line
from jobs.cli.asking.state_of_cluster import source_of
from jobs.cli.commands.options import passed_over_in
from jobs.cli.commands.planning import PlanOptions
from jobs.cli.directories.broker_defaults import defaults_in
from jobs.cli.directories.verdict_text import labelled, runbook_text, write_verdict
from jobs.cli.option_values import text_in
from jobs.cli.outcome import SAFETY_CODES, safety_code
from jobs.cli.output import complain, more_line, write_either, write_line
from replica.doctor.health.cluster import Cluster
from replica.doctor.preflight.answer import ChangeSafety, Preflight, Reason, gravest
from replica.doctor.preflight.certainty import grounded
from replica.doctor.preflight.decommissioning import decommission
from replica.doctor.preflight.downgrading import downgrade_binaries
from replica.doctor.preflight.migrating import finish_migration
from replica.doctor.preflight.reassigning import reassign
from replica.doctor.preflight.reassignment_file import assignments_in
from replica.doctor.preflight.rolling import roll
from replica.doctor.preflight.stopping import stop_brokers, stop_rack
from replica.doctor.preflight.upgrading import downgrade, upgrade
from replica.doctor.preflight.voters import add_voter, remove_voter, to_dynamic
from replica.doctor.verdict.verdict import Verdict
from replica.errors import UsageError
from replica.words import up_to

_MAX_FILE_BYTES = 64 * 1024 * 1024


class Change(NamedTuple):
    """A change that the user plans."""

    runbook: str
    """The runbook about the change."""
    judge: Callable[[ClusterSource], Preflight]
    """Judges the change by a cluster's state and the other facts that were read."""


class _Judged(NamedTuple):
    """The answer about a change. runbook: as in Change."""

    runbook: str
    answer: Preflight


STOP, ROLL, DECOMMISSION = "stop-a-broker", "restart-all-nodes", "take-a-broker-out"
REASSIGN, UPGRADE, VOTERS = "reassign-partitions", "upgrade", "change-the-voters"
DOWNGRADE, MIGRATION = "downgrade", "migrate-from-zookeeper"
RUNBOOKS = (STOP, ROLL, DECOMMISSION, REASSIGN, UPGRADE, DOWNGRADE, VOTERS, MIGRATION)
"""The runbooks about changes."""


def run(options: PlanOptions) -> int:
    """Prints the answers. Returns 0 if every change is safe, 4 if every change is safe and the
    answer about one of them holds only under conditions (needs) that nobody has checked, 1 if a
    change is unsafe, and 3 otherwise. Raises KraftlakeError."""
    changes = _changes(options)
    if not changes:
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
            release = options.downgrade_binaries
            return _judge(lambda: live.source(defaults, release), changes, options)
    asked = asked_cluster(options, "plan")
    wanted = Wanted(verdict=True, read_by=options.downgrade_binaries)
    return _judge(lambda: source_of(asked, defaults, wanted), changes, options)


def _changes(options: PlanOptions) -> list[Change]:
    """The changes that the options of `plan` name. Raises UsageError for a file or a list of ids
    that can't be read."""
    found = [*_of_partitions(options), *_of_nodes(options)]
    if (removed := options.remove_voter) is not None:
        found.append(Change(VOTERS, lambda source: remove_voter(source.cluster, removed)))
    if (added := options.add_voter) is not None:
        found.append(Change(VOTERS, lambda source: add_voter(source.cluster, added)))
    if (release := options.upgrade) is not None:
        found.append(Change(UPGRADE, lambda source: upgrade(source.cluster, release)))
    if (older := options.downgrade) is not None:
        found.append(Change(DOWNGRADE, lambda source: downgrade(source.cluster, older)))
    if (binaries := options.downgrade_binaries) is not None:
        found.append(
            Change(
                DOWNGRADE,
                lambda source: downgrade_binaries(
                    source.cluster, binaries, source.readings, source.not_judged
                ),
            )
        )
    if options.to_dynamic:
        found.append(Change(VOTERS, lambda source: to_dynamic(source.cluster)))
    if options.finish_migration:
        found.append(Change(MIGRATION, lambda source: finish_migration(source.cluster)))
    return found


def _of_partitions(options: PlanOptions) -> Iterator[Change]:
    if (path := options.reassignment) is not None:
        assignments = assignments_in(text_in("--reassignment", path, _MAX_FILE_BYTES), path)
        yield Change(REASSIGN, lambda source: reassign(source.cluster, assignments))


def _of_nodes(options: PlanOptions) -> Iterator[Change]:
    if options.stop_broker is not None:
        stopped = _ids("--stop-broker", options.stop_broker)
        yield Change(STOP, lambda source: stop_brokers(source.cluster, stopped))
    if (rack := options.stop_rack) is not None:
        if not rack.strip():
            raise UsageError("--stop-rack: expected the name of a rack, as in broker.rack")
        yield Change(STOP, lambda source: stop_rack(source.cluster, rack))
    if options.decommission is not None:
        leaving = _ids("--decommission", options.decommission)
        yield Change(DECOMMISSION, lambda source: decommission(source.cluster, leaving))
    if options.roll:
        yield Change(ROLL, lambda source: roll(source.cluster))


def _judge(
    look: Callable[[], ClusterSource], changes: Sequence[Change], options: PlanOptions
) -> int:
    """Judges the changes once, and returns the exit code of `run`. With --while it repeats this
    until all are safe, and prints only one line for an unchanged answer. look: gives the present
    state of directories, a lake or a running quorum."""
    before: tuple[Verdict | None, Sequence[_Judged]] | None = None
    while True:
        source = look()
        cluster, in_json = source.cluster, options.json_output
        found = [_Judged(one.runbook, grounded(one.judge(source), cluster)) for one in changes]
        answer = gravest(one.answer.answer for one in found)
        if before == (source.verdict, found) and not in_json:
            write_line(f"still {answer.value.upper()}, by the state {up_to(cluster.end_offset)}")
        else:
            if source.verdict is not None:
                said = [labelled("plan", plan_line(one.answer)) for one in found]
                write_verdict(source.verdict, json_output=in_json, answer=said)
            _show(found, cluster, options.limit, json_output=in_json)
            for notice in source.notices:
                complain(notice)
        before = source.verdict, found
        is_safe = SAFETY_CODES[answer.value] == 0
        if options.while_s is None or is_safe:
            return _code(found, answer, needs_checked=options.needs_checked)
        time.sleep(options.while_s)


def _code(found: Sequence[_Judged], answer: ChangeSafety, *, needs_checked: bool) -> int:
    is_conditional = any(one.answer.is_conditional for one in found)
    return safety_code(answer.value, is_conditional=is_conditional, needs_checked=needs_checked)


def _show(found: Sequence[_Judged], cluster: Cluster, limit: int, *, json_output: bool) -> None:
    rows = (_row(one, cluster.end_offset) for one in found)
    lines = (line for one in found for line in _described(one, limit))
    write_either(rows, lines, json_output=json_output)


def _row(judged: _Judged, end_offset: int) -> dict[str, object]:
    one = judged.answer
    return {
        "kind": "plan",
        "action": one.action,
        "answer": one.answer.value,
        "is_conditional": one.is_conditional,
        "end_offset": end_offset,
        "reasons": [_reason_row(reason) for reason in one.reasons],
        "needs": list(one.needs),
        "first": list(one.first),
        "order": list(one.order),
        "runbook": judged.runbook,
    }


def _reason_row(reason: Reason) -> dict[str, object]:
    return {
        "answer": reason.answer,
        "subject": reason.subject,
        "detail": reason.detail,
        "offset": reason.offset,
    }


def _described(judged: _Judged, limit: int) -> Iterator[str]:
    one = judged.answer
    yield f"{_headline(one)}{one.action}"
    yield from (f"  first   {step.removeprefix('first ')}" for step in one.first)
    shown = one.reasons[:limit]
    yield from (_line(reason) for reason in shown if not reason.is_of_partition)
    if one.order:
        yield f"  order   {', '.join(map(str, one.order))}"
    yield from (f"  needs   {need}" for need in one.needs)
    yield from (_line(reason) for reason in shown if reason.is_of_partition)
    yield from (f"  {line}" for line in more_line(limit, len(one.reasons)))
    yield f"  runbook {runbook_text(judged.runbook)}"


def _headline(judged: Preflight) -> str:
    """The answer, as it is printed before the change."""
    answer = answer_of(judged)
    # aligned with the marks of the reasons
    return f"{answer:8}" if len(answer) < 8 else f"{answer}: "


_MARKS = {ChangeSafety.SAFE: "note", ChangeSafety.NOTHING_TO_DO: "done"}


def _line(reason: Reason) -> str:
    mark = _MARKS.get(reason.answer, reason.answer.value)
    at = "" if reason.offset is None else f" (offset {reason.offset})"
    return f"  {mark:8}{reason.subject}: {reason.detail}{at}"


def _ids(option: str, texts: Sequence[str]) -> list[int]:
    """The ids in the values of an option. Raises UsageError."""
    return [number for text in texts for number in _ids_of(option, text)]


def _ids_of(option: str, text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise UsageError(f"{option} {text}: expected broker ids with commas between, such as 1,2")
    return tuple(map(int, parts))

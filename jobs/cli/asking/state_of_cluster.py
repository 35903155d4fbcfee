"""`kraftlake state --sizes` and `--exposure`: the numbers of a cluster's entities, and the effect
of failures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from heapq import nsmallest
from itertools import count, groupby
from typing import Any, NamedTuple

from jobs.cli.asking.about import AskedCluster
from jobs.cli.asking.cluster_source import ClusterSource, Wanted, from_directories
from jobs.cli.commands.asking import StateOptions
from jobs.cli.directories.broker_defaults import defaults_in
from jobs.cli.directories.verdict_text import write_verdict
from jobs.cli.output import (
    complain,
    more_line,
    ms_text,
    write_json,
    write_line,
    write_table,
)
from replica.doctor.health.cluster import Beginning, Cluster
from replica.doctor.health.exposure import (
    BROKER,
    MOST_PAIRS,
    NOTHING,
    PAIR,
    RACK,
    VOTER,
    Exposure,
    Failure,
    exposures,
    has_too_many_pairs,
    min_isr_unknown,
)
from replica.doctor.health.sizes import (
    ENTITY,
    RECORD,
    TOPIC,
    EntitySize,
    entity_sizes,
    record_sizes,
    topic_sizes,
)
from replica.doctor.preflight.answer import Preflight
from replica.doctor.preflight.certainty import grounded
from replica.doctor.quorum.conditions import NoLeader
from replica.doctor.quorum.known_voter import VoterDoubt
from replica.doctor.verdict.outage import no_leader
from replica.words import counted, named, up_to

_ROWS = 10
"""The number of rows of each kind that are shown without --limit."""
_SIZE_TITLES = {
    ENTITY: "Entities in the state, by kind",
    TOPIC: "Topics with the most replicas (count: partitions)",
    RECORD: "Records in the log at hand, by type",
}
_TITLES = {
    NOTHING: "Now, with nothing gone",
    RACK: "Once a rack is gone",
    BROKER: "Once a broker is gone",
    PAIR: "Once two brokers are gone",
    VOTER: "Once a voter is gone",
}


def source_of(
    asked: AskedCluster, broker_defaults: Mapping[str, str], wanted: Wanted
) -> ClusterSource:
    """The cluster's state, with the wanted figures. Raises UsageError where the
    state is unknown."""
    if asked.lake is not None:
        from jobs.cli.asking.cluster_in_lake import from_lake  # directories need no delta-rs

        return from_lake(asked.lake, asked, broker_defaults, wanted)
    return from_directories(asked, broker_defaults, wanted)


def run(asked: AskedCluster, options: StateOptions) -> int:
    """Prints the sizes or the exposure. Returns 0. Raises KraftlakeError."""
    wanted = Wanted(content=options.sizes, past=options.since, verdict=options.exposure)
    source = source_of(asked, defaults_in(options.broker_config), wanted)
    show = show_sizes if options.sizes else show_exposure
    code = show(source, limit=options.limit or _ROWS, json_output=options.json_output)
    for notice in source.notices:
        complain(notice)
    if source.cluster.passed_over:
        complain(f"state: passed over: {source.cluster.passed_over}")
    return code


def show_sizes(source: ClusterSource, *, limit: int, json_output: bool) -> int:
    """Prints the sizes. Returns 0. limit: the most topics that are shown in text;
    --json gives all."""
    _where(source)
    sizes: list[EntitySize] = [*entity_sizes(source.entities), *topic_sizes(source.cluster.image)]
    if source.content is not None:
        sizes += record_sizes(source.content)
    if json_output:
        for size in sizes:
            write_json(asdict(size))
        return 0
    for number, (about, group) in enumerate(groupby(sizes, key=lambda size: size.about)):
        rows = [asdict(size) for size in group]
        shown = limit if about == TOPIC else len(rows)
        _section(number, _SIZE_TITLES[about], rows, shown, "about", len(rows))
    return 0


def show_exposure(source: ClusterSource, *, limit: int, json_output: bool) -> int:
    """Prints the verdict, the exposure, and what its figures rest on: in text on stdout, with
    --json on stderr. What holds only with a leader of the quorum is said before the figures.
    Returns 0. limit: the most rows of each kind that are shown in text, the worst first."""
    if source.verdict is not None:
        write_verdict(source.verdict, json_output=json_output)
    since: Mapping[Failure, Beginning] = {} if source.past is None else source.past.exposed
    unled = None if source.verdict is None else no_leader(source.verdict)
    found = exposures(_as_led(source.cluster, unled))
    if json_output:
        for one in found:
            offset, at = since.get(one.failure, (None, None))
            write_json({**_row(one), "since_offset": offset, "since": at})
        for note in (*_of_leader(unled), *_rests_on(source)):
            complain(f"state: {note.column}: {note.text}")
    else:
        for note in _of_leader(unled):
            write_line(f"{note.column:<{_NOTE_WIDTH}}{note.text}")
            write_line("")
        _tables(found, since, limit)
        write_line("")
        for note in _rests_on(source):
            write_line(f"{note.column:<{_NOTE_WIDTH}}{note.text}")
    return 0


class _Note(NamedTuple):
    """What the figures of a column rest on."""

    column: str
    text: str


_NOTE_WIDTH = len("below_min_isr") + 2


def _as_led(cluster: Cluster, unled: NoLeader | None) -> Cluster:
    """The cluster as the verdict sees its quorum: if nobody leads it, no partition gets another
    leader."""
    if unled is None or not unled.is_sure or cluster.quorum is None:
        return cluster
    return replace(cluster, quorum=replace(cluster.quorum, is_leaderless=True))


def _of_leader(unled: NoLeader | None) -> Iterator[_Note]:
    if unled is None:
        return
    if unled.is_sure:
        means = "a partition whose leader is gone gets no other, and counts as leaderless; "
    else:
        means = (
            "the figures below are those with a leader; without one, a partition whose leader is "
            "gone gets no other, and "
        )
    yield _Note("quorum", f"{unled.why}: {means}has_majority says only that voters are left")


def _rests_on(source: ClusterSource) -> Iterator[_Note]:
    cluster, past = source.cluster, source.past
    unknown = min_isr_unknown(cluster)
    if unknown:
        yield _Note(
            "below_min_isr",
            f"? where it depends on {counted(unknown, 'partition')} whose min.insync.replicas no "
            "log holds: --broker-config server.properties gives the default",
        )
    if has_too_many_pairs(cluster):
        live = len(cluster.live_brokers)
        yield _Note(
            "gone",
            f"without pairs of brokers: {live} live brokers, or the replicas of the partitions, "
            f"make more than {MOST_PAIRS}",
        )
    if past is not None and past.unknown:
        yield _Note(
            "since",
            f"not known of {counted(past.unknown, 'failure')}: that was so already where the log "
            "begins, or the log can't be replayed to its end",
        )
    yield from (_Note("voters_left", text) for text in _of_voters(cluster))
    ground = grounded(Preflight("", ()), cluster)
    for doubt in ground.reasons:
        subject = "" if doubt.subject == "state" else f"{doubt.subject}: "
        yield _Note("state", f"{subject}{doubt.detail}")
    yield from (_Note("needs", need) for need in ground.needs)


def _tables(found: Iterable[Exposure], since: Mapping[Failure, Beginning], limit: int) -> None:
    """Prints a table for each kind of failure. Beside a number of partitions without leader is the
    number of those that have none now."""
    leaderless = 0
    for number, (kind, group) in enumerate(groupby(found, key=lambda one: one.failure.kind)):
        worst, number_of = _worst(group, limit)
        rows = [
            {
                **_row(one),
                "below_min_isr": _below(one),
                "known_below_min_isr": None,
                "since": _began(since.get(one.failure)),
            }
            for one in worst
        ]
        if kind == NOTHING:
            leaderless = worst[0].harm.leaderless
        elif leaderless:
            for row in rows:
                row["leaderless"] = f"{row['leaderless']} ({leaderless} now)"
        _section(number, _TITLES[kind], rows, limit, "kind", number_of)


def _of_voters(cluster: Cluster) -> Iterator[str]:
    """Sentences about the voters: which of them are counted for a majority, of which of these no
    directory was given, and why the other voters are not counted."""
    left = cluster.voters_up
    if left:
        told = f"counts {_voters(left)}, of which no log shows that they run"
        absent = () if cluster.quorum is None else cluster.quorum.in_doubt(VoterDoubt.NOT_GIVEN)
        if unseen := sorted(left.intersection(voter.key.node_id for voter in absent)):
            told += f"; no directory of {_voters(unseen)} was given"
        yield told
    for what, voters in (
        ("counted as down: the broker of the same node is fenced", cluster.voters_down),
        ("not counted, for the reason that is given below", cluster.unreliable_voters),
        (
            "not counted: their logs end together before the newest log does, as if they had "
            "stopped. Directories that were copied earlier look the same: `kraftlake check` says "
            "more",
            cluster.stopped_together,
        ),
        (
            "not counted: as of its log it is behind, so it is no part of a majority yet",
            (cluster.voters & cluster.late_nodes) - cluster.unreliable_voters,
        ),
    ):
        if voters:
            yield f"{_voters(voters)}: {what}"


def _voters(voters: Iterable[int]) -> str:
    return named("voter", [str(one) for one in sorted(voters)])


def _worst(group: Iterable[Exposure], limit: int) -> tuple[list[Exposure], int]:
    """The worst `limit` of a group, at least one, and the size of the group. The other elements
    aren't kept in memory."""
    # zip takes one element and one number each, and no number after the last element
    numbers = count()
    passing = (one for one, _ in zip(group, numbers, strict=False))
    return nsmallest(max(limit, 1), passing, key=_worst_first), next(numbers)


def _where(source: ClusterSource) -> None:
    cluster = source.cluster
    complain(f"state: of cluster {cluster.cluster_id} {up_to(cluster.end_offset)}")
    if not cluster.is_whole:
        complain(f"state: {cluster.file}: the log has later records, which can't be replayed")
    quorum = cluster.quorum
    missing = () if quorum is None else quorum.in_doubt(VoterDoubt.NOT_GIVEN)
    if missing:
        voters = named("voter", [str(voter.key.node_id) for voter in missing])
        complain(f"state: not given: the directory of {voters}, which may hold newer records")


def _row(exposure: Exposure) -> dict[str, Any]:
    harm = exposure.harm
    return {
        "kind": exposure.failure.kind,
        "gone": list(exposure.failure.gone),
        **harm._asdict(),
        "below_min_isr": None if exposure.may_be_below else harm.below_min_isr,
        "known_below_min_isr": harm.below_min_isr,
        "voters_left": exposure.voters_left,
        "has_majority": exposure.has_majority,
    }


def _below(exposure: Exposure) -> int | str:
    """The text of the column below_min_isr: the number of partitions, or `?` if it is unknown."""
    known = exposure.harm.below_min_isr
    if not exposure.may_be_below:
        return known
    return f"{known} or more" if known else "?"


def _began(since: Beginning | None) -> str | None:
    if since is None:
        return None
    at = "" if since.at is None else f", {ms_text(since.at)}"
    return f"offset {since.offset}{at}"


def _worst_first(exposure: Exposure) -> tuple[Any, ...]:
    """The sort key: failures without a majority first, then by the number of partitions without a
    leader, then by the number of partitions below min.insync.replicas."""
    harm = exposure.harm
    return (
        exposure.has_majority is not False,
        -harm.leaderless,
        -harm.needs_unclean,
        -harm.below_min_isr,
        -exposure.may_be_below,
    )


def _section(
    number: int, title: str, rows: Sequence[dict[str, Any]], limit: int, left_out: str, total: int
) -> None:
    """Prints a table below its title, without the column `left_out` and without columns that have
    no value. An empty line comes before each section except section 0. total: the number of rows,
    where `rows` has only the first rows."""
    columns = [
        name for name in rows[0] if name != left_out and any(row[name] is not None for row in rows)
    ]
    if number:
        write_line("")
    write_line(f"{title}:")
    cells = (
        [", ".join(v) if isinstance(v := row[name], list) else v for name in columns]
        for row in rows[:limit]
    )
    write_table(columns, cells)
    for line in more_line(limit, total):
        write_line(line)

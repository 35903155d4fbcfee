"""`kraftlake state --exposure`: the effect of failures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import count, groupby
from typing import Any, NamedTuple

from jobs.cli.asking.cluster_source import ClusterSource
from jobs.cli.asking.exposure_line import exposure_line, worst_first
from jobs.cli.directories.verdict_text import labelled, write_verdict
from jobs.cli.output import complain, more_line, ms_text, write_json, write_line, write_section
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
from replica.doctor.preflight.answer import QUORUM, ChangeSafety, Preflight
from replica.doctor.preflight.certainty import grounded
from replica.doctor.quorum.conditions import NoLeader
from replica.doctor.quorum.histories import histories_text
from replica.doctor.quorum.known_voter import VoterDoubt
from replica.words import counted, named

_TITLES = {
    BROKER: "Once a broker is gone",
    RACK: "Once a rack is gone",
    PAIR: "Once two brokers are gone",
    VOTER: "Once a voter is gone",
}
"""The titles of the tables, in the order in which they are printed."""
_NOW = "Now, with nothing gone"
_NOW_TOO = "Now (none is gone), and once a broker is gone"


def show_exposure(source: ClusterSource, *, limit: int, json_output: bool) -> int:
    """Prints the verdict with the answer in one line, then the exposure, then the facts on which
    its figures depend. All is text on stdout; with --json the exposure is rows of JSON there, and
    the rest goes to stderr. Returns 0. limit: the most rows of each kind that are shown in text,
    the worst first."""
    since: Mapping[Failure, Beginning] = {} if source.past is None else source.past.exposed
    cluster = source.cluster
    if not_judged := _of_two_histories(cluster):
        _verdict(source, [labelled("exposure", not_judged)], json_output=json_output)
        if json_output:
            complain(f"state: exposure: {not_judged}")
        return 0
    if json_output:
        _verdict(source, [], json_output=True)
        for one in exposures(cluster):
            offset, at = since.get(one.failure, (None, None))
            write_json({**_row(one), "since_offset": offset, "since": at})
        for note in _rests_on(source):
            complain(f"state: {note.column}: {note.text}")
        return 0
    found = _Found.of_all(exposures(cluster), limit)
    ground = grounded(Preflight("", ()), cluster)
    line = exposure_line(
        cluster,
        found.now,
        found.of[BROKER],
        found.of[VOTER],
        is_conditional=bool(ground.needs) or ground.answer is not ChangeSafety.SAFE,
    )
    _verdict(source, [labelled("exposure", line)], json_output=False)
    _tables(found, since, limit)
    write_line("")
    for note in _rests_on(source):
        write_line(f"{note.column:<{_NOTE_WIDTH}}{note.text}")
    return 0


def _of_two_histories(cluster: Cluster) -> str:
    """Why nothing is judged where the logs have two histories; "" where they have one."""
    if cluster.quorum is None or not cluster.quorum.is_conflicting:
        return ""
    why = "different records of one offset are proven to be committed"
    if cluster.quorum.conflicts:
        why = histories_text(cluster.quorum.conflicts)
    return (
        f"Not judged: {why}. Choose the history first, and start no node before: `kraftlake "
        "recover --plan` with the same directories says more."
    )


def _verdict(source: ClusterSource, answer: Sequence[str], *, json_output: bool) -> None:
    if source.verdict is not None:
        write_verdict(source.verdict, json_output=json_output, answer=answer)
        return
    for line in answer:
        write_line(line)


class _Found(NamedTuple):
    """The exposures that the text is about."""

    now: Exposure
    of: Mapping[str, Sequence[Exposure]]
    """The exposures by the kind of failure. Pairs of brokers have only their worst exposures here,
    the other kinds all of theirs."""
    totals: Mapping[str, int]
    """The number of the exposures of each kind."""

    @staticmethod
    def of_all(found: Iterable[Exposure], limit: int) -> _Found:
        """The exposures by kind. limit: the most pairs to keep in memory, the worst ones."""
        of: dict[str, Sequence[Exposure]] = dict.fromkeys((NOTHING, *_TITLES), ())
        totals = dict.fromkeys(of, 0)
        for kind, group in groupby(found, key=lambda one: one.failure.kind):
            if kind == PAIR:
                # zip takes one element and one number each, and no number after the last element
                numbers = count()
                passing = (one for one, _ in zip(group, numbers, strict=False))
                of[kind] = nsmallest(max(limit, 1), passing, key=worst_first)
                totals[kind] = next(numbers)
            else:
                of[kind] = tuple(group)
                totals[kind] = len(of[kind])
        return _Found(of[NOTHING][0], of, totals)


def _tables(found: _Found, since: Mapping[Failure, Beginning], limit: int) -> None:
    """Prints a table for each kind of failure. The first row of the first table is the present
    state. After each number of harmed partitions comes the number of those that are harmed
    already."""
    already = {name: count for name, count in found.now.harm._asdict().items() if count}
    now = _text_row(found.now, since) | {"gone": ["none"]}
    for kind, title in _TITLES.items():
        worst = nsmallest(max(limit, 1), found.of[kind], key=worst_first)
        rows = [_text_row(one, since) for one in worst]
        for row in rows:
            row |= {name: f"{row[name]} ({count} now)" for name, count in already.items()}
        if kind == BROKER:
            title = _NOW_TOO if rows else _NOW
            rows = [now, *rows]
        elif not rows:
            continue
        else:
            write_line("")
        write_section(title, rows, left_out="kind")
        for line in more_line(len(worst), found.totals[kind]):
            write_line(line)


def _text_row(one: Exposure, since: Mapping[Failure, Beginning]) -> dict[str, Any]:
    return {
        **_row(one),
        "below_min_isr": _below(one),
        "known_below_min_isr": None,
        "since": _began(since.get(one.failure)),
    }


class _Note(NamedTuple):
    """A sentence about the figures in a column: what they depend on, or why they are unknown."""

    column: str
    text: str


_NOTE_WIDTH = len("below_min_isr") + 2


def _of_leader(unled: NoLeader | None) -> Iterator[_Note]:
    if unled is None:
        return
    if unled.is_sure:
        means = "a partition whose leader is gone gets no other, and counts as leaderless; "
    else:
        means = (
            "the figures above are those with a leader; without one, a partition whose leader is "
            "gone gets no other, and "
        )
    yield _Note("quorum", f"{unled.why}: {means}has_majority says only that voters are left")


def _rests_on(source: ClusterSource) -> Iterator[_Note]:
    cluster, past = source.cluster, source.past
    yield from _of_leader(cluster.no_leader)
    unknown = min_isr_unknown(cluster)
    if unknown:
        yield _Note(
            "below_min_isr",
            f"? where it depends on {counted(unknown, 'partition')} whose min.insync.replicas no "
            "log holds: --broker-config server.properties gives the default",
        )
    if cluster.voters & cluster.live_brokers and cluster.no_leader is None:
        yield _Note(
            "leaderless",
            "where has_majority is false, nobody elects another leader for the partitions that the "
            "failed brokers lead: all of these count",
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
        if doubt.subject == QUORUM:
            continue  # see _of_leader
        subject = "" if doubt.subject == "state" else f"{doubt.subject}: "
        yield _Note("state", f"{subject}{doubt.detail}")
    yield from (_Note("needs", need) for need in ground.needs)


def _of_voters(cluster: Cluster) -> Iterator[str]:
    """Sentences about the voters: which voters are counted for a majority, which counted voters
    have no directory here, and why the other voters are not counted."""
    left = cluster.voters_up
    if left:
        told = f"counts {_voters(left)}, of which no log shows that they run"
        absent = () if cluster.quorum is None else cluster.quorum.in_doubt(VoterDoubt.NOT_GIVEN)
        if unseen := sorted(left.intersection(voter.key.node_id for voter in absent)):
            told += f"; no directory of {_voters(unseen)} was given"
        yield told
    for what, voters in (
        (
            "counted as down: the broker of the same node is fenced",
            cluster.voters_down - cluster.down_unfenced,
        ),
        (
            "counted as down, with the broker of the same node: it stopped, or reaches no other "
            "voter, by the verdict",
            cluster.down_unfenced - cluster.stopped_together,
        ),
        ("not counted, for the reason that is given below", cluster.unreliable_voters),
        (
            "not counted: their logs end together before the newest log does, as if they had "
            "stopped. Directories that were copied earlier look the same: `kraftlake check` says "
            "more",
            cluster.stopped_together,
        ),
        (
            "not counted: as of its log it is behind, so it is no part of a majority yet",
            (cluster.voters & cluster.late_nodes)
            - cluster.unreliable_voters
            - cluster.down_unfenced,
        ),
    ):
        if voters:
            yield f"{_voters(voters)}: {what}"


def _voters(voters: Iterable[int]) -> str:
    return named("voter", [str(one) for one in sorted(voters)])


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
    """The text of the column below_min_isr: the number of partitions; `2 or more` or `?` where the
    number is not known exactly."""
    known = exposure.harm.below_min_isr
    if not exposure.may_be_below:
        return known
    return f"{known} or more" if known else "?"


def _began(since: Beginning | None) -> str | None:
    if since is None:
        return None
    at = "" if since.at is None else f", {ms_text(since.at)}"
    return f"offset {since.offset}{at}"

"""The clauses of the report about what happened to metadata logs: logs that conflict, and records
that nodes lost or would lose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from pipelines.report.clause import Clause
from pipelines.report.divergences import Parting
from pipelines.report.losses import MAX_LOSSES_TOLD, LostRecordCount, When
from pipelines.report.meaning import Effect, made_text, never_made_text, unknown_text
from pipelines.report.report_facts import ReportFacts
from pipelines.report.rounds import Rounds
from pipelines.report.words import span
from replica.doctor.check.catalogue.groups import COMMITTED_DATA_AT_RISK, CONFLICT, LOG_DIVERGENCE
from replica.doctor.verdict.verdict import Level
from replica.words import counted, listed, ms_range_text, ms_text, named

_records = partial(counted, noun="record")
_MAX_CONFLICTS = 3
_OF_LOSSES = frozenset({LOG_DIVERGENCE.id, COMMITTED_DATA_AT_RISK.id})


def happened_to_logs(facts: ReportFacts) -> Iterator[Clause]:
    """What happened to the logs, the conflicts first. Conflicts and losses that check's verdict
    tells of aren't repeated: to these, the clauses only add the times and the meaning of the
    records."""
    yield from _conflicts(facts)
    yield from _losses(facts)
    untold = [one for one in facts.losses if not _is_told(one, facts)]
    if untold:
        yield from _commitment(untold, facts)
    elif not facts.losses and facts.may_reassure:
        yield Clause(Level.HEALTHY, "no capture shows a node whose metadata log lost records")


def _conflicts(facts: ReportFacts) -> Iterator[Clause]:
    found = [one for one in facts.partings if one.is_conflict]
    if CONFLICT.id in facts.told_now:
        now = [one for one in found if one.is_latest]
        yield from (_times(one) for one in now[:1] if one.since_ms is not None)
        found = [one for one in found if not one.is_latest]
    for parting in found[:_MAX_CONFLICTS]:
        sides = [facts.names.nodes(one.replicas, limit=5) for one in parting.branches]
        since = parting.since_ms
        when = "" if since is None else f"(written {ms_text(since)}) "
        yield Clause(
            Level.AT_RISK,
            f"from offset {parting.offset} on {when}{listed(sides)} hold different records under "
            f"one epoch ({parting.branches[0].epoch}), which no run of Raft leaves",
        )
    if len(found) > _MAX_CONFLICTS:
        yield Clause(Level.AT_RISK, f"{len(found) - _MAX_CONFLICTS} more conflicts")


def _times(parting: Parting) -> Clause:
    """A clause that says when the first differing records of a conflict were written."""
    return Clause(
        Level.AT_RISK,
        f"the first records that differ (from offset {parting.offset} on, epoch "
        f"{parting.branches[0].epoch}) were written {ms_text(parting.since_ms)}",
    )


def _losses(facts: ReportFacts) -> Iterator[Clause]:
    for loss in facts.losses[:MAX_LOSSES_TOLD]:
        if _is_told(loss, facts):
            yield from _more(loss, facts)
        else:
            yield Clause(_level(loss), _lost(loss, facts))
    left = facts.losses[MAX_LOSSES_TOLD:]
    if left:
        worst = min((_level(loss) for loss in left), key=lambda one: one.rank)
        yield Clause(worst, f"{len(left)} more cases of records lost, or to be lost")


def _level(loss: LostRecordCount) -> Level:
    if loss.committed:
        return Level.ATTENTION if loss.is_kept else Level.AT_RISK
    open_ = loss.unproven or loss.when is not When.GONE
    return Level.ATTENTION if open_ else Level.RECOVERED


def _lost(loss: LostRecordCount, facts: ReportFacts) -> str:
    one = len(loss.replicas) == 1
    who = facts.names.nodes(loss.replicas, limit=5)
    what = f"{_records(loss.records)} ({_where(loss)})"
    them = "it" if loss.records == 1 else "them"
    if loss.is_kept:
        return (
            f"the copy of {who} went back by {what}, of which {loss.committed} were committed: "
            "other nodes keep these"
        )
    known = loss.effect or Effect()
    if loss.superseded == loss.records:
        what += " that were never committed" if loss.records > 1 else " that was never committed"
        more = never_made_text(known)
        meaning = f": {more}" if more else ""
    else:
        told, more = made_text(known), unknown_text(known)
        tell = "tells" if loss.records == 1 else "tell"
        what += f", {loss.committed} of them proven committed" if loss.committed else ""
        what += f", which {tell} of {told}" if told else ""
        what += "," * bool(loss.committed or told)
        meaning = f" ({more})" if more else ""
    if loss.when is When.GONE:
        has, between = "has" if one else "have", _between(loss, facts.rounds)
        return f"{who} held {what} and {has} discarded {them} {between}{meaning}"
    if loss.when is When.PENDING:
        verb = "holds" if one else "hold"
        return f"{who} {verb} {what} and will discard {them}{meaning}"
    what = what.removesuffix(",")
    return f"{who} held {what}, and no capture shows what became of {them}{meaning}"


def _is_told(loss: LostRecordCount, facts: ReportFacts) -> bool:
    """Whether check's verdict on the newest captures tells of this loss."""
    return loss.when is When.PENDING and not facts.told_now.isdisjoint(_OF_LOSSES)


def _more(loss: LostRecordCount, facts: ReportFacts) -> Iterator[Clause]:
    """When the records were written that check's verdict says to be lost, and what they mean."""
    known = loss.effect or Effect()
    is_void = loss.superseded == loss.records
    told = never_made_text(known) if is_void else made_text(known)
    one = loss.records == 1
    who = facts.names.nodes(loss.replicas, limit=5)
    which = f"the {_records(loss.records)} that {who} would discard ({_place(loss)})"
    if known.written_ms is not None:
        which += f" {'was' if one else 'were'} written {ms_range_text(*known.written_ms)}"
    if told and is_void:
        yield Clause(_level(loss), f"{which}: {told}")
    elif told:
        yield Clause(_level(loss), f"{which}, and tell{'s' * one} of {told}")
    elif known.written_ms is not None:
        yield Clause(_level(loss), which)


def _between(loss: LostRecordCount, rounds: Rounds) -> str:
    """The time of the last capture with the records, and of the first capture that shows them to be
    gone."""
    if loss.between is None:
        return "since"
    last, gone = loss.between
    if last is None:
        return f"before {rounds.short(gone)}"
    return f"between {rounds.short(last)} and {rounds.short(gone)}"


def _where(loss: LostRecordCount) -> str:
    """The offsets, epochs and times of the records. A truncated run has no gaps; other lost records
    may have gaps, so only their first offset is named."""
    where = _place(loss)
    times = None if loss.effect is None else loss.effect.written_ms
    return where if times is None else f"{where}, written {ms_range_text(*times)}"


def _place(loss: LostRecordCount) -> str:
    """The offsets and epochs of the records."""
    where = f"from offset {loss.first} on"
    if loss.when is When.GONE:
        where = span(loss.first, loss.first + loss.records)
    return f"{where}, {named('epoch', [str(one) for one in loss.epochs], limit=5)}"


def _commitment(found: Sequence[LostRecordCount], facts: ReportFacts) -> Iterator[Clause]:
    """Clauses that say how sure it is that no committed record was lost."""
    unproven = max(loss.unproven for loss in found)
    if unproven:
        told = f"nothing here proves whether {unproven} of them were committed"
        yield Clause(Level.ATTENTION, told)
    if facts.may_reassure:
        is_open = all(loss.when is When.PENDING for loss in found)
        verb = "would be" if is_open else "was"
        yield Clause(Level.HEALTHY, f"no committed record of the metadata log {verb} lost")

"""The step that brings partitions without leader back: which broker starts first, what that brings,
and which controllers have to run before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replica.doctor.check.rule import Finding
from replica.doctor.health.absent import MAY_RUN, find_out_why
from replica.doctor.health.copy_first import start_conditions
from replica.doctor.health.returning import Returning
from replica.doctor.verdict.evidence import ClusterEvidence
from replica.doctor.verdict.lost_directories import brokers_in
from replica.model.voters import majority
from replica.words import named

_SHOWN = 5
_RAN_ON_MS = 30_000
"""If the log goes on for longer than this after the last partition lost its leader, then the
controllers ran on when the brokers had stopped."""


def start_of_brokers(
    down: Sequence[str], leaderless: int, evidence: ClusterEvidence, copy: str | None
) -> str:
    """The sentences that say how to start these brokers. A broker that was fenced without a
    shutdown may be running: then they say to find out why it can't reach the controllers.

    leaderless: the number of partitions without leader. copy: the sentence before them about what
    has to be copied, or ""; None where that was copied, and the controllers run.
    """
    order = _in_order(down, evidence)
    before = "" if copy is None else _controllers_first(down, leaderless, evidence)
    is_then = bool(copy or start_conditions(evidence.copy_first))
    start = "Then start" if is_then else "Start"
    cut_off = [one for one in down if evidence.absent.get(int(one)) in MAY_RUN]
    why = find_out_why(cut_off)
    if order:
        first = "" if is_then else " first"
        rest = named("broker", [*_rest(order, down)], limit=_SHOWN)
        told = f"{start} broker {order[0].broker}{first}: it {_leads(order[0], leaderless)}. "
        told = f"{before}{told}Then start {rest}."
    else:
        told = f"{before}{start} {named('broker', down, limit=_SHOWN)}"
        if cut_off and len(cut_off) == len(down):
            return f"{told}, or {why}.{_doubt(down, evidence)}"
        told = f"{told}."
    if not cut_off:
        return told
    runs = "runs" if len(cut_off) == 1 else "run"
    return f"{told} If {named('broker', cut_off, limit=_SHOWN)} {runs}, {why}."


def of_no_start(
    leaderless: Sequence[Finding],
    down: Sequence[str],
    evidence: ClusterEvidence,
    *,
    is_first: bool,
) -> str:
    """The sentences about brokers that are down, for the case that their start gives none of these
    partitions a leader, or that other sentences say how the partitions get one. down: the ids of
    the brokers. is_first: whether nothing comes before the start."""
    up = sorted({one for finding in leaderless for one in brokers_in(finding)}, key=int)
    brokers = named("broker", down, limit=_SHOWN)
    if evidence.emptied:
        return f"{'Start' if is_first else 'Then start'} {brokers}."
    told = f"The start of {brokers} gives none of these partitions a leader"
    if not up:
        return f"{told}: {leaderless[0].rule.next_step}"
    waits = named("broker", up, limit=_SHOWN)
    are, they, have = ("are", "they", "have") if len(up) > 1 else ("is", "it", "has")
    return (
        f"The next broker that comes up, {brokers} too, gives them a leader: they wait for "
        f"{waits}, which {are} registered and up. See before that {they} {have} their records."
    )


def _in_order(down: Sequence[str], evidence: ClusterEvidence) -> tuple[Returning, ...]:
    """The brokers whose start gives partitions a leader, in the order in which to start them. Empty
    where the order doesn't matter: with a single broker, and if so many of the brokers are also
    voters that the other voters are no majority."""
    running = [one for one in evidence.voters if one not in down]
    if len(down) < 2 or len(running) < majority(len(evidence.voters)) * bool(evidence.voters):
        return ()
    return tuple(one for one in evidence.returning if one.partitions and str(one.broker) in down)


def _leads(first: Returning, leaderless: int) -> str:
    what = f"{first.partitions} of the {leaderless} partitions"
    if first.partitions >= leaderless:
        what = {1: "the partition", 2: "both partitions"}.get(
            leaderless, f"all {leaderless} partitions"
        )
    return f"can lead {what}" if first.is_sure else f"may be able to lead {what}"


def _rest(order: Sequence[Returning], down: Sequence[str]) -> Iterator[str]:
    """The brokers after the first one, such as `13 (2 more)`."""
    for one in order[1:]:
        yield f"{one.broker} ({'' if one.is_sure else 'perhaps '}{one.partitions} more)"
    told = {str(one.broker) for one in order}
    yield from (one for one in down if one not in told)


def _doubt(down: Sequence[str], evidence: ClusterEvidence) -> str:
    """A sentence that the start of a broker that crashed may bring no leader, or one without
    records; "" without such a doubt, or where the conditions of the start say so."""
    if (
        len(down) == 1
        and not start_conditions(evidence.copy_first)
        and any(
            one.partitions and not one.is_sure and str(one.broker) in down
            for one in evidence.returning
        )
    ):
        return (
            " If it crashed, its start may bring no leader back; from an empty disk it may bring a "
            "leader without any record."
        )
    return ""


def _controllers_first(down: Sequence[str], leaderless: int, evidence: ClusterEvidence) -> str:
    """A sentence for the case that the controllers are stopped, too: no broker comes back before a
    majority of them runs. A voter whose disk is in doubt stays stopped. "" where the log shows that
    the controllers ran on, or where one of these brokers is a voter, too."""
    since, state = evidence.leaderless, evidence.state
    if not evidence.partitions or leaderless < evidence.partitions or since is None:
        return ""
    if state is None or state.at_ms is None or state.at_ms - since.last_ms > _RAN_ON_MS:
        return ""
    is_too_few = len(evidence.reliable) < majority(len(evidence.voters))
    if not evidence.voters or is_too_few or not set(evidence.voters).isdisjoint(down):
        return ""
    nodes = named("node", evidence.reliable, limit=_SHOWN)
    return f"If the controllers are stopped, start {nodes} before the brokers. "

"""Texts about the times during which partitions refused writes: which partitions, when and why, and
what to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from replica.doctor.health.refusals import Fencing, Missing, Refusal
from replica.doctor.health.signs_of_life import FENCED_LATER
from replica.shell_text import line
from replica.words import counted, duration_text, listed, named, shortened

_MAX_NAMED, _MAX_TIMES = 3, 3
_WAITED = (
    "In the seconds before, such writes may have had no answer: the leader waited for the missing "
    "replicas"
)


def who_refused(one: Refusal) -> str:
    """The names of the partitions, such as `orders-0 and orders-1`; if they are many, or not all
    known, the largest number of them at one time."""
    is_all = len(one.outage.first) == one.outage.most
    if is_all and one.names and len(one.names) <= _MAX_NAMED:
        return listed([shortened(name) for name in one.names])
    return f"up to {counted(one.outage.most, 'partition')}"


def _over(found: Sequence[Refusal]) -> Sequence[Refusal]:
    """The refusals that have ended. The verdict reports the others."""
    return [one for one in found if one.outage.ended is not None]


def refused_text(found: Sequence[Refusal], when: Callable[[int], str]) -> str:
    """Sentences about the latest refusals that have ended; "" if none has ended. when: gives the
    words for a time of the log in ms since 1970."""
    shown = _over(found)[-_MAX_TIMES:]
    if not shown:
        return ""
    told = [
        f"to {who} {listed([_span(one, when) for one in together])}"
        for who, together in groupby(shown, who_refused)
    ]
    left = len(_over(found)) - len(shown)
    earlier = f" ({counted(left, 'earlier time')} not shown)" if left else ""
    brokers = sorted({one.broker for each in shown for one in each.missing})
    names = named("broker", [str(one) for one in brokers], limit=_MAX_NAMED)
    missing = f", those on {names} were missing" if brokers else ""
    return (
        f"writes with acks=all {'; '.join(told)}{earlier}: too few replicas were in sync{missing}. "
        f"{_WAITED}"
    )


def refused_step(found: Sequence[Refusal], when: Callable[[int], str]) -> str:
    """What to do after partitions refused writes: look at each broker that was missing, and set a
    lowered min.insync.replicas back. "" if there is nothing to do, or if a partition still refuses
    writes. found, when: as for refused_text."""
    if not found or len(_over(found)) < len(found):
        return ""
    missing = [one for each in found for one in each.missing]
    brokers = sorted({one.broker for one in missing})
    steps = [
        _look_at(broker, [one for one in missing if one.broker == broker], when)
        for broker in brokers[:_MAX_NAMED]
    ]
    if left := len(brokers) - len(steps):
        steps.append(f"So for {counted(left, 'more broker')}.")
    if lowered := [one.outage.ended.at for one in found if one.was_lowered and one.outage.ended]:
        steps.append(
            f"Writes are accepted since min.insync.replicas was changed at "
            f"{time_shown(lowered[-1], when)}, by fewer replicas than before: set it back once the "
            "replicas are in sync."
        )
    return " ".join(steps)


def _span(one: Refusal, when: Callable[[int], str]) -> str:
    began, ended = one.outage.began.at, None if one.outage.ended is None else one.outage.ended.at
    told = f"from {time_shown(began, when)} until {time_shown(ended, when)}"
    if began is None or ended is None or ended < began:
        return told
    return f"{told} ({duration_text(ended - began)})"


def time_shown(at: int | None, when: Callable[[int], str]) -> str:
    """A time of the log, in ms since 1970, as words; None is an unknown time."""
    return "an unknown time" if at is None else when(at)


def _look_at(broker: int, missing: Sequence[Missing], when: Callable[[int], str]) -> str:
    """A sentence for each way in which the broker came to be missing."""
    found = dict.fromkeys(one.fencing for one in missing if one.fencing is not None)
    told = [*_told([*found], when)]
    if not told:
        told = [
            "its replicas fell behind while it was not fenced: its disk, its network or its load "
            "may be the cause"
        ]
    return f"Look at broker {broker}: {'; '.join(told)}."


def _told(found: Sequence[Fencing], when: Callable[[int], str]) -> Iterator[str]:
    silent = [one for one in found if not one.is_asked]
    for is_back, is_restarted, how in (
        (True, False, "came back without a restart, as the same process: a long pause of it "
         "(garbage collection, a host that stood still), its disk or its network"),
        (True, True, "came back as a new process: it had crashed or was killed, and its log and "
         "the host's say why"),
        (False, False, "is still fenced: start it, or find out why it can't reach the controllers"),
    ):  # fmt: skip
        alike = [
            one
            for one in silent
            if (one.back is not None) is is_back and (one.is_restarted and is_back) is is_restarted
        ]
        if alike:
            times = [time_shown(one.fenced.at, when) for one in alike]
            often = f"{len(alike)} times " if len(alike) > 1 else ""
            yield (
                f"it missed its heartbeats and was fenced {often}(at "
                f"{listed(times, limit=_MAX_TIMES)}; {FENCED_LATER}), and {how}"
            )
    asked = [time_shown(one.fenced.at, when) for one in found if one.is_asked]
    if asked:
        plan = line("kraftlake", "plan", "--stop-broker", "N")
        yield (
            f"it was shut down in order (fenced at {listed(asked, limit=_MAX_TIMES)}) and was "
            f"away: before a stop `{plan}` says what is left without it"
        )

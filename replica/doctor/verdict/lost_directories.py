"""Texts about log directories that brokers have lost, and that may hold the only copy of records.
They say which disks to keep before any start."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from replica.doctor.check.catalogue import health
from replica.doctor.check.rule import Finding
from replica.doctor.health.emptied import (
    Emptied,
    to_stop,
    what_remains,
    what_stops,
    why_stopped,
)
from replica.doctor.health.returning import run_on
from replica.doctor.verdict.evidence import ClusterEvidence
from replica.doctor.verdict.verdict import Fact
from replica.metadata.image.partition import topic_of
from replica.words import counted, listed, named, shortened

_SHOWN, _NAMED = 5, 3
_STARTS = {health.SINGLE_ISR.id, health.UNDER_REPLICATED.id, health.FENCED_BROKER.id}
"""The rules whose next step starts brokers."""
_NEW = (
    "The log directory of {} is new, and the former one is gone, as after an installation on a new "
    "disk: it may have none of these records."
)


def brokers_in(finding: Finding, only: Collection[str] | None = None) -> tuple[str, ...]:
    """The ids of the brokers that a finding names: in the subjects' names, such as `broker 11`, or
    in their details, such as `on broker 3, in a directory that was lost`. only: the names of the
    subjects that count; None for all."""
    found: dict[str, None] = {}
    for subject in finding.subjects:
        if only is not None and subject.name not in only:
            continue
        text = subject.name if subject.name.startswith("broker ") else subject.what
        words = text.replace(",", " ").split()
        if "broker" in words[:-1]:
            found[words[words.index("broker") + 1]] = None
    return tuple(sorted(found, key=lambda name: (len(name), name)))


def steps_around_lost(
    lost: Sequence[str],
    down: Collection[str],
    start: str,
    leaderless: int,
    evidence: ClusterEvidence,
) -> Iterator[str]:
    """Sentences that say how to keep and repair the log directories for which partitions without a
    leader wait, and the step that starts other brokers between them.

    lost: the brokers of these directories. down: the brokers that don't run. start: the step that
    starts brokers; "" without one. leaderless: the number of partitions without leader.
    """
    brokers, own = named("broker", lost, limit=_SHOWN), not run_on(lost, down)
    them = "the broker" if len(lost) == 1 else "the brokers"
    again = "start" if set(lost) <= set(down) else "restart"
    led = sum(one.partitions for one in evidence.returning)
    which = f" {leaderless - led} of the {leaderless} partitions" if led else ""
    why = f": no other replica may lead{which}" if led < leaderless or not led else ""
    yield (
        f"Keep the files of the disk of {brokers} that is offline{why}. Do not {again} {them} "
        "without that disk, be it taken out of log.dirs or with an empty one in its place: such a "
        f"{again} may bring leaders without any record, and other replicas then delete theirs."
    )
    if start and not own:
        it = "it" if len(lost) == 1 else "them"
        first = f"{start[0].lower()}{start[1:]}"
        yield f"Leave {brokers} running. Before any restart of {it}: {first}"
    then = "Then repair" if start and not own else "Repair"
    yield f"{then} the disk (a full disk only needs room), and {again} {them} with it."
    yield from _in_restart(lost, evidence)
    if start and own:
        yield start


def still_refusing_text(
    refused: Sequence[str], start: str, evidence: ClusterEvidence
) -> tuple[str, frozenset[str]]:
    """(sentences that say which of these partitions accept writes after the start of brokers, the
    brokers whose disks the others wait for). The second has "" for a partition that waits for
    something else. start: the brokers, such as `broker 14`."""
    still = {one: evidence.still_refusing[one] for one in refused if one in evidence.still_refusing}
    if not still:
        told = f" The start of {start} ends this, too: don't lower min.insync.replicas."
        return told, frozenset()
    told = ""
    if ended := [one for one in refused if one not in still]:
        told = f" The start of {start} ends this for {_listed(ended)}, too."
    waiting = [one for one, brokers in still.items() if brokers]
    of_disks = sorted({one for brokers in still.values() for one in brokers})
    if waiting:
        wait = "waits" if len(waiting) == 1 else "wait"
        names = named("broker", [str(one) for one in of_disks], limit=_SHOWN)
        told += f" {_listed(waiting)} {wait} for the disk of {names} that is offline."
    if others := [one for one, brokers in still.items() if not brokers]:
        told += f" The start of {start} doesn't end it for {_listed(others)}."
    more = {""} if others else set()
    return f"{told} Don't lower min.insync.replicas.", frozenset({*map(str, of_disks), *more})


def _listed(partitions: Iterable[str]) -> str:
    return listed([shortened(one) for one in sorted(partitions)], limit=_NAMED)


def _in_restart(lost: Sequence[str], evidence: ClusterEvidence) -> Iterator[str]:
    """Sentences that say how many more partitions have no leader while these brokers restart."""
    more = [(one, evidence.leaderless_in_restart.get(int(one), 0)) for one in lost]
    yield from (
        f"While broker {one} restarts, {counted(count, 'more partition')} "
        f"{'has' if count == 1 else 'have'} no leader."
        for one, count in more
        if count
    )


def around_starts(evidence: ClusterEvidence, copy: str | None) -> tuple[list[str], list[str]]:
    """The sentences before and after those that start brokers. copy: as in start_of_brokers."""
    before = [copy] if copy else []
    stop = to_stop(evidence.emptied)
    if not copy and stop and copy is not None:
        before = [f"First stop {stop}."]
    return before, [*what_remains(evidence.emptied)]


def beside_emptied(facts: Iterable[Fact], emptied: Sequence[Emptied]) -> Iterator[Fact]:
    """The facts. A step that starts brokers, or waits for their start, says what comes before."""
    stop = to_stop(emptied)
    for fact in facts:
        if stop and _STARTS.issuperset(fact.rules) and fact.next_step:
            yield replace(fact, next_step=f"After the stop of {stop}: {fact.next_step}")
        else:
            yield fact


def new_directory_texts(finding: Finding, emptied: Sequence[Emptied]) -> tuple[str, str]:
    """(text, next step) of the fact about partitions that one replica leads, or may lead, from
    another log directory than before."""
    of_emptied = {name for one in emptied for name in one.partitions}
    texts, steps = [], []
    for one in emptied:
        texts.append(f"{why_stopped(one)} {_NEW.format(f'broker {one.broker}')}")
        if one.is_live:
            steps.append(what_stops(one))
        steps.append(
            f"Keep the former disk of broker {one.broker}: it may have the only copy of records."
        )
    rest = tuple(one for one in finding.subjects if one.name not in of_emptied)
    if rest:
        text, step = _of_only_replicas(replace(finding, subjects=rest))
        texts.append(text)
        steps.append(step)
    return " ".join(texts), " ".join(steps)


def _of_only_replicas(finding: Finding) -> tuple[str, str]:
    """(text, next step) of the fact about partitions that one replica leads, or may lead, from
    another log directory than before, and of which no other broker has a replica that its start
    would change."""
    names = [one.name for one in finding.subjects]
    brokers = named("broker", brokers_in(finding), limit=_SHOWN)
    where = listed([shortened(one) for one in names], limit=_NAMED)
    them, they = ("it", "it") if len(names) == 1 else ("them", "they")
    is_one = len(brokers_in(finding)) == 1
    topics = named("topic", [shortened(one) for one in sorted(set(map(topic_of, names)))], limit=3)
    disk = "disk" if is_one else "disks"
    return (
        f"{where}: only {brokers} lead{'s' * is_one} {them} or may, from another log directory "
        f"than before. The former one is gone, as after an installation on a new disk, and {they} "
        "may have begun again without any record.",
        f"Keep the former {disk} of {brokers}: {'it' if is_one else 'they'} may have the only copy "
        f"of the records of {where}. Stop the producers of {topics} until it is decided which copy "
        "counts, because new records take the offsets of the lost ones.",
    )

"""A start of nodes that was simulated: what its runs showed, what that means, and what it needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jobs.cli.directories.offsets_text import NEED, static_voters_need
from replica.doctor.quorum.conditions import late_voters, own_disk_needs, unseen_voters
from replica.doctor.quorum.reasons import nobody_wins, unless_changed
from replica.doctor.rehearsal.outcome import Outcome
from replica.doctor.rehearsal.runs import Rehearsal, ScenarioSafety, unknown_voters
from replica.words import listed, named, sentence

_ADVICE = "don't start the nodes so; `kraftlake recover --plan` says how the quorum can go on"


@dataclass(frozen=True, slots=True)
class PlayedStart:
    """A start of nodes that was simulated."""

    rehearsal: Rehearsal
    answer: ScenarioSafety
    """How safe the start is, as far as the runs showed it."""
    reasons: tuple[str, ...]
    """A sentence for each reason why the answer isn't SAFE."""
    refusal: str = ""
    """The reason to start no node, whatever the runs showed; "" where there is none."""
    rests_on_copies: bool = True
    """Whether the answer is right only if all directories were copied at one moment."""
    scenario: str | None = None
    """The file that names the nodes to start; None where no file does."""

    @property
    def nodes(self) -> tuple[int, ...]:
        """The ids of the nodes that start first, ascending."""
        start, captured = self.rehearsal.scenario.steps[0].start, self.rehearsal.captured
        return tuple(sorted(captured.nodes if start is None else start))

    @property
    def needs(self) -> tuple[str, ...]:
        """The conditions of the answer. No file of the nodes' disks shows whether they hold."""
        captured = self.rehearsal.captured
        rests_on_copies = self.rests_on_copies and self.answer is not ScenarioSafety.UNKNOWN
        found = [NEED] if rests_on_copies else []
        found += [*unseen_voters(captured.quorum), *_late(self.rehearsal)]
        if captured.is_static:
            found.append(static_voters_need(captured.voters.ids))
        return tuple(found)

    @property
    def is_conditional(self) -> bool:
        """Whether the answer is safe, but only under the conditions in `needs`."""
        return self.answer is ScenarioSafety.SAFE and bool(self.needs)

    @property
    def away(self) -> str:
        """The voters of whose disks nothing is known, so that no run starts them, such as ` without
        voter 1`; "" where there are none."""
        away = unknown_voters(self.rehearsal)
        return f" without {named('voter', [str(one) for one in away])}" if away else ""

    @property
    def meaning(self) -> str:
        """The answer, such as `safe, if its needs hold`."""
        return f"{self.answer.value}{', if its needs hold' if self.is_conditional else ''}"

    @property
    def headline(self) -> str:
        """What the runs showed, then the answer with its first reason, and what to do."""
        return f"{sentence(f'in {self._shown}')} {sentence(self._judged)}"

    @property
    def more_reasons(self) -> tuple[str, ...]:
        """The reasons that the headline doesn't say."""
        said = {self.refusal, *self._first_reason}
        return tuple(reason for reason in self.reasons if reason not in said)

    @property
    def _first_reason(self) -> tuple[str, ...]:
        is_told = self.answer is ScenarioSafety.UNKNOWN and not self._is_half
        return self.reasons[:1] if is_told else ()

    @property
    def _is_half(self) -> bool:
        """Whether half of an even number of voters starts, so that no run has a leader, and none
        loses a committed record."""
        quorum = self.rehearsal.captured.quorum
        is_left = quorum.is_blocking and not (quorum.has_majority or quorum.is_conflicting)
        return self.scenario is None and is_left and not self.rehearsal.runs_of(_leads_or_loses)

    @property
    def _shown(self) -> str:
        """What the runs showed, the gravest first."""
        runs, away = len(self.rehearsal.seeds), self.away
        leaders = dict(self.rehearsal.leaders)
        if self.rehearsal.captured.quorum.conflicts:
            # each history may have been committed in its time: neither loss is less than the other
            return f"{runs} of {runs} runs{away} {_led(leaders)}, and no run keeps both histories"
        lost = self.rehearsal.runs_of(lambda outcome: bool(outcome.committed_lost))
        found = []
        if lost:
            found.append(
                f"{lost} of {runs} runs{away} records of the metadata log that are proven "
                "committed are lost"
            )
        if unled := leaders.pop(None, 0):
            found.append(f"{unled} of {runs} runs{away} nobody leads at the end")
        unproven = self.rehearsal.runs_of(lambda outcome: bool(outcome.unproven_lost))
        if unproven:
            found.append(
                f"{unproven} of {runs} runs{away} records of the metadata log are lost that may "
                "have been committed"
            )
        if not found:
            kept = "no committed record of the metadata log is lost"
            if self.answer is not ScenarioSafety.SAFE:
                kept = "no record of the metadata log that is proven committed is lost"
            found.append(f"{runs} of {runs} runs{away} {_led(leaders)}, and {kept}")
        return ", and in ".join(found)

    @property
    def _judged(self) -> str:
        if self.answer is ScenarioSafety.SAFE:
            needs = f", if {self._all_needs}" if self.is_conditional else ""
            return f"safe for the metadata log{needs}; topics' partitions are not rehearsed"
        if self.answer is ScenarioSafety.UNKNOWN and self._is_half:
            quorum = self.rehearsal.captured.quorum
            unless = "" if quorum.holds_committed else f", {unless_changed(quorum)}"
            others = [str(one.node_id) for one in sorted(quorum.missing)]
            return (
                f"no committed record of the metadata log is lost{unless}: {nobody_wins(quorum)}. "
                f"Start node {listed(others, last='or')} with its own disk, too"
            )
        if self.answer is ScenarioSafety.UNKNOWN:
            why = "".join(self._first_reason)
            return f"whether this start is safe is unknown, because {why}"
        return f"unsafe: {self.refusal or _ADVICE}"

    @property
    def _all_needs(self) -> str:
        needs = self.needs
        return needs[0].partition(";")[0] if len(needs) == 1 else "the needs below hold"

    @property
    def text(self) -> str:
        """A clause that says which nodes start, and which stay stopped."""
        if self.scenario is not None:
            return f"as {self.scenario} says"
        stopped = [str(one) for one in sorted({*self.rehearsal.captured.nodes} - {*self.nodes})]
        started = named("node", [str(one) for one in self.nodes])
        stay = "stays" if len(stopped) == 1 else "stay"
        return f"{started}; {named('node', stopped)} {stay} stopped" if stopped else started


def _leads_or_loses(outcome: Outcome) -> bool:
    lost = outcome.committed_lost or outcome.unproven_lost
    return outcome.leader is not None or bool(lost)


def _late(rehearsal: Rehearsal) -> Iterator[str]:
    """The conditions about voters whose copies may be older than their disks."""
    late = late_voters(rehearsal.captured.quorum)
    starts = rehearsal.scenario.starts_own_disk
    yield from own_disk_needs(voter for voter in late if starts(voter.key.node_id))


def _led(leaders: dict[int | None, int]) -> str:
    """A clause about who leads, such as `node 1 leads at the end`. leaders: the number of runs that
    end with each leader; the key None stands for no leader."""
    nodes = [str(node) for node in leaders]
    if leaders.keys() == {None}:
        return "nobody leads at the end"
    if len(nodes) == 1:
        return f"node {nodes[0]} leads at the end"
    each = [
        f"{'nobody' if node is None else f'node {node}'} in {count}"
        for node, count in leaders.items()
    ]
    return f"a node leads at the end ({listed(each)})"

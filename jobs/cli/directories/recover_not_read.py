"""The answer of `kraftlake recover --plan` where it must not make a plan: only what to do before.

There are two such cases. The operating system refused to read a file: then the file isn't lost, and
the command has to run as another user. Or nodes of this cluster have disks of other
clusters: a plan that replaces the voters of one cluster would stop the voters of another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from jobs.cli.directories.recover_names import shown_paths
from replica.doctor.check.catalogue import groups
from replica.doctor.quorum.recovery import RecoveryDecision, RecoveryPlan
from replica.doctor.verdict.verdict import Fact, Verdict
from replica.format.damage import Damage, DamageKind
from replica.shell_text import line
from replica.terminal_text import one_line
from replica.words import listed


@dataclass(frozen=True, slots=True)
class NoPlan:
    """Why there is no plan, and what to do."""

    why: str
    """The reason as a clause, which follows a colon."""
    reasons: tuple[str, ...]
    """Sentences that say more about the reason."""
    steps: tuple[str, ...]
    """A sentence for each step that a person takes."""

    def refused(self, plan: RecoveryPlan) -> RecoveryPlan:
        """The plan with the answer REFUSED, and with `reasons` before its own reasons. It names no
        node that may win an election."""
        reasons = (*self.reasons, *plan.reasons)
        return replace(
            plan, answer=RecoveryDecision.REFUSED, electable=(), led_by={}, reasons=reasons
        )

    def describe(self, cluster_id: str, paths: Sequence[str]) -> Iterator[str]:
        """The lines: the reasons, and the steps for a person. paths: the paths that
        the user named."""
        yield f"cluster {cluster_id}: no plan: {self.why}"
        yield from (f"  {one_line(reason)}" for reason in self.reasons)
        yield ""
        yield "Nothing was changed. What a person would do:"
        for number, step in enumerate(self.steps, start=1):
            yield one_line(f"  {number}. {in_a_plan(step)}")
        again = line("kraftlake", "recover", "--plan", *shown_paths(paths))
        yield one_line(f"       {again}")


def in_a_plan(text: str) -> str:
    """The text of another command, changed for the output of `recover --plan`: it says "the plan"
    instead of the command's name."""
    begun = re.sub(r"(^|\. )`kraftlake recover --plan`", r"\1The plan", text)
    return begun.replace("`kraftlake recover --plan`", "the plan")


def not_read(damages: Iterable[Damage]) -> tuple[Damage, ...]:
    """The damages of files and directories that the operating system refused to read, though their
    disk works. Data that a broken disk can't give is lost, and isn't among them."""
    return tuple(
        damage
        for damage in damages
        if damage.kind is DamageKind.UNREADABLE and not damage.is_of_broken_disk
    )


def why_not_read(refused: Sequence[Damage]) -> NoPlan:
    """The answer for a quorum with files that could not be read. refused: the damages of these
    files."""
    files = listed([damage.file for damage in refused], limit=3)
    return NoPlan(
        "a file could not be read",
        tuple(f"{damage.file} could not be read: {damage.detail}" for damage in refused),
        (
            f"{files} could not be read: run as Kafka's user, then make the plan again. Start, "
            "stop and format nothing before.",
        ),
    )


def why_mixed(verdict: Verdict, plan: RecoveryPlan) -> NoPlan | None:
    """The answer for a cluster whose other voters are, by the same directories, in another cluster.
    None where a plan may be made: a cluster with a majority of its voters continues without the
    disk that it lacks."""
    mixed = verdict.of_other_clusters
    if not mixed or (plan.answer is RecoveryDecision.SAFE and all(map(_lacks_a_disk, mixed))):
        return None
    return NoPlan(
        "the directories of this quorum's nodes are of several clusters",
        tuple(fact.text for fact in mixed),
        (
            *dict.fromkeys(fact.next_step for fact in mixed),
            "Then make the plan again. Start, stop and format nothing else before.",
        ),
    )


def _lacks_a_disk(fact: Fact) -> bool:
    return fact.rules == (groups.VOTER_WITHOUT_OWN_DISK.id,)

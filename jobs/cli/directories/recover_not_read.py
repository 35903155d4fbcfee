"""`kraftlake recover --plan` where the operating system refused to read a file. Nobody knows what
the file holds, and a wrong user is no lost disk: so there is no plan, only what to do before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from jobs.cli.directories.recover_names import shown_paths
from replica.doctor.check.examined import Examined
from replica.doctor.quorum.recovery import RecoveryDecision, RecoveryPlan
from replica.format.damage import Damage, DamageKind
from replica.model.keys import ReplicaKey
from replica.shell_text import line
from replica.terminal_text import one_line
from replica.words import listed

NO_PLAN = "no plan: a file could not be read"


def not_read(damages: Iterable[Damage]) -> tuple[Damage, ...]:
    """The damages of files and directories that the operating system refused to read."""
    return tuple(damage for damage in damages if damage.kind is DamageKind.UNREADABLE)


def refused_plan(plan: RecoveryPlan, refused: Sequence[Damage]) -> RecoveryPlan:
    """The plan of a quorum of which these files could not be read: it says of nobody that he may
    win."""
    reasons = (*map(_reason, refused), *plan.reasons)
    return replace(plan, answer=RecoveryDecision.REFUSED, electable=(), led_by={}, reasons=reasons)


def describe_refused(
    plan: RecoveryPlan,
    by_key: Mapping[ReplicaKey, Examined],
    refused: Sequence[Damage],
    paths: Sequence[str],
) -> Iterator[str]:
    """The lines: the reasons, and the only step for a person. paths: those that the user named."""
    yield f"cluster {by_key[plan.winner.key].owner.cluster_id}: {NO_PLAN}"
    yield from (f"  {one_line(_reason(damage))}" for damage in refused)
    yield ""
    yield "Nothing was changed. What a person would do:"
    files = [damage.file for damage in refused]
    yield one_line(
        f"  1. {listed(files, limit=3)} could not be read: run as Kafka's user, then make the plan "
        "again. If the disk is broken, leave out its directory. Start, stop and format nothing "
        "before."
    )
    again = line("kraftlake", "recover", "--plan", *shown_paths(paths))
    yield one_line(f"       {again}")


def _reason(damage: Damage) -> str:
    return f"{damage.file} could not be read: {damage.detail}"

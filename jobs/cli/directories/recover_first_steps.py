"""The first steps of a recovery plan without a majority: they look for whole disks, and destroy
nothing."""

from __future__ import annotations

from jobs.cli.directories.recover_fixed_steps import RecoverStep, look_for_disks
from jobs.cli.directories.recover_names import shown_paths
from jobs.cli.directories.recover_quorum import PlannedQuorum
from replica.doctor.verdict.start_of_voters import StartOfVoters, start_of_voters
from replica.shell_text import Shell, line, noted
from replica.words import named, sentence


def start_of_others(quorum: PlannedQuorum, start: StartOfVoters | None) -> StartOfVoters | None:
    """The voters whose start with their own disks may give the quorum a leader without any loss.
    None if nothing shows which voters these are, or if disks are in doubt. start: the voters that
    start by the verdict; None if the verdict names none."""
    if quorum.plan.holds_nothing or quorum.doubted:
        return None
    left = [voter.node_id for voter in quorum.left]
    return start or start_of_voters(left, quorum.plan.quorum.voters, may_run=True)


def start_others(quorum: PlannedQuorum, start: StartOfVoters) -> RecoverStep:
    """The step that starts the voters of `start` with their own disks. It is the plan's first step,
    because it destroys nothing."""
    nodes = [*start.first, *start.unseen, *start.rest]
    note = ", with its own disk, only if it does not run"
    return RecoverStep(
        f"{sentence(start.clause)} If the quorum has a leader then, leave out all further "
        "steps. A disk that was restored from a backup is not the node's own: leave that node "
        "stopped, and make the plan again with its directory.",
        tuple(quorum.on(node, *quorum.start_words(node), note=note) for node in nodes),
        act=start.clause,
    )


def name_others(quorum: PlannedQuorum, *, is_first: bool = True) -> RecoverStep:
    """The step in which the user names the directories that were not given. It comes before all
    steps that destroy something, because a directory that was not given isn't a lost disk.
    is_first: whether no step that starts voters comes before this step."""
    text, kept = "Name the directories of all other controllers too", quorum.shown
    if quorum.voters:
        nodes = named("node", [str(voter.node_id) for voter in quorum.not_given])
        which = "directory" if len(quorum.not_given) == 1 else "directories"
        text = f"Name the {which} of {nodes} too"
    text += ", if a disk still exists or a node runs"
    if quorum.voters and not quorum.not_given:
        missing = sorted(quorum.plan.missing)
        text = look_for_disks(missing)
        kept = [
            quorum.by_key[one.log.key].shown
            for one in quorum.plan.ranking
            if not any(voter.matches(one.log.key) for voter in missing)
        ]
    if not is_first:
        text = f"If this gives no leader: {text[0].lower()}{text[1:]}"
    return RecoverStep(
        f"{text}, and make the plan again: any majority of the voters holds every committed "
        "record.",
        (
            noted(Shell("DIRECTORY=/mnt/disk"), "of each of these nodes, or a copy of it"),
            line("kraftlake", "recover", "--plan", *shown_paths(kept), Shell('"$DIRECTORY"')),
        ),
    )

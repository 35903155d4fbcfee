"""The steps of a recovery plan where there are two histories: nothing starts, everything is copied,
and a person chooses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jobs.cli.clock import ZonedClock
from jobs.cli.directories.recover_fixed_steps import RecoverStep
from jobs.cli.directories.recover_names import shown_paths
from jobs.cli.directories.recover_quorum import PlannedQuorum
from replica.doctor.check.examined import Examined
from replica.doctor.health.set_aside import set_aside_in, set_aside_text
from replica.doctor.quorum.histories import mixes_in, mixes_text, sides_of
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.format.file_names import METADATA_FOLDER
from replica.shell_text import Shell, line, noted
from replica.words import named

_ON_EACH = "on each node, for each path of log.dirs and metadata.log.dir"


def is_of_voters(quorum: KnownQuorum) -> bool:
    """Whether voters hold different histories. A history that only brokers hold may come from an
    earlier cluster."""
    voters = {voter.key.node_id for voter in quorum.voters}
    sides = sides_of(quorum.conflicts)
    return len(sides) > 1 and all(not voters.isdisjoint(side) for side in sides)


def choose_a_history(quorum: PlannedQuorum) -> Iterator[RecoverStep]:
    """The steps until a person has chosen one of the histories, and the step that continues with
    it."""
    yield _stop(quorum)
    yield _copy_disks(quorum)
    yield from quorum.keep()
    yield _compare(quorum)
    yield _go_on(quorum)


def _stop(quorum: PlannedQuorum) -> RecoverStep:
    stop = quorum.stop()
    brokers = noted(
        Shell("bin/kafka-server-stop.sh --process-role=broker"),
        "on each broker, also on those that were not given",
    )
    text = "Stop every controller and every broker, and whatever starts them again."
    return RecoverStep(text, (*stop.commands, brokers))


def _copy_disks(quorum: PlannedQuorum) -> RecoverStep:
    found = [*set_aside_in(quorum.by_key.values())]
    told = f" {set_aside_text(found)}" if found else ""
    return RecoverStep(
        "Copy the whole disk of each node, the brokers' above all: a broker that starts with one "
        f"history discards records of topics that this history lacks.{told}",
        (
            noted(Shell("LOG_DIR=/var/lib/kafka/data"), _ON_EACH),
            Shell('cp -a "$LOG_DIR" "$LOG_DIR"-before-start'),
        ),
    )


def compare_histories(quorum: PlannedQuorum) -> RecoverStep:
    """The step for logs that aren't known to be histories of voters: nothing starts before one is
    chosen."""
    of_each = _one_of_each(quorum)
    shown = [one.shown for one in of_each] or quorum.shown
    changes = tuple(_changes(quorum, of_each))
    told = ", `history` what each branch alone changed" * bool(changes)
    return RecoverStep(
        "Start none of them before a history is chosen: `check` says what is damaged, `diff` shows "
        f"both branches{told}.",
        (
            line("kraftlake", "check", *shown_paths(quorum.shown)),
            *(line("kraftlake", "diff", *shown_paths((shown[0], other))) for other in shown[1:]),
            *changes,
        ),
    )


def _one_of_each(quorum: PlannedQuorum) -> list[Examined]:
    """For each history, the directory of its longest log."""
    sides, found = sides_of(quorum.plan.quorum.conflicts), []
    for side in sides:
        logs = [one.log for one in quorum.plan.ranking if one.log.key.node_id in side]
        longest = max(logs, key=lambda log: log.end_offset)
        found.append(quorum.by_key[longest.key])
    return found


def _changes(quorum: PlannedQuorum, of_each: Iterable[Examined]) -> Iterator[Shell]:
    """For each history, the command that lists what it changed from the time on at which the
    histories part. of_each: a directory of each history."""
    parted = min((one.offset for one in quorum.plan.quorum.conflicts), default=0)
    for examined in of_each:
        at = examined.time_at(parted)
        since = () if at is None else ("--from-time", ZonedClock().text(at))
        yield line("kraftlake", "history", *since, *shown_paths([examined.shown]))


def _compare(quorum: PlannedQuorum) -> RecoverStep:
    of_each = _one_of_each(quorum)
    shown = [one.shown for one in of_each]
    return RecoverStep(
        "Find out which history has the topics and the changes that you need: `state` shows the "
        "topics of each, `history` what it alone changed, `timeline` its events, `diff` the "
        "records of both. A majority proves little: disks that were put back can be one.",
        (
            *(
                line("kraftlake", "state", "--entity", "topic", *shown_paths([one]))
                for one in shown
            ),
            *_changes(quorum, of_each),
            *(line("kraftlake", "timeline", *shown_paths([one])) for one in shown),
            *(line("kraftlake", "diff", *shown_paths((shown[0], one))) for one in shown[1:]),
        ),
    )


def _go_on(quorum: PlannedQuorum) -> RecoverStep:
    conflicts = quorum.plan.quorum.conflicts
    mixed = {node for one in mixes_in(conflicts) for node in one.nodes}
    lines = []
    for side in (one for one in sides_of(conflicts) if mixed.isdisjoint(one)):
        one = [
            quorum.by_key[standing.log.key].shown
            for standing in quorum.plan.ranking
            if standing.log.key.node_id in side
        ]
        note = f"to go on with the history of {named('node', [*map(str, side)])}"
        lines.append(noted(line("kraftlake", "recover", "--plan", *shown_paths(one)), note))
    return RecoverStep(
        "Start none of them before you have chosen. Then make the plan again with the directories "
        "of that history alone. Its plan may ask for the disks of the other nodes: what they hold "
        "is of the other history, so give it none of these, and count these disks as gone. "
        f"Before a broker with the other history starts, move its {METADATA_FOLDER} away."
        f"{_of_mixes(quorum)}",
        tuple(lines),
    )


def _of_mixes(quorum: PlannedQuorum) -> str:
    """Sentences about logs that are, or may be, a mix of the histories; "" where there are none."""
    conflicts = quorum.plan.quorum.conflicts
    if told := mixes_text(conflicts):
        return f" {told} Before one of these nodes starts, move its {METADATA_FOLDER} away too."
    missing = [str(key.node_id) for key in quorum.not_given]
    if not missing:
        return ""
    return (
        f" The directories of {named('voter', missing)} were not given. A log that conflicts with "
        "that of a voter may be a mix of two histories, which only these directories can show: add "
        "them before you choose."
    )

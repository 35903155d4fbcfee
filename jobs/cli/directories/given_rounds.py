"""The branches of the clusters in directories, for the commands about what happened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from jobs.cli.directories.check_inputs import examine_all, find_inputs, refuse_unread
from jobs.cli.directories.notices import damage_lines, printed_at_the_end
from jobs.cli.output import ProgressLine
from replica.doctor.check.damaged import bundle_damage
from replica.doctor.check.examined import Examined
from replica.doctor.check.rule import Finding
from replica.doctor.timeline.branch import Branch, branches_of
from replica.errors import UsageError
from replica.format.damage import Damage
from replica.format.directory import MAX_READS
from replica.format.discovery import DiscoveredPath
from replica.format.formatted import FormattedDirectory
from replica.metadata.passed_over import NOTHING, PassedOver


class GivenRounds(NamedTuple):
    """Directories of nodes, each read once, in the rounds in which they were captured."""

    rounds: list[list[Examined]]
    """The directories of each round, the oldest round first."""
    unread: tuple[Finding, ...]
    """The findings about files and directories that could not be read, and about nodes that never
    started, beside the newest round."""
    formatted: tuple[FormattedDirectory, ...] = ()
    """The log directories without a metadata log."""
    damages: tuple[Damage, ...] = ()
    """The files and directories that could not be read."""
    names: tuple[str, ...] = ()
    """The name of each round in --order; empty without it."""


@contextmanager
def rounds_in(
    paths: Sequence[str],
    order: Sequence[str],
    progress: ProgressLine,
    *,
    all_damages: bool = False,
    passed_over: PassedOver = NOTHING,
    for_check: bool = False,
    has_notices: bool = True,
) -> Iterator[GivenRounds]:
    """The directories below the paths.

    Their files can be read until the context ends. Then `progress` is cleared, and lines on stderr,
    below the output of the context, name what can't be read. Raises what find_inputs raises.

    order, for_check: see find_inputs.
    all_damages: see damage_lines.
    passed_over: the types of records that a replay passes over.
    has_notices: whether the lines on stderr are printed.
    """
    with ExitStack() as stack:
        notices = stack.enter_context(printed_at_the_end()) if has_notices else []
        stack.callback(progress.clear)
        inputs = find_inputs(paths, order, stack, for_check=for_check)
        rounds, damages = [], list[Damage]()
        for group in inputs.groups:
            examined, damages = _examined(group, progress, passed_over)
            rounds.append(examined)
            notices += map(str, damages)
            notices += damage_lines(examined, all_of_them=all_damages)
        progress.clear()
        notices += (*map(str, inputs.damages), *inputs.left_out())
        unread = (*inputs.unread(), *bundle_damage(damages))
        named = tuple(one for one in order if len(order) == len(rounds))
        yield GivenRounds(rounds, unread, inputs.formatted, (*inputs.damages, *damages), named)


@contextmanager
def branches_in(
    paths: Sequence[str],
    order: Sequence[str],
    cluster: str | None,
    progress: ProgressLine,
    *,
    all_damages: bool = False,
    passed_over: PassedOver = NOTHING,
) -> Iterator[list[Branch]]:
    """The branch of each cluster in the directories. Its files can be read until the context ends.

    Raises what rounds_in raises, UsageError where no directory holds a metadata record, and
    UnreadableFileError where no directory can be read.

    cluster: the id of the only cluster to give; None for all clusters.
    order, progress, all_damages, passed_over: see rounds_in.
    """
    with rounds_in(
        paths, order, progress, all_damages=all_damages, passed_over=passed_over
    ) as given:
        found = branches_of(given.rounds, given.formatted)
        if not found:
            refuse_unread(given.damages)
            raise UsageError(
                f"{' '.join(paths)}: no metadata log with a record that can be read: no leader was "
                "ever elected, or the log is damaged; `kraftlake check` says which"
            )
        check_cluster(cluster, [one.cluster_id for one in found])
        yield [one for one in found if cluster in (None, one.cluster_id)]


def check_cluster(cluster: str | None, known: Iterable[str | None]) -> None:
    """Raises UsageError where --cluster names none of the clusters."""
    names = [*map(str, known)]
    if cluster is not None and cluster not in names:
        raise UsageError(f"--cluster {cluster}: the directories are of {', '.join(names)}")


def _examined(
    group: Sequence[DiscoveredPath], progress: ProgressLine, passed_over: PassedOver
) -> tuple[list[Examined], list[Damage]]:
    """Reads the directories, with the result of examine_all. A running node's directory may change
    meanwhile; then it is read again."""
    for _ in range(MAX_READS):
        examined, damages = examine_all(group, progress.show, passed_over)
        if not any(one.changed for one in examined):
            break
    progress.clear()
    return examined, damages

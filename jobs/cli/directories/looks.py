"""The branches of the clusters in directories, for the commands that ask what happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from jobs.cli.directories.check_inputs import examine_all, find_inputs
from jobs.cli.output import ProgressLine, complain
from replica.check.damaged import bundle_damage
from replica.check.examined import Examined
from replica.check.rule import Finding
from replica.errors import UsageError
from replica.format.damage import Damage
from replica.format.directory import MAX_READS
from replica.format.discovery import DiscoveredPath
from replica.timeline.branch import Branch, branches_of


class GivenBranches(NamedTuple):
    """The branch of each cluster in directories. unread: the findings about what could not be read,
    or was never started, beside the newest of them. They are empty where there are several
    clusters: nobody knows to which one they belong."""

    branches: list[Branch]
    unread: tuple[Finding, ...]


@contextmanager
def branches_in(
    paths: Sequence[str], order: Sequence[str], cluster: str | None, progress: ProgressLine
) -> Iterator[GivenBranches]:
    """The branch of each cluster in the directories, or of the named one.

    Their files can be read until the context ends; then `progress` is cleared. What can't be read
    is named on stderr. order: see find_inputs. Raises UsageError where no directory holds a
    metadata record.
    """
    with ExitStack() as stack:
        stack.callback(progress.clear)
        inputs = find_inputs(paths, order, stack)
        looks, damages = [], list[Damage]()
        for group in inputs.groups:
            examined, damages = _look(group, progress)
            looks.append(examined)
        progress.clear()
        for line in (*map(str, inputs.damages), *inputs.left_out()):
            complain(line)
        found = branches_of(looks)
        if not found:
            raise UsageError(
                f"{' '.join(paths)}: no metadata log with a record that can be read: no leader was "
                "ever elected, or the log is damaged; `kraftlake check` says which"
            )
        names = [str(one.cluster_id) for one in found]
        if cluster is not None and cluster not in names:
            raise UsageError(f"--cluster {cluster}: the directories are of {', '.join(names)}")
        unread = (*inputs.unread(), *bundle_damage(damages)) if len(found) == 1 else ()
        yield GivenBranches([one for one in found if cluster in (None, one.cluster_id)], unread)


def _look(
    group: Sequence[DiscoveredPath], progress: ProgressLine
) -> tuple[list[Examined], list[Damage]]:
    """Read the directories. A running node's directory may change meanwhile; then it is read
    again."""
    for _ in range(MAX_READS):
        examined, damages = examine_all(group, progress.show)
        if not any(one.changed for one in examined):
            break
    progress.clear()
    for damage in (*damages, *(damage for one in examined for damage in one.damages)):
        complain(str(damage))
    return examined, damages

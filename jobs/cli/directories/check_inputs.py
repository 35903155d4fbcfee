"""The inputs of `check`, and which directories below the user's paths belong together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property

from jobs.cli.directories.discovering import discovered_each, unreadable
from pipelines.capture.grouping import (
    AmbiguousOrderError,
    ambiguous_order,
    batch_of,
    captured_at,
    refuse_unused,
    replica_at,
)
from pipelines.capture.same_copy import are_same_copy
from replica.doctor.check.damaged import bundle_damage
from replica.doctor.check.examined import Examined, examine
from replica.doctor.check.formatted import judge_formatted
from replica.doctor.check.known_quorum import EarlierRounds, earlier_rounds
from replica.doctor.check.partition import topic_id_in
from replica.doctor.check.rule import Finding
from replica.errors import UnreadableFileError, UsageError
from replica.format.damage import Damage, DamageKind
from replica.format.discovery import (
    WITHOUT_METADATA_LOG,
    DirectoryPath,
    DiscoveredPath,
    FilePath,
)
from replica.format.formatted import FormattedDirectory
from replica.metadata.passed_over import NOTHING, PassedOver
from replica.model.keys import METADATA_TOPIC_ID, ReplicaId
from replica.scan.file_room import FileRoom


@dataclass(frozen=True)
class CheckInputs:
    """The files and directories to check."""

    groups: tuple[tuple[DiscoveredPath, ...], ...]
    """The directories that were captured together. A single file is a group of its own."""
    damages: tuple[Damage, ...]
    """The damages of bundles, and of folders that can't be listed, with the user's
    names of files."""
    formatted: tuple[FormattedDirectory, ...] = ()
    """Log directories without a metadata log."""
    copies: tuple[tuple[str, str], ...] = ()
    """(the user's name of a directory that was left out, the name of the directory with the same
    bytes)."""
    earlier: tuple[tuple[DiscoveredPath, ...], ...] = ()
    """The groups of earlier captures, the oldest first, for a command that judges the newest
    capture alone."""

    def owners(self) -> list[tuple[ReplicaId, str]]:
        """The replica that owns each directory, and the name of its meta.properties; without
        directories whose replica isn't known."""
        directories = (
            one for group in self.groups for one in group if isinstance(one, DirectoryPath)
        )
        named = ((replica_at(one.path), one.shown_file("meta.properties")) for one in directories)
        return [(replica, name) for replica, name in named if replica is not None]

    @property
    def captures(self) -> int:
        """The number of groups that are captures of directories. These captures come first in
        `groups`, the oldest first. Groups of files follow them."""
        return sum(isinstance(group[0], DirectoryPath) for group in self.groups)

    @cached_property
    def never_started(self) -> tuple[Finding, ...]:
        """Findings about nodes that were formatted and never started."""
        return tuple(judge_formatted(self.formatted, self.owners()))

    def unread(self) -> tuple[Finding, ...]:
        """Findings about bundles and folders that could not be read, and about nodes that were
        formatted and never started."""
        return (*bundle_damage(self.damages), *self.never_started)

    def left_out_copies(self) -> Iterator[str]:
        """A sentence for each directory that was left out as a copy of another named directory."""
        for copy, kept in self.copies:
            yield f"{copy}: left out: a copy of {kept}, byte for byte"

    def left_out(self) -> Iterator[str]:
        """A sentence for each log directory with which no node ever started, and for each copy."""
        yield from self.left_out_copies()
        never = {finding.file for finding in self.never_started}
        for one in self.formatted:
            if one.is_alone or one.meta_properties in never:
                node_id = one.replica.node_id
                yield f"{one.shown}: left out: formatted for node {node_id}, and no metadata log"


def find_inputs(
    paths: Iterable[str], order: Sequence[str], stack: ExitStack, *, for_check: bool = False
) -> CheckInputs:
    """Everything to check. Bundles stay unpacked until `stack` closes.

    for_check: whether formatted log directories alone are enough. A folder with nothing to check,
    such as a new disk's, becomes a damage where other paths have something to check. Raises
    UsageError where a path doesn't exist, where no path has anything to check, or where a group
    would hold two captures of one replica in unknown order.
    """
    search = _Search(order)
    formatted: list[FormattedDirectory] = []
    for path, below in discovered_each(paths, stack, for_check=True):
        formatted += below.formatted
        search.damages += below.damages
        for one in below.paths:
            search.take(one, path)
    refuse_unused(order, search.batches)
    named = sorted(search.batches, key=order.index if order else captured_at)
    groups: list[tuple[DiscoveredPath, ...]] = [tuple(search.batches[batch]) for batch in named]
    alone: list[tuple[DiscoveredPath, ...]] = [(file,) for file in search.files]
    groups = [*groups, *alone]
    if not groups and not search.damages and not for_check:
        shown = ", ".join(one.shown for one in formatted)
        why = "formatted, and without a metadata log: the node never started"
        if all(one.has_partitions for one in formatted):
            why = WITHOUT_METADATA_LOG
        raise UsageError(f"{shown}: {why}")
    return CheckInputs(
        tuple(groups), tuple(search.damages), tuple(formatted), copies=tuple(search.copies)
    )


def find_newest_inputs(
    paths: Iterable[str], stack: ExitStack, order: Sequence[str] = ()
) -> CheckInputs:
    """The result of find_inputs, for a command about the newest capture. order: the names of all
    captures, the newest last. The earlier captures show what a disk may have lost since. Raises
    UsageError for two captures of one replica in unknown order."""
    try:
        inputs = find_inputs(paths, order, stack)
    except AmbiguousOrderError as error:
        what = "name only what is left now, or give --order"
        raise UsageError(f"{error.captures}: {what}") from error
    if not order:
        return inputs
    *earlier, newest = (one for one in inputs.groups if isinstance(one[0], DirectoryPath))
    return replace(inputs, groups=(newest,), earlier=tuple(earlier))


def read_earlier(inputs: CheckInputs, show: Callable[[str], None]) -> EarlierRounds:
    """What the earlier captures show of the replicas. A capture that can't be read is left out."""
    return earlier_rounds(examine_all(group, show)[0] for group in inputs.earlier)


def examine_all(
    found: Iterable[DiscoveredPath], show: Callable[[str], None], passed_over: PassedOver = NOTHING
) -> tuple[list[Examined], list[Damage]]:
    """Reads each directory or file once. Gives those that could be read, and a damage, with the
    name that the user gave, for each of the others. show: is called with the line that says what is
    being read. passed_over: the types of records that a replay passes over."""
    room = FileRoom.of_environment()
    examined: list[Examined] = []
    damages: list[Damage] = []
    for one in found:
        show(f"{one.shown}: reading")
        try:
            examined.append(replace(examine(one, room=room), passed_over=passed_over))
        except UnreadableFileError as error:
            damages.append(unreadable(one.shown, error.reason))
    return examined, damages


def refuse_unread(damages: Iterable[Damage]) -> None:
    """Raises UnreadableFileError for the first file or folder that the operating system refused to
    read. For a command to which nothing readable was given."""
    for damage in damages:
        if damage.kind is DamageKind.UNREADABLE:
            (finding,) = bundle_damage([damage])
            raise UnreadableFileError(damage.file, f"{finding.message}. {finding.rule.next_step}")


@dataclass
class _Search:
    """The directories that find_inputs has found so far. batches: directories that belong together,
    by the name that batch_of gives them."""

    order: Sequence[str]
    batches: dict[str, list[DirectoryPath]] = field(default_factory=dict)
    files: list[FilePath] = field(default_factory=list)
    damages: list[Damage] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    owners: dict[tuple[ReplicaId, str], DirectoryPath] = field(default_factory=dict)
    """The directories of the batch without a name, by replica and topic id. One replica of a
    partition may occur in it only once."""
    copies: list[tuple[str, str]] = field(default_factory=list)
    """(the user's name of a directory, the name of another directory with the same bytes)."""

    def take(self, found: DiscoveredPath, argument: str) -> None:
        """Adds a directory to its batch, or a single file to the files. A directory with the same
        bytes as another directory of the batch without a name is left out as a copy of it.

        argument: the path that the user typed. Raises AmbiguousOrderError for a second capture of a
        replica in the batch without a name.
        """
        real = os.path.realpath(found.path)
        if real in self.seen:
            return
        self.seen.add(real)
        if isinstance(found, FilePath):
            self.files.append(found)
            return
        batch = batch_of(found, argument, self.order)
        replica = None if batch else replica_at(found.path)
        if replica is not None:
            other = self.owners.setdefault(
                (replica, topic_id_in(found.path) or METADATA_TOPIC_ID), found
            )
            if other is not found and are_same_copy(other, found):
                self.copies.append((found.shown, other.shown))
                return
            if other is not found:
                raise ambiguous_order(other.shown, found.shown, replica.node_id)
        self.batches.setdefault(batch, []).append(found)

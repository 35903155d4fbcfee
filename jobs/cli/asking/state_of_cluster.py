"""`kraftlake state --sizes` and `--exposure`: reads the cluster's state from directories or a lake,
and prints the numbers of its entities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from itertools import groupby

from jobs.cli.asking.about import AskedCluster
from jobs.cli.asking.cluster_source import ClusterSource, Wanted, from_directories
from jobs.cli.asking.exposed import show_exposure
from jobs.cli.commands.asking import StateOptions
from jobs.cli.directories.broker_defaults import defaults_in
from jobs.cli.output import complain, more_line, write_json, write_line, write_section
from replica.doctor.health.sizes import (
    ENTITY,
    RECORD,
    TOPIC,
    EntitySize,
    entity_sizes,
    record_sizes,
    topic_sizes,
)
from replica.doctor.quorum.known_voter import VoterDoubt
from replica.words import named, up_to

_ROWS = 10
"""The number of rows of each kind that are shown without --limit."""
_SIZE_TITLES = {
    ENTITY: "Entities in the state, by kind",
    TOPIC: "Topics with the most replicas (count: partitions)",
    RECORD: "Records in the log at hand, by type",
}


def source_of(
    asked: AskedCluster, broker_defaults: Mapping[str, str], wanted: Wanted
) -> ClusterSource:
    """The cluster's state, with the wanted figures. Raises UsageError where the
    state is unknown."""
    if asked.lake is not None:
        from jobs.cli.asking.cluster_in_lake import from_lake  # directories need no delta-rs

        return from_lake(asked.lake, asked, broker_defaults, wanted)
    return from_directories(asked, broker_defaults, wanted)


def run(asked: AskedCluster, options: StateOptions) -> int:
    """Prints the sizes or the exposure. Returns 0. Raises KraftlakeError."""
    wanted = Wanted(content=options.sizes, past=options.since, verdict=options.exposure)
    source = source_of(asked, defaults_in(options.broker_config), wanted)
    show = show_sizes if options.sizes else show_exposure
    code = show(source, limit=options.limit or _ROWS, json_output=options.json_output)
    for notice in source.notices:
        complain(notice)
    if source.cluster.passed_over:
        complain(f"state: passed over: {source.cluster.passed_over}")
    return code


def show_sizes(source: ClusterSource, *, limit: int, json_output: bool) -> int:
    """Prints the number of entities of each kind, the largest topics, and the log's records by
    type. Returns the exit code 0. limit: the most topics in text; --json gives all."""
    _where(source)
    sizes: list[EntitySize] = [*entity_sizes(source.entities), *topic_sizes(source.cluster.image)]
    if source.content is not None:
        sizes += record_sizes(source.content)
    if json_output:
        for size in sizes:
            write_json(asdict(size))
        return 0
    for number, (about, group) in enumerate(groupby(sizes, key=lambda size: size.about)):
        rows = [asdict(size) for size in group]
        shown = limit if about == TOPIC else len(rows)
        if number:
            write_line("")
        write_section(_SIZE_TITLES[about], rows[:shown], left_out="about")
        for line in more_line(shown, len(rows)):
            write_line(line)
    return 0


def _where(source: ClusterSource) -> None:
    cluster = source.cluster
    complain(f"state: of cluster {cluster.cluster_id} {up_to(cluster.end_offset)}")
    if not cluster.is_whole:
        complain(f"state: {cluster.file}: the log has later records, which can't be replayed")
    quorum = cluster.quorum
    missing = () if quorum is None else quorum.in_doubt(VoterDoubt.NOT_GIVEN)
    if missing:
        voters = named("voter", [str(voter.key.node_id) for voter in missing])
        complain(f"state: not given: the directory of {voters}, which may hold newer records")

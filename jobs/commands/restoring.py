"""The command that makes what a new cluster boots from."""

from __future__ import annotations

from typing import Annotated

from jobs.commands import combinations, options
from jobs.commands.parameters import Text, Texts, argument, option
from replica.errors import UsageError

Sources = Annotated[
    Texts,
    argument("[LOGDIR...]", "Directories of the old cluster's controllers; or else name a lake."),
]
Release = Annotated[str, option("--release R", "The new cluster's Kafka release, such as 4.1.")]
Output = Annotated[Text, option("-o, --output FOLDER", "A new or empty folder to write to.")]
MapBrokers = Annotated[
    Text, option("--map-brokers 1=11,...", "New ids of brokers, OLD=NEW with commas between.")
]
Formatted = Annotated[
    Text,
    option(
        "--formatted DIR",
        "For dynamic voters, from 4.4 on: a new controller's metadata.log.dir after kafka-storage "
        "format. Its voters go into the checkpoint too.",
    ),
]


def restore(
    release: Release,
    paths: Sources = None,
    lake: options.LakeOrPaths = None,
    cluster: options.Cluster = None,
    at_offset: options.AtOffset = None,
    at_time: options.AtTime = None,
    committed_only: options.CommittedOnly = False,
    output: Output = None,
    formatted: Formatted = None,
    map_brokers: MapBrokers = None,
    dry_run: options.DryRun = False,
    json_output: options.Json = False,
) -> int:
    """Make the checkpoint from which a new cluster boots with the metadata of an old one.

    Use it when all controllers are gone, or to copy a cluster. Topics keep their ids, so brokers
    can keep the data in their old log directories. The checkpoint has features, topics, partitions,
    configs, quotas, ACLs, SCRAM credentials (not from redacted sources) and the next producer id.
    The command lists everything that will be different; with --dry-run it writes nothing.

    Kafka appends the records of its bootstrap checkpoint when the first leader finds an empty log.
    Kafka documents only features there; docs/how-to/runbooks.md names the releases with
    which the other records were tried. Try it on a test cluster first, and keep the old
    directories.

    Of several directories the command takes the one with which `kraftlake recover --plan` would go
    on.

    \b
    Examples:
      kraftlake restore --release 4.1 --dry-run left/1 left/2
      kraftlake restore --release 3.9 --lake lake --at-offset 1526 -o restored
      kraftlake restore --release 4.4 --formatted /var/kafka/metadata left/ -o restored
      kraftlake restore --release 4.4 --map-brokers 1=11,2=12 left/ -o restored

    --json: a line each with kind (restored, change), entity, number; a change also has detail and
    examples. Exit codes: 0, 2 usage (also a log with records that can't be read).
    """
    from jobs.directories import restore as job
    from jobs.moments import Moment, moment_of
    from replica.metadata.changes.releases import NEWEST_LEVELS

    if release not in NEWEST_LEVELS:
        raise UsageError(f"--release {release}: expected one of {', '.join(NEWEST_LEVELS)}")
    combinations.exclusive({"LOGDIR": paths, "--lake": lake})
    lake = options.lake_unless(paths, lake, "restore")
    if (output is None) != dry_run:
        raise UsageError("restore: give either -o FOLDER or --dry-run")
    of_lake = {"--cluster": cluster, "--at-time": at_time, "--committed-only": committed_only}
    combinations.needs("--lake", lake, of_lake)
    return job.run(
        job.RestoreOptions(
            release=release,
            output=output,
            paths=tuple(paths or ()),
            lake=lake,
            cluster=cluster,
            moment=Moment(at_offset, moment_of("--at-time", at_time)),
            committed_only=committed_only,
            formatted=formatted,
            brokers=job.broker_map(map_brokers),
            json_output=json_output,
        )
    )

"""Commands of the replica engine."""

from __future__ import annotations

import typer

from jobs.commands import options

replica = typer.Typer(
    name="replica", no_args_is_help=True, help="A replica of a metadata quorum, as a process."
)


def simulate(
    seeds: options.Seeds, events: options.Events = 2000, json_output: options.Json = False
) -> int:
    """Run the replica engine on simulated disks and networks that fail, checking Raft's promises.

    \b
    Example:
      kraftlake simulate --seeds 0:200 --events 2000

    --json: seed, events, result (ok or the broken invariant). Exit codes: 0, 1 broken, 2 usage.
    """
    from jobs import simulate as job

    return job.campaign(job.Options(seeds, events, json_output))


@replica.command("format", short_help="Name a directory, as kafka-storage format does.")
def format_(
    config: options.ServerProperties,
    cluster_id: options.ClusterId,
    standalone: options.Standalone = False,
    initial_controllers: options.InitialControllers = "",
    ignore_formatted: options.IgnoreFormatted = False,
    json_output: options.Json = False,
) -> int:
    """Make a node's log directory: its name, and the voters its quorum begins with.

    Once for each node, before its first start. The first voters get --standalone, or all of them
    the same --initial-controllers; a node that joins a quorum later, or one of a static quorum
    (controller.quorum.voters), gets neither.

    \b
    Examples:
      kraftlake replica format -c node1.properties -t Lr3UIdBxT-GFPYE5uprmrg --standalone
      kraftlake replica format -c node1.properties -t Lr3UIdBxT-GFPYE5uprmrg \\
        --initial-controllers 1@h1:9093:4nHfNbFbTIWzYIQBhTuVDA,2@h2:9093:sZ3XTpIORUSvUTLyzXIrrQ

    --json: directory, cluster_id, node_id, directory_id, voters, formatted. Exit codes: 0, 2 usage
    (also a directory that is formatted already).
    """
    from jobs import replica_format as job

    return job.run(
        job.Options(
            config, cluster_id, standalone, initial_controllers, ignore_formatted, json_output
        )
    )

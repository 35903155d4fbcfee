"""Commands of the replica engine."""

from __future__ import annotations

import typer

from jobs.commands import options

replica = typer.Typer(
    name="replica", no_args_is_help=True, help="A replica of a metadata quorum, as a process."
)


def simulate(
    seeds: options.Seeds,
    events: options.Events = 2000,
    state: options.CampaignFile = None,
    jobs: options.Processes = 1,
    json_output: options.Json = False,
) -> int:
    """Run the replica engine on simulated disks and networks that fail, checking Raft's promises.

    \b
    Examples:
      kraftlake simulate --seeds 0:200 --events 2000
      kraftlake simulate --seeds 0:20000 --state campaign.jsonl --jobs 2

    --json: seed, events, result (ok or the broken invariant). Exit codes: 0, 1 broken, 2 usage.
    """
    from jobs import simulate as job

    return job.campaign(job.Options(seeds, events, state, jobs, json_output))


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


@replica.command("run", short_help="Run a voter or an observer.")
def run(config: options.ServerProperties, workload: options.WorkloadSpec = "") -> int:
    """Take part in a quorum over TCP, in Kafka's protocol, until SIGTERM or ctrl-C.

    The file is Kafka's server.properties; keys without meaning here are named once and ignored. The
    directory must have been formatted. What happens is told on stderr: roles, epochs, and what a
    person should look into. A leader that is stopped hands over first.

    \b
    Extra keys:
      kraftlake.topic.name, kraftlake.topic.id   another topic than __cluster_metadata: opaque
                                                 records, never snapshotted or trimmed
      kraftlake.principals.ROLE                  who is voter, observer, reader, administrator:
                                                 names with semicolons, * for all
      kraftlake.reader.uncommitted               error (OFFSET_NOT_AVAILABLE) or empty

    Exit codes: 0 stopped in order, 1 stopped by an error or too late, 2 usage.
    """
    from jobs import replica_run as job

    return job.run(job.Options(config, workload))

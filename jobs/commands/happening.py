"""The commands that tell what happened: timeline and history."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from jobs.commands import options
from jobs.commands.combinations import form_of

Zone = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--tz",
        metavar="ZONE",
        help="Show times of this zone, such as Europe/Berlin, or local; UTC by default.",
        show_default=False,
    ),
]
Events = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--event",
        metavar="E",
        help="Only these events, such as election or 'broker_*'. May be repeated.",
        show_default=False,
    ),
]


def timeline(
    paths: options.Paths,
    events: Events = None,
    from_time: options.FromTime = None,
    to_time: options.ToTime = None,
    zone: Zone = None,
    cluster: options.Cluster = None,
    order: options.Order = None,
    json_output: options.Json = False,
    csv: options.Csv = False,
    plain_csv: options.PlainCsv = False,
) -> int:
    """Tell what happened by clock time: elections and their probable cause, voters, brokers.

    For the first question of an incident, straight from directories, without a lake. Name those of
    all nodes that you have: together they tell the branch that the cluster went on with, what
    others hold beside it (divergence), and what a later look at a node lacks (truncation, with the
    time of the last record that is gone). Several looks at the same nodes need --order or the
    capture.json of `kraftlake capture`. Times are those of the leaders' and nodes' clocks.

    \b
    The probable cause of an election:
      first             these logs tell of no leader before
      leader-removed    the leader was no voter any more
      leader-cut-off    the leader went on writing what no majority has
      leader-restarted  the leader's process registered anew within a minute
      leader-resigned   it took less than 2 s, which followers wait for a silent leader, or the
                        former leader voted for the next one
      leader-silent     nothing was appended for 2 s or more, and nothing tells why
      unknown           the records before it are not in these logs

    \b
    Examples:
      kraftlake timeline node1/ node2/ node3/
      kraftlake timeline --tz local --event election --event 'voters*' captures/
      kraftlake timeline --order before,after captures/ --csv > incident.csv

    --json: cluster_id, at (ms), event, name, detail, cause (of elections), offset, leader_epoch,
    nodes (whose directories tell it), commitment (proven, unproven, superseded). Exit codes: 0, 2
    usage (also directories without a metadata log).
    """
    from jobs.clock import clock_of
    from jobs.directories import timeline as job
    from jobs.moments import moment_of

    wanted = job.Options(
        form=form_of(json_output, csv, plain_csv),
        clock=clock_of(zone),
        events=tuple(events or ()),
        since=moment_of("--from-time", from_time),
        until=moment_of("--to-time", to_time),
        cluster=cluster,
        order=options.names_in(order),
    )
    return job.run(paths, wanted)

"""Options of commands that run nodes, connect to them, or play them."""

from __future__ import annotations

from typing import Annotated

import typer

from jobs.commands.options import Number, Text, on_disk

ScenarioName = Annotated[
    Text,
    typer.Argument(
        metavar="[SCENARIO]", help="A scenario's name, such as split-brain.", show_default=False
    ),
]
ScenarioDirectory = Annotated[
    Text,
    typer.Option(
        "--output",
        "-o",
        callback=on_disk("-o"),
        metavar="DIR",
        help="A new folder for the scenario's nodes.",
    ),
]
ListScenarios = Annotated[bool, typer.Option("--list", help="List the scenarios.")]
Seeds = Annotated[
    Text, typer.Option("--seeds", metavar="A:B", help="Run once for each seed from A to B - 1.")
]
Events = Annotated[
    int, typer.Option("--events", min=1, metavar="N", help="The number of events in each run.")
]
CampaignFile = Annotated[
    str | None,
    typer.Option(
        "--state", metavar="FILE", help="Keep finished runs in FILE, and run only those missing."
    ),
]
Guided = Annotated[
    bool,
    typer.Option(
        "--guided",
        help="Let every second run continue one that reached states new to the campaign.",
    ),
]
Forks = Annotated[
    Text,
    typer.Option(
        "--forks", metavar="EVENT.SEED,...", help="Draw by SEED from event number EVENT on."
    ),
]
Processes = Annotated[
    int, typer.Option("--jobs", min=1, metavar="N", help="Share the runs among N processes.")
]

ServerProperties = Annotated[
    str,
    typer.Option(
        "--config", "-c", metavar="FILE", help="The node's server.properties, in Kafka's format."
    ),
]
ClusterId = Annotated[
    str,
    typer.Option(
        "--cluster-id", "-t", metavar="ID", help="22 base64 characters, the same on all nodes."
    ),
]
Standalone = Annotated[
    bool, typer.Option("--standalone", help="Begin a quorum whose only voter is this node.")
]
InitialControllers = Annotated[
    str,
    typer.Option(
        "--initial-controllers",
        metavar="ID@HOST:PORT:DIRECTORY,...",
        help="The quorum's first voters; give the same list on each of them.",
        show_default=False,
    ),
]
IgnoreFormatted = Annotated[
    bool,
    typer.Option("--ignore-formatted", help="Do nothing to a directory that is formatted already."),
]
ScramUser = Annotated[str, typer.Option("--user", metavar="NAME", help="The user's name.")]
ScramMechanism = Annotated[
    str, typer.Option("--mechanism", metavar="M", help="SCRAM-SHA-256 or SCRAM-SHA-512.")
]
ScramIterations = Annotated[
    int,
    typer.Option(
        "--iterations", metavar="N", help="Rounds of hashing for each guess: 4096 to 16384."
    ),
]
WorkloadSpec = Annotated[
    str,
    typer.Option(
        "--workload",
        metavar="RATE,BYTES",
        help="While leading, append RATE records a second of BYTES each, and print how many were "
        "committed.",
        show_default=False,
    ),
]

LogFormat = Annotated[
    str,
    typer.Option(
        "--log-format",
        metavar="text|json",
        help="The form of events on stderr: lines for people, or JSON with stable fields.",
    ),
]

Bootstrap = Annotated[
    str,
    typer.Option(
        "--bootstrap",
        "-b",
        metavar="HOST:PORT",
        help="The nodes to connect to first, separated by commas.",
    ),
]
RecordSource = Annotated[
    Text,
    typer.Argument(
        metavar="[FILE]",
        help="A file with a record on each line; stdin by default.",
        show_default=False,
    ),
]
JsonRecords = Annotated[
    bool,
    typer.Option("--records", help="Each line is a JSON object with key, value and headers."),
]
RawRecord = Annotated[
    bool, typer.Option("--raw", help="The whole input is the value of one record.")
]
AtLeastOnce = Annotated[
    bool,
    typer.Option(
        "--at-least-once",
        help="Send records again that the log may have already, and say so each time.",
    ),
]
AppendTimeout = Annotated[
    float,
    typer.Option(
        "--timeout", min=0.1, metavar="S", help="Wait S seconds at most until a batch is committed."
    ),
]
LeaderTimeout = Annotated[
    float,
    typer.Option("--timeout", min=0.1, metavar="S", help="Look for a leader S seconds at most."),
]
Watch = Annotated[
    float | None,
    typer.Option("--watch", min=0.1, metavar="S", help="Ask again every S seconds."),
]
CaughtUpWithin = Annotated[
    int,
    typer.Option(
        "--caught-up-within",
        min=1,
        metavar="MS",
        help="A replica keeps up if it was at the leader's log end in the last MS ms.",
    ),
]
CommandConfig = Annotated[
    Text,
    typer.Option(
        "--command-config",
        metavar="FILE",
        help="The properties of a Kafka client, for the connection: security.protocol, "
        "sasl.mechanism, sasl.jaas.config, ssl.* (PEM), client.id, request.timeout.ms.",
    ),
]
Topic = Annotated[str, typer.Option("--topic", metavar="T", help="The topic's name.")]
PartitionIndex = Annotated[
    int, typer.Option("--partition", min=0, metavar="N", help="The partition of the topic.")
]
StartAt = Annotated[
    str,
    typer.Option(
        "--from", metavar="START", help="Where to begin: earliest, latest, OFFSET or OFFSET:EPOCH."
    ),
]
SelectorName = Annotated[
    str,
    typer.Option(
        "--replica-selector",
        metavar="NAME",
        help="Which replica to read from: leader, rack, nearest, least-lag, or module:Class.",
    ),
]
Rack = Annotated[
    str,
    typer.Option(
        "--rack",
        metavar="RACK",
        help="The rack of this client: the leader, or the selector rack, picks a replica in it.",
        show_default=False,
    ),
]
Follow = Annotated[
    bool,
    typer.Option(
        "--follow/--until-end", help="Wait for new records, or stop where the log ends now."
    ),
]
SilenceTimeout = Annotated[
    float,
    typer.Option("--timeout", min=0.1, metavar="S", help="Fail if no node answers for S seconds."),
]

RecordingDirectory = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        callback=on_disk("-o"),
        metavar="DIR",
        help="The folder of the recording: a new one, or one of an earlier run.",
    ),
]
ObserverId = Annotated[
    Number,
    typer.Option(
        "--node-id",
        min=0,
        max=2**31 - 1,
        metavar="N",
        help="Fetch as node N, an id that no other node has; by default a random number above "
        "10^9, kept in DIR.",
    ),
]
Anonymous = Annotated[
    bool,
    typer.Option(
        "--anonymous",
        help="Fetch without a node id: leaders don't list this observer. Needs no right Describe.",
    ),
]
KnownClusterId = Annotated[
    str,
    typer.Option(
        "--cluster-id",
        metavar="ID",
        help="The cluster's id, for when no node may tell it to this principal.",
        show_default=False,
    ),
]
ListenAt = Annotated[
    str,
    typer.Option(
        "--listen",
        metavar="HOST:PORT",
        help="Serve the recording at this address, read-only, to any Kafka client.",
        show_default=False,
    ),
]
MetricsAt = Annotated[
    str,
    typer.Option(
        "--metrics",
        metavar="HOST:PORT",
        help="Watch the quorum, and serve its metrics for Prometheus at this address, with "
        "/healthz and /readyz.",
        show_default=False,
    ),
]
UntilCaughtUp = Annotated[
    bool,
    typer.Option(
        "--until-caught-up",
        help="Stop once the recording has reached the first high watermark that the leader told.",
    ),
]
CatchUpTimeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        min=0.1,
        metavar="S",
        help="With --until-caught-up: fail if that takes longer than S seconds.",
    ),
]

"""Options of commands that run nodes, connect to them, or play them."""

from __future__ import annotations

from typing import Annotated

import typer

from jobs.commands.options import Number, Text, on_disk

ScenarioName = Annotated[
    Text,
    typer.Argument(metavar="[SCENARIO]", help="Such as split-brain.", show_default=False),
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
    Text, typer.Option("--seeds", metavar="A:B", help="The seeds from A to B - 1, a run each.")
]
Events = Annotated[
    int, typer.Option("--events", min=1, metavar="N", help="Events under faults in each run.")
]
CampaignFile = Annotated[
    str | None,
    typer.Option("--state", metavar="FILE", help="Remember what is done there, and go on from it."),
]
Guided = Annotated[
    bool,
    typer.Option("--guided", help="Let every second run go on from one that reached new things."),
]
Forks = Annotated[
    Text,
    typer.Option(
        "--forks", metavar="EVENT.SEED,...", help="From these events on draw by these seeds."
    ),
]
Processes = Annotated[int, typer.Option("--jobs", min=1, metavar="N", help="Processes.")]

ServerProperties = Annotated[
    str,
    typer.Option(
        "--config", "-c", metavar="FILE", help="The node's server.properties, as Kafka's."
    ),
]
ClusterId = Annotated[
    str,
    typer.Option(
        "--cluster-id", "-t", metavar="ID", help="22 base64 characters, the same on all nodes."
    ),
]
Standalone = Annotated[
    bool, typer.Option("--standalone", help="This node is the only voter to begin with.")
]
InitialControllers = Annotated[
    str,
    typer.Option(
        "--initial-controllers",
        metavar="ID@HOST:PORT:DIRECTORY,...",
        help="The voters to begin with; the same on each of them.",
        show_default=False,
    ),
]
IgnoreFormatted = Annotated[
    bool,
    typer.Option("--ignore-formatted", help="Leave a directory that is formatted as it is."),
]
ScramUser = Annotated[str, typer.Option("--user", metavar="NAME", help="Who may log in.")]
ScramMechanism = Annotated[
    str, typer.Option("--mechanism", metavar="M", help="SCRAM-SHA-256 or SCRAM-SHA-512.")
]
ScramIterations = Annotated[
    int,
    typer.Option("--iterations", metavar="N", help="How much work a guess costs: 4096 to 16384."),
]
WorkloadSpec = Annotated[
    str,
    typer.Option(
        "--workload",
        metavar="RATE,BYTES",
        help="While leading, append RATE records a second of BYTES each, and print how it went.",
        show_default=False,
    ),
]

LogFormat = Annotated[
    str,
    typer.Option(
        "--log-format",
        metavar="text|json",
        help="How stderr tells what happens: lines for people, or JSON with stable fields.",
    ),
]

Bootstrap = Annotated[
    str,
    typer.Option(
        "--bootstrap", "-b", metavar="HOST:PORT", help="Nodes to ask first, commas between."
    ),
]
RecordSource = Annotated[
    Text,
    typer.Argument(
        metavar="[FILE]", help="A record on each line; stdin by default.", show_default=False
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
        "--at-least-once", help="Send records again that may be there; each time is told."
    ),
]
AppendTimeout = Annotated[
    float,
    typer.Option("--timeout", min=0.1, metavar="S", help="Seconds until a batch is committed."),
]
LeaderTimeout = Annotated[
    float, typer.Option("--timeout", min=0.1, metavar="S", help="Seconds to look for a leader.")
]
Watch = Annotated[
    float | None,
    typer.Option("--watch", min=0.1, metavar="S", help="Look again every S seconds."),
]
CaughtUpWithin = Annotated[
    int,
    typer.Option(
        "--caught-up-within",
        min=1,
        metavar="MS",
        help="How recently a replica must have been at the leader's log end.",
    ),
]
CommandConfig = Annotated[
    Text,
    typer.Option(
        "--command-config",
        metavar="FILE",
        help="How to connect, as a Kafka client's properties: security.protocol, sasl.mechanism, "
        "sasl.jaas.config, ssl.* (PEM), client.id, request.timeout.ms.",
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
        help="Where we are: the leader may name a replica there, and the rack selector takes one.",
        show_default=False,
    ),
]
Follow = Annotated[
    bool,
    typer.Option(
        "--follow/--until-end", help="Go on with what comes, or end where the log ends now."
    ),
]
SilenceTimeout = Annotated[
    float,
    typer.Option(
        "--timeout", min=0.1, metavar="S", help="Seconds after which silence is an error."
    ),
]

RecordingDirectory = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        callback=on_disk("-o"),
        metavar="DIR",
        help="Where to record; a new folder, or one recorded to.",
    ),
]
ObserverId = Annotated[
    Number,
    typer.Option(
        "--node-id",
        min=0,
        max=2**31 - 1,
        metavar="N",
        help="Fetch as node N, which nobody else may be; by default a drawn number above 10^9, "
        "kept in DIR.",
    ),
]
Anonymous = Annotated[
    bool,
    typer.Option(
        "--anonymous", help="Fetch without an id: no leader counts or lists it. Needs no Describe."
    ),
]
KnownClusterId = Annotated[
    str,
    typer.Option(
        "--cluster-id",
        metavar="ID",
        help="The cluster's id, where no node may tell it.",
        show_default=False,
    ),
]
ListenAt = Annotated[
    str,
    typer.Option(
        "--listen",
        metavar="HOST:PORT",
        help="Serve the recording there, read-only, to any Kafka client.",
        show_default=False,
    ),
]
MetricsAt = Annotated[
    str,
    typer.Option(
        "--metrics",
        metavar="HOST:PORT",
        help="Watch the quorum, and serve its metrics to Prometheus there, with /healthz and "
        "/readyz.",
        show_default=False,
    ),
]
UntilCaughtUp = Annotated[
    bool,
    typer.Option("--until-caught-up", help="End once the first high watermark told is recorded."),
]
CatchUpTimeout = Annotated[
    float,
    typer.Option(
        "--timeout", min=0.1, metavar="S", help="With --until-caught-up: seconds it may take."
    ),
]

"""Options of commands that run nodes, connect to them, or play them."""

from __future__ import annotations

from typing import Annotated

from jobs.commands.options import on_disk
from jobs.commands.parameters import Number, Text, argument, option

ScenarioName = Annotated[Text, argument("[SCENARIO]", "A scenario's name, such as split-brain.")]
ScenarioDirectory = Annotated[
    Text,
    option("-o, --output DIR", "A new folder for the scenario's nodes.", callback=on_disk("-o")),
]
ListScenarios = Annotated[bool, option("--list", "List the scenarios.")]
Seeds = Annotated[Text, option("--seeds A:B", "Run once for each seed from A to B - 1.")]
Events = Annotated[int, option("--events N", "The number of events in each run.", min=1)]
CampaignFile = Annotated[
    str | None, option("--state FILE", "Keep finished runs in FILE, and run only what it lacks.")
]
Guided = Annotated[
    bool,
    option(
        "--guided", "Let every second run continue one that reached states new to the campaign."
    ),
]
Forks = Annotated[
    Text,
    option("--forks EVENT.SEED,...", "From event number EVENT on, draw random numbers by SEED."),
]
Processes = Annotated[int, option("--jobs N", "Share the runs among N processes.", min=1)]

ServerProperties = Annotated[
    str, option("-c, --config FILE", "The node's server.properties, in Kafka's format.")
]
ClusterId = Annotated[
    str,
    option("-t, --cluster-id ID", "The cluster's id: 22 base64 characters, the same on all nodes."),
]
Standalone = Annotated[
    bool, option("--standalone", "Begin a quorum whose only voter is this node.")
]
InitialControllers = Annotated[
    str,
    option(
        "--initial-controllers ID@HOST:PORT:DIRECTORY,...",
        "The quorum's first voters; give the same list on each of them.",
    ),
]
IgnoreFormatted = Annotated[
    bool, option("--ignore-formatted", "Do nothing to a directory that is formatted already.")
]
ScramUser = Annotated[str, option("--user NAME", "The user's name.")]
ScramMechanism = Annotated[str, option("--mechanism M", "SCRAM-SHA-256 or SCRAM-SHA-512.")]
ScramIterations = Annotated[
    int, option("--iterations N", "Rounds of hashing for each guess: 4096 to 16384.")
]
WorkloadSpec = Annotated[
    str,
    option(
        "--workload RATE,BYTES",
        "While leading, append RATE records a second of BYTES each, and print how many were "
        "committed.",
    ),
]

LogFormat = Annotated[
    str,
    option(
        "--log-format text|json",
        "The form of events on stderr: lines for people, or JSON with stable fields.",
    ),
]

Bootstrap = Annotated[
    str, option("-b, --bootstrap HOST:PORT", "The nodes to connect to first, separated by commas.")
]
RecordSource = Annotated[
    Text, argument("[FILE]", "A file with a record on each line; stdin by default.")
]
JsonRecords = Annotated[
    bool, option("--records", "Each line is a JSON object with key, value and headers.")
]
RawRecord = Annotated[bool, option("--raw", "The whole input is the value of one record.")]
AtLeastOnce = Annotated[
    bool,
    option(
        "--at-least-once", "Send records again that the log may have already, and say so each time."
    ),
]
AppendTimeout = Annotated[
    float, option("--timeout S", "Wait S seconds at most until a batch is committed.", min=0.1)
]
LeaderTimeout = Annotated[
    float, option("--timeout S", "Look for a leader S seconds at most.", min=0.1)
]
Watch = Annotated[float | None, option("--watch S", "Ask again every S seconds.", min=0.1)]
CaughtUpWithin = Annotated[
    int,
    option(
        "--caught-up-within MS",
        "A replica keeps up if it was at the leader's log end in the last MS ms.",
        min=1,
    ),
]
CommandConfig = Annotated[
    Text,
    option(
        "--command-config FILE",
        "The properties of a Kafka client, for the connection: security.protocol, sasl.mechanism, "
        "sasl.jaas.config, ssl.* (PEM), client.id, request.timeout.ms.",
    ),
]
Topic = Annotated[str, option("--topic T", "The topic's name.")]
PartitionIndex = Annotated[int, option("--partition N", "The partition of the topic.", min=0)]
StartAt = Annotated[
    str, option("--from START", "Where to begin: earliest, latest, OFFSET or OFFSET:EPOCH.")
]
SelectorName = Annotated[
    str,
    option(
        "--replica-selector NAME",
        "Which replica to read from: leader, rack, nearest, least-lag, or module:Class.",
    ),
]
Rack = Annotated[
    str,
    option(
        "--rack RACK",
        "The rack of this client: the leader, or the selector rack, picks a replica in it.",
    ),
]
Follow = Annotated[
    bool, option("--follow/--until-end", "Wait for new records, or stop where the log ends now.")
]
SilenceTimeout = Annotated[
    float, option("--timeout S", "Fail if no node answers for S seconds.", min=0.1)
]

RecordingDirectory = Annotated[
    str,
    option(
        "-o, --output DIR",
        "The folder of the recording: a new one, or one of an earlier run.",
        callback=on_disk("-o"),
    ),
]
ObserverId = Annotated[
    Number,
    option(
        "--node-id N",
        "Fetch as node N, an id that no other node has; by default a random number above 10^9, "
        "kept in DIR.",
        min=0,
        max=2**31 - 1,
    ),
]
Anonymous = Annotated[
    bool,
    option(
        "--anonymous",
        "Fetch without a node id: leaders don't list this observer. Needs no right Describe.",
    ),
]
KnownClusterId = Annotated[
    str,
    option("--cluster-id ID", "The cluster's id, for when no node may tell it to this principal."),
]
ListenAt = Annotated[
    str,
    option(
        "--listen HOST:PORT", "Serve the recording at this address, read-only, to any Kafka client."
    ),
]
MetricsAt = Annotated[
    str,
    option(
        "--metrics HOST:PORT",
        "Watch the quorum, and serve its metrics for Prometheus at this address, with /healthz and "
        "/readyz.",
    ),
]
UntilCaughtUp = Annotated[
    bool,
    option(
        "--until-caught-up",
        "Stop once the recording has reached the first high watermark that the leader told.",
    ),
]
CatchUpTimeout = Annotated[
    float,
    option(
        "--timeout S", "With --until-caught-up: fail if that takes longer than S seconds.", min=0.1
    ),
]

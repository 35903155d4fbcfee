"""Commands that read from running nodes."""

from jobs.cli.commands import options
from jobs.cli.commands.parameters import command, option
from replica.model.keys import METADATA_TOPIC


@command("cli.engine.consume:run", "Print the records of a partition, read from any replica.")
class ConsumeOptions:
    """Print the committed records of a partition, read from its leader or from a follower.

    The records of a kraftlake quorum's metadata log are decoded as dump decodes them. The records
    of any other topic, also of a Kafka cluster, are shown by key and value. The command checks its
    position against the leader's epochs: records that it printed and that an election then removed
    are named on stderr.

    Where the log no longer holds the position, --from earliest or latest starts there again; with
    an OFFSET that is an error. OFFSET:EPOCH first asks the leader whether the record before OFFSET
    is still the one of EPOCH.

    --json: offset, epoch, timestamp (ms), type, version, data; of other topics offset, epoch,
    timestamp, key, value, headers (text, or base64 in an object). Secrets of metadata records show
    as *** and a fingerprint. Records of aborted transactions are printed too.

    \b
    Examples:
      kraftlake consume -b localhost:9093
      kraftlake consume -b n1:9093,n2:9093 --from 1500:7 --until-end --json
      kraftlake consume -b localhost:9092 --topic orders --replica-selector nearest
      kraftlake consume -b n1:9093 --command-config client.properties

    Exit codes: 0, 1 when a record could not be decoded or was lost after it was printed, or
    no node answered, 2 usage, 130 ctrl-C.
    """

    bootstrap: options.Bootstrap
    topic: options.Topic = METADATA_TOPIC
    partition: int = option("--partition N", "The partition of the topic.", default=0, min=0)
    start: str = option(
        "--from START",
        "Where to begin: earliest, latest, OFFSET or OFFSET:EPOCH.",
        default="earliest",
    )
    replica_selector: str = option(
        "--replica-selector NAME",
        "Which replica to read from: leader, rack, nearest, least-lag, or module:Class.",
        default="leader",
    )
    rack: str = option(
        "--rack RACK",
        "The rack of this client: the leader, or the selector rack, picks a replica in it.",
        default="",
    )
    follow: bool = option(
        "--follow/--until-end",
        "Wait for new records, or stop where the log ends now.",
        default=True,
    )
    timeout_s: float = option(
        "--timeout S", "Fail if no node answers for S seconds.", default=30.0, min=0.1
    )
    json_output: options.Json = False
    keep_secrets: options.KeepSecrets = False
    show_config: options.ShowConfig = None
    redact_key: options.RedactKey = None
    command_config: options.CommandConfig = None

"""The command that answers whether a planned change is safe."""

from jobs.cli.commands import options
from jobs.cli.commands.combinations import exclusive, given_options, needs
from jobs.cli.commands.parameters import Number, Text, Texts, command, option
from replica.errors import UsageError


@command("cli.asking.preflight:run", "Is a change safe? Brokers, voters, partitions, upgrades.")
class PlanOptions:
    """Judge a planned change of a cluster: safe, unsafe, unknown, or nothing to do.

    safe means that the log shows no reason against the change. unsafe means that Kafka refuses the
    change, or the change can never finish, or partitions lose their leader or fall below
    min.insync.replicas, or the quorum loses its majority. Each reason names the partition or node,
    and the offset of the record that shows it. unknown means that the log doesn't hold what the
    answer names, such as the brokers' min.insync.replicas without --broker-config. A line `needs`
    names a condition of the answer that nothing here shows: that enough voters run, that nodes
    whose logs end early are caught up, that voters whose directories are not named hold nothing
    newer. The first line of an answer with such conditions says `if its needs hold`, and the exit
    code is 4, so that a script stops. Check the conditions, and run the command again with
    --needs-checked. No change is safe where logs conflict, where the newest copy breaks off, or
    where no majority of the voters holds the records.

    The command judges the newest state in the directories, or the state in a lake. In a lake it
    also judges an earlier state (--at-offset, --at-time, --committed-only). With -b it judges the
    state of a running quorum: it fetches the log up to the high watermark into a temporary folder,
    as an observer that the leader doesn't list. It judges each change on the same state, and makes
    none.

    --downgrade-binaries judges the nodes' directories; in a lake their newest captures, without
    bootstrap.checkpoint; with -b the quorum's log alone. A line `needs` says what is not judged.

    \b
    Examples:
      kraftlake plan --stop-broker 2 node1/
      kraftlake plan --reassignment moves.json --broker-config server.properties node1/
      kraftlake plan --upgrade 4.4 --lake lake
      kraftlake plan --downgrade 4.1 --downgrade-binaries 4.1 node1/ node2/ node3/
      kraftlake plan -b localhost:9093 --remove-voter 3
      kraftlake plan --while 10 --stop-broker 3 node1/ && kafka-server-stop.sh
      kraftlake plan --roll --decommission 4 node1/
      kraftlake explain --runbook before-you-change

    --json: a line with the verdict, as `check` prints it; then, with the kind plan, action, answer,
    is_conditional, end_offset, reasons (answer, subject, detail, offset), needs, first (what to do
    before), order, runbook, a line for each change. Exit codes: 0 safe or nothing to do, 1 unsafe
    (or a quorum, or directories, that can't be read), 3 unknown, 4 safe or nothing to do if its
    needs hold (0 with --needs-checked), 2 usage. Of several changes the gravest counts: 1, 3, 4, 0.
    """

    paths: options.PathsOfAState = None
    lake: options.LakeOrPaths = None
    bootstrap: Text = option(
        "-b, --bootstrap HOST:PORT",
        "Judge the state of a running quorum: the nodes to connect to first, separated by commas.",
        default=None,
    )
    cluster: options.Cluster = None
    at_offset: options.AtOffset = None
    at_time: options.AtTime = None
    committed_only: options.CommittedOnly = False
    order: options.Order = None
    pass_over: options.PassOver = None
    reassignment: Text = option(
        "--reassignment FILE",
        "Reassign partitions by the JSON file of kafka-reassign-partitions.",
        default=None,
    )
    stop_broker: Texts = option(
        "--stop-broker N,...",
        "Stop these brokers. May be repeated: all that are named stop at the same time.",
        default=None,
    )
    stop_rack: Text = option("--stop-rack R", "Stop all brokers of a rack.", default=None)
    decommission: Texts = option(
        "--decommission N,...",
        "Remove these brokers from the cluster: says which replicas have to move first, and "
        "whether the other brokers can hold them. Safe once these brokers hold no replica and are "
        "no voters.",
        default=None,
    )
    roll: bool = option(
        "--roll",
        "Restart all nodes, one at a time: prints the order, or the nodes that prevent an order.",
        default=False,
    )
    remove_voter: Number = option(
        "--remove-voter N", "Remove controller N from the voters.", default=None, min=0
    )
    add_voter: Number = option("--add-voter N", "Make controller N a voter.", default=None, min=0)
    upgrade: Text = option(
        "--upgrade R",
        "Raise metadata.version to that of release R.",
        default=None,
        callback=options.known_release("--upgrade"),
    )
    downgrade: Text = option(
        "--downgrade R",
        "Lower metadata.version to that of release R.",
        default=None,
        callback=options.known_release("--downgrade"),
    )
    downgrade_binaries: Text = option(
        "--downgrade-binaries R",
        "Run Kafka release R on the nodes' directories as they are: says what R can't read in "
        "them.",
        default=None,
        callback=options.known_release("--downgrade-binaries"),
    )
    to_dynamic: bool = option(
        "--to-dynamic", "Turn static voters into dynamic ones (kraft.version 1).", default=False
    )
    finish_migration: bool = option(
        "--finish-migration",
        "End a migration from ZooKeeper: says which brokers still run with ZooKeeper, what else "
        "has to be done, and until when the cluster can go back to ZooKeeper.",
        default=False,
    )
    broker_config: options.BrokerConfig = None
    while_s: float | None = option(
        "--while SECONDS",
        "Judge again every SECONDS until the answer is safe. An answer that equals the last one is "
        "printed as one line.",
        default=None,
        min=0.1,
    )
    needs_checked: options.NeedsChecked = False
    timeout_s: float = option(
        "--timeout S",
        "With -b: fail if reading the quorum's log takes longer than S seconds.",
        default=60.0,
        min=0.1,
    )
    command_config: options.CommandConfig = None
    limit: int = option(
        "--limit N", "In text, show N reasons of each change at most.", default=20, min=0
    )
    json_output: options.Json = False

    def __post_init__(self) -> None:
        exclusive(given_options(self, "paths", "lake", "bootstrap"))
        of_a_lake = given_options(self, "at_offset", "at_time", "committed_only")
        needs("--lake", not (self.paths or self.bootstrap), of_a_lake)
        needs("--bootstrap", self.bootstrap, given_options(self, "timeout_s", "command_config"))
        needs("PATH", self.paths, given_options(self, "order"))
        if self.downgrade_binaries is not None and any(
            one is not None for one in of_a_lake.values()
        ):
            raise UsageError(
                "--downgrade-binaries judges what the nodes would read now: leave out "
                "--at-offset, --at-time and --committed-only"
            )
        needs("PATH", self.paths or self.bootstrap, given_options(self, "pass_over"))
        if self.bootstrap and self.cluster is not None:
            raise UsageError("--cluster goes with --lake or PATH: a quorum is of one cluster")

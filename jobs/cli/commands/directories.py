"""Commands over logs on disk: dump, diff, check, explain, recover."""

from jobs.cli.commands import options
from jobs.cli.commands.combinations import exclusive, given_options, needs
from jobs.cli.commands.parameters import Number, Text, Texts, argument, command, option
from pipelines.object_store import check_local
from replica.errors import UsageError


@command("cli.directories.dump:run", "Print the records of segments, snapshots or directories.")
class DumpOptions:
    """Print the records of segments, snapshots or whole directories, offline.

    For a directory, dump prints the .log segments in offset order, then the complete snapshots. A
    file that is named is always printed, also a .deleted or .part one. A small file (quorum-state,
    leader-epoch-checkpoint, meta.properties, partition.metadata, an index, a producer snapshot)
    gives one object. With an offset range, the snapshots of directories are left out: a snapshot's
    offsets count its own records, and are not offsets of the log.

    Text: a line per file, then offset, epoch, time (UTC), type, version, Kafka's JSON. --json:
    file, offset, epoch, timestamp (ms), type, version, data; with --batches file, position,
    base_offset, last_offset, epoch, is_control, count, size, crc (null where the batch may hold a
    secret, which the CRC would help to guess), crc_valid. Secrets show as *** and a fingerprint.
    Records of a partition that is no metadata log (kraftlake.topic.name, a broker's topics) are not
    decoded: file, offset, epoch, timestamp, key, value, headers, with {"base64": ...} for bytes
    that are no text. dump names on stderr what it can't decode, with file, byte and reason, and
    prints the rest. It names a batch with a wrong CRC, and doesn't print that batch's records.

    \b
    Examples:
      kraftlake dump /var/kafka/metadata
      kraftlake dump --type topic --type 'partition*' --from-offset 1500 node2/
      kraftlake dump --json --logs-only node2/ | jq 'select(.type == "LEADER_CHANGE")'
      kraftlake dump --batches 00000000000000000000.log
      kraftlake dump node2/__cluster_metadata-0/quorum-state

    Exit codes: 0, 1 when something could not be decoded, 2 usage.
    """

    paths: options.Paths
    json_output: options.Json = False
    batches: bool = option(
        "--batches", "Print batches, not records: position, size, CRC.", default=False
    )
    logs_only: bool = option(
        "--logs-only", "In directories, read the log, not the snapshots.", default=False
    )
    snapshots_only: bool = option(
        "--snapshots-only", "In directories, read the snapshots, not the log.", default=False
    )
    all_files: bool = option(
        "--all", "In directories, read *.deleted, *.part, bootstrap.checkpoint too.", default=False
    )
    from_offset: Number = option(
        "--from-offset N", "Only records from offset N on.", default=None, min=0
    )
    to_offset: Number = option("--to-offset N", "Only records below offset N.", default=None, min=0)
    epoch: Number = option("--epoch E", "Only records of leader epoch E.", default=None, min=0)
    types: Texts = option(
        "--type T",
        "Only records of this type, such as TOPIC_RECORD, 'partition*' or leader_change: in "
        "any case, with wildcards * and ?; _RECORD may be left out. May be repeated.",
        default=None,
    )
    from_time: options.FromTime = None
    to_time: options.ToTime = None
    keep_secrets: options.KeepSecrets = False
    show_config: options.ShowConfig = None
    redact_key: options.RedactKey = None

    def __post_init__(self) -> None:
        exclusive(given_options(self, "logs_only", "snapshots_only"))
        if self.types and self.batches:
            raise UsageError("--type selects records, --batches shows none: drop one")


@command("cli.directories.diff:run", "Compare two directories: where they diverge, what is lost.")
class DiffOptions:
    """Compare two replicas' directories: where their logs diverge, which replica truncates, what is
    lost.

    Use it before a restart, when the logs of two nodes of a cluster may differ. A and B are
    metadata directories, or folders above exactly one; they may be two copies of one replica.
    Batches with a wrong CRC are named and left out. Each lost record is counted as committed, never
    committed (another record is proven committed at its offset, or a voter that may lead lacks the
    record) or unknown, as far as the two directories prove it; --json calls the last two superseded
    and unproven.

    --json: cluster_id, node_a, directory_a, node_b, directory_b, relation (identical, prefix,
    diverged, conflict, disjoint), divergence_offset, epoch_a, epoch_b, truncating_node,
    truncation_offset, fetch_rounds, draft_fetch_rounds, records_lost, committed_lost,
    unproven_lost, superseded_lost.

    \b
    Examples:
      kraftlake diff node2/ node3/
      kraftlake diff --json live/2 split/2 | jq .relation

    Exit codes: 0 the logs are identical or one is a prefix of the other, 1 diverged, conflict,
    disjoint, or a file could not be decoded, 2 usage (also directories of two clusters).
    """

    a: str = argument("A", "The directory of a replica.", callback=check_local)
    b: str = argument(
        "B", "The directory of another replica, or a later copy of A.", callback=check_local
    )
    json_output: options.Json = False
    keep_secrets: options.KeepSecrets = False
    show_config: options.ShowConfig = None


@command("cli.directories.check:run", "Say what is wrong with a cluster, where, and what to do.")
class CheckOptions:
    """Say what is wrong with a cluster, by the metadata directories of its nodes.

    Use it before a restart or after a crash. check reads every batch and record, compares each
    snapshot with the replay of the log, compares the directories with each other, and judges the
    newest state in the logs: controllers, voters, features, brokers, partitions. Name the
    directories of all nodes. The directory of a running node gives no false alarm. After damage in
    one place, check goes on with the other places. `kraftlake explain RULE` says more about a
    finding. For a partition that is no metadata log, check judges everything but the content of
    records.

    Several captures of one replica need a capture.json each, or --order.

    With --config, check also says whether each node starts, starts and never joins its quorum, or
    refuses to start (with Kafka's words), and whether the nodes that were given elect a leader. It
    judges the settings line by line, against the log directories, and against the voters. A log
    directory lies where the settings say, or below PATH. A copy below PATH belongs to the settings
    in the same folder, else to the settings with its node.id.

    --partitions also judges the folders of partitions in brokers' log directories, which lie at or
    below PATH: `kraftlake explain stray-partition` says more. Name all log directories of a broker,
    and a directory with the metadata log. Sizes are those of the segments (.log), as kafka-log-dirs
    shows them: the indexes beside them, for which a broker allocates 20 MiB, don't count.

    Text begins with the verdict on each cluster. OUTAGE: partitions have no leader, or refuse
    writes, so users notice it now. AT RISK: a start of the nodes may lose committed data.
    ATTENTION: something else is wrong. INCOMPLETE: nothing wrong was found, but not everything
    could be judged, for example because voters were not given. HEALTHY: everything was judged, and
    nothing is wrong. The lines below it say what to do, what else is wrong, what could not be
    judged and why, and which moment the verdict is about. A table of the nodes follows, and then
    each finding with its rule, file, byte and offset, its meaning and the next step. Notes need no
    action, and are only counted; -v lists them.

    In the table of nodes, the voters are those of the newest voters record; in a static quorum,
    those of the newest LeaderChange record or quorum-state. An observer is a broker, or a
    controller that is no voter. ok means that there is no warning and no error, and that each
    snapshot equals the replay of the log. no fault found means that there is no warning and no
    error, but check got a single file, or no log to compare a snapshot with.

    --json: each line has a kind. verdict: cluster_id, level (outage, at-risk, attention,
    incomplete, healthy), headline, facts (level, severity, text, next_step, rules), next_steps,
    runbook (a name for `explain --runbook`, or null), not_judged (what, why, next_step), notes (how
    many), end_offset, at (ms) and source of the state that it is about. finding: rule, family
    (files, health), severity (info, which text calls a note, warning, error), file, position
    (byte), offset, epoch, message; of health also cluster_id, end_offset (of the state) and
    subjects (name, what, offset; each partition, node and so on that the rule found).
    log-directory, with --partitions: cluster_id, node_id, directory_id, path, partitions,
    size_bytes (of the partitions), future, deleted and stray (folders that Kafka has marked so),
    and their future_bytes, deleted_bytes and stray_bytes. start, with --config: config, node_id,
    roles, cluster_id, directory_id, release, start (starts, never-joins, refuses), obstacles (rule,
    start, message, kafka: its words). election: election (elects, needs-others, never), voters,
    joining, not_given. formatted, where no log holds a record: cluster_id, node_id, directory_id,
    directories, formatting (standalone, initial-controllers, static, no-voters), voters, epoch,
    records. The last line has the kind summary and, in the field summary: level (the worst),
    checked, errors, warnings, notes (of all findings, shown or not), exit_code; directories with
    directory, cluster_id, node_id, directory_id, role (voter, observer), role_by_own_log,
    partition, verdict (ok, no-fault-found, warning, error), errors, warnings, notes (of the
    findings about files that name the directory), log_start_offset, log_end_offset, epoch,
    lag_records and lag_ms (behind the newest log), snapshots (how many are valid, invalid,
    unverifiable); health with cluster_id, directory, end_offset, is_whole (the state is known to
    the log's end), verdict (healthy, warning, error, null where no state is known), errors,
    warnings, notes; and quorums with cluster_id, voters and not_checked (voters whose directory was
    not given), both with node_id and directory_id.

    \b
    Examples:
      kraftlake check node1/ node2/ node3/
      kraftlake check -q node1/ node2/ node3/
      kraftlake check --json cluster.tar.gz | jq 'select(.kind == "finding") | .rule'
      kraftlake check --json --fail-on error node1/ node2/ node3/ | tail -1 | jq .summary
      kraftlake check --order live,split,final incident/
      kraftlake check --family health --broker-config server.properties node1/
      kraftlake check --config /etc/kafka/server.properties
      kraftlake check --partitions broker11/disk1 broker11/disk2 controller1/
      kraftlake check --readable-by 4.1 node1/ node2/ node3/

    Exit codes: 0 no finding of the severity --fail-on or worse, of files or of health, 1 such
    findings, 2 usage. With --family health or all, an unknown state gives 1, too.
    """

    paths: Texts = argument(
        "[PATH...]",
        f"{options.WHAT_IS_READ}. With --config, folders in which copies of the nodes' log "
        "directories lie.",
        default=None,
        callback=options.each_by(check_local),
    )
    config: Texts = option(
        "--config FILE",
        "A node's server.properties: also say whether the node starts, and whether it joins its "
        "quorum. Name the files of all nodes. Without PATH, the log directories lie where the "
        "settings say.",
        default=None,
    )
    release: Text = option(
        "--release R",
        "With --config: the Kafka release that the nodes are to run, such as 4.1. By default 4.4.",
        default=None,
        callback=options.known_release("--release"),
    )
    login_config: Text = option(
        "--login-config FILE",
        "With --config: the file that the JVM's java.security.auth.login.config names. Without it, "
        "login modules of SASL are looked for in the settings alone.",
        default=None,
    )
    json_output: options.Json = False
    verbose: bool = option("-v, --verbose", "List notes, too.", default=False)
    quiet: bool = option("-q, --quiet", "Print the verdict alone, in one line.", default=False)
    severity: Text = option(
        "--severity S",
        "The least severity shown: note, warning or error. It changes neither the verdict nor the "
        "exit code. By default warning; with -v or --json, note.",
        default=None,
    )
    fail_on: str = option(
        "--fail-on S",
        "The least severity that gives exit code 1: note, warning or error.",
        default="warning",
    )
    order: options.Order = None
    pass_over: options.PassOver = None
    no_replay: bool = option(
        "--no-replay",
        "Skip the slowest checks: the content of snapshots, records that can't be applied.",
        default=False,
    )
    family: Text = option(
        "--family F",
        "Judge only the files, or only the cluster's health. By default, as with all, both.",
        default=None,
    )
    broker_config: options.BrokerConfig = None
    readable_by: Text = option(
        "--readable-by R",
        "Also say what Kafka release R can't read of these files.",
        default=None,
        callback=options.known_release("--readable-by"),
    )
    partitions: bool = option(
        "--partitions",
        "Also compare the partitions' folders in brokers' log directories with the metadata: "
        "folders that a broker renames to -stray when it starts, replicas without a folder, and "
        "sizes.",
        default=False,
    )
    limit: int = option(
        "--limit N",
        "Name at most N places, partitions, nodes and so on of a rule.",
        default=5,
        min=0,
    )

    def __post_init__(self) -> None:
        if not (self.paths or self.config):
            raise UsageError("check: name directories, or a node's server.properties by --config")
        needs("--config", bool(self.config), given_options(self, "release", "login_config"))


@command("cli.directories.recover:run", "Plan which replica a broken quorum should continue from.")
class RecoverOptions:
    """Plan which of the remaining replicas a broken quorum should continue from, and what is lost.

    Use it after disks were lost. Stop nothing that still runs, format nothing, and name every
    directory that is left, of voters and observers. The first step starts whole disks where
    this may give the quorum a leader, for that loses nothing. The plan ranks them by Raft's
    rule: the newest last epoch first, then the longest log. A longer log of an older epoch may
    hold records that were truncated elsewhere. Only voters can be elected. With a majority of
    the voters left, the best voter comes first. Without one, the best of all replicas comes
    first, and new nodes in the place of the lost voters get copies of its log. For each other
    replica the plan counts the records that the first one lacks, as committed, never committed
    or unknown (in --json the last two are superseded and unproven), and says what happens to
    the replica. The steps are commands to paste, of Kafka 3.7 and newer and of kraftlake.
    recover changes nothing itself.

    \b
    The answer for each cluster, and `answer` in --json:
      no committed record of the metadata log is lost
                                     (safe) a majority of the voters is left, or half of an even
                                     number, so the first replica has all committed records.
                                     Without a voter's directory the line names the condition: no
                                     disk here was emptied or restored from an older copy. Where
                                     half is left and the voters may have changed since, it names
                                     that, too (unproven)
      committed records may be lost  (unproven) less is left: records that only lost voters had
                                     are lost
      start no node                  (refused) committed records would be lost, or two logs conflict
      no plan                        (refused) a file could not be read: run as Kafka's user
    The answer is about the logs. Partitions may be down all the same: the verdict says so.

    --json: for each cluster a line with the verdict, as `check` prints it; then, with the kind
    replica, rank, directory, cluster_id, node_id, directory_id, is_voter, last_epoch,
    log_end_offset, relation, at_risk ([first, end) pairs), committed_lost, unproven_lost,
    superseded_lost, answer, has_majority, missing, reasons, partition, wins_election, truncates_to
    (this log's end once it follows the first replica), on_no_voter ([first, end) pairs: offsets
    that the first replica, an observer, has and no voter in these directories), may_win (an
    election of the voters that are left), may_lose ([first, end) pairs: offsets that are lost if a
    voter without them wins), doubt (why it may not count as a voter; null where it counts), needs
    (what the answer relies on, and no file shows).

    --rehearse also plays the steps in the simulator, on copies, as `kraftlake rehearse` does, and
    compares the plan with the outcomes: who leads, what each node truncates and loses. --json then
    has rehearsed: runs, answer, reasons, leads and as_predicted (in how many runs).

    \b
    Examples:
      kraftlake recover --plan node2/ node3/
      kraftlake recover --plan --json left/ | jq -r 'select(.rank == 1) | .directory'
      kraftlake recover --plan --rehearse node2/ node3/
      kraftlake recover --plan --order yesterday,left captures/

    Exit codes: 0 no committed record is lost (with --rehearse in all runs too), 1 any other answer,
    2 usage.
    """

    paths: options.Paths
    order: options.Order = None
    plan: bool = option(
        "--plan", "Print a plan, and change nothing. The command needs this option.", default=False
    )
    rehearse: bool = option(
        "--rehearse",
        "Also play the steps in the simulator, and compare the outcomes.",
        default=False,
    )
    seeds: Text = option(
        "--seeds A:B",
        "With --rehearse: run once for each seed from A to B - 1; 10,000 runs at most.",
        default=None,
    )
    json_output: options.Json = False

    def __post_init__(self) -> None:
        if not self.plan:
            raise UsageError(
                "recover: --plan is missing; kraftlake plans, and changes no directory"
            )
        needs("--rehearse", self.rehearse, given_options(self, "seeds"))


@command("cli.directories.explain:run", "Explain a finding of check, and what to do about it.")
class ExplainOptions:
    """Explain a rule of `kraftlake check`: its meaning, what Kafka does, and what to do. Or print a
    runbook, which says step by step what to do about an incident, or the JSON Schema of what a
    command prints with --json.

    Without a rule, the command lists all rules; with --runbook alone, all runbooks.

    --json: rule, family (files, health), severity, meaning, kafka, next_step, issues (incidents
    that the rule would have found), runbook (null where there is none). Of a runbook: runbook,
    text. Of --runbook alone: runbook, when.

    \b
    Examples:
      kraftlake explain snapshot-log-hole
      kraftlake explain --runbook
      kraftlake explain --runbook disk-that-forgot
      kraftlake explain --schema check > check.schema.json
      kraftlake explain --json | jq 'select(.severity == "error") | .rule'

    Exit codes: 0, 2 usage (no such rule, runbook or command).
    """

    rule: Text = argument("[RULE]", "A rule's name, such as torn-tail.", default=None)
    runbook: Text = option(
        "--runbook [NAME]",
        "Print a runbook, such as disk-that-forgot; without a name list all.",
        default=None,
    )
    schema: Text = option(
        "--schema COMMAND",
        "Print the JSON Schema of the lines that a command prints with --json, such as check.",
        default=None,
    )
    json_output: options.Json = False

    def __post_init__(self) -> None:
        exclusive({"RULE": self.rule, "--runbook": self.runbook, "--schema": self.schema})
        exclusive({"--schema": self.schema, "--json": self.json_output})

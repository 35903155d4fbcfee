"""The commands after a loss: `rehearse` starts captured directories in the simulator, and `restore`
makes the checkpoint from which a new cluster boots."""

from jobs.cli.commands import options
from jobs.cli.commands.combinations import exclusive, given_options, needs
from jobs.cli.commands.parameters import Text, Texts, argument, command, option
from replica.errors import UsageError


@command(
    "cli.directories.rehearse:run", "Simulate a start of captured directories: leader, losses."
)
class RehearseOptions:
    """Rehearse what a quorum's controllers will do with the directories that are left.

    Use it before nodes are started again, after a crash, a split or a lost disk. The simulator
    starts copies of all directories, with their logs, snapshots and quorum-states: one run for each
    seed, which decides when nodes start and how long messages take. The answer says which node
    leads in how many runs, what each node truncates, which committed records are lost, and the
    smallest set of failed voters that loses committed records. The directories are never changed.

    A scenario file has a table [[step]] for each step, with the node ids of this quorum:

    \b
      dead = [3]           these nodes lose power, or never start
      empty = [1]          these nodes start with an empty disk that is formatted anew
      cut = [[1, 2]]       no message passes between these two nodes
      heal = true          all cut links pass messages again
      start = [3]          only these nodes start; without it the first step starts all
      remove_voter = 2     an administrator asks the leader to remove voter 2 (or add_voter = 2)
      wait_ms = 5000       the longest time of the step, in simulated ms

    A file has 100 steps at most, and their wait_ms add up to an hour of simulated time at most.

    A step ends when a leader has committed its whole log and all nodes that it can reach have that
    log, when nothing changes any more, or after 30 s of simulated time. A node ends, as Kafka's
    process does, when others name it as the leader of an epoch that its disk doesn't know; a later
    step may start it again.

    \b
    The answer:
      safe     each run elects a leader, and loses no record that is proven committed
      unsafe   at least one run loses such a record, or ends without a leader
      unknown  the directories lack what the answer depends on, such as a voter's directory
    A line that begins with `needs` names a condition of the answer that no file shows. With such
    a line, `safe` becomes `safe, if its needs hold`, and the exit code is 4, so that a script
    stops. Check the conditions, and run the command again with --needs-checked.

    \b
    Examples:
      kraftlake rehearse node1/ node2/ node3/
      kraftlake rehearse --scenario lost-disk.toml --seeds 0:100 captures/
      kraftlake rehearse -o outcomes captures/; kraftlake check outcomes/outcome-1
      kraftlake rehearse --json captures/ | jq 'select(.kind == "outcome") | .leader'
      kraftlake explain --runbook rehearse-a-start

    Where `kraftlake recover --plan` recommends to leave some nodes stopped, the command also plays
    the start of the other nodes, and prints its outcomes below. The exit code is that of the start
    of all nodes.

    --json: a line with the verdict, as `check` prints it; then kind (answer, outcome,
    recommended_answer, recommended_outcome, smallest_loss), a line each. answer: cluster_id,
    answer, is_conditional (safe if its needs hold), reasons, needs, runs, seeds, voters, leaders,
    start (node ids; null with --scenario). outcome: outcome, seeds, leader, away (voters of whose
    disks nothing is known), epochs, committed_lost and unproven_lost ([first, end) pairs), nodes
    (node_id, truncated, epochs, replaced_by, lost, other, committed_lost, unproven_lost,
    superseded_lost, is_behind, has_new_disk, is_partly_known: the true counts may be higher),
    failed. smallest_loss: bound, sets, seeds_of_each, away, dead, empty, seed, leader,
    committed_lost, scenario, may_lose (dead, empty, unproven_lost: fewer failures that may lose
    records). Exit codes: 0 safe, 1 unsafe (or nothing that was named can be read), 3 unknown, 4
    safe if its needs hold (0 with --needs-checked), 2 usage.
    """

    paths: options.Paths
    order: options.Order = None
    scenario: Text = option(
        "--scenario FILE",
        "A TOML file of the steps to play. Without it, all nodes start.",
        default=None,
    )
    seeds: str = option(
        "--seeds A:B",
        "Run once for each seed from A to B - 1; 10,000 runs at most.",
        default="0:20",
    )
    failures: int = option(
        "--failures N",
        "Search for the smallest set of up to N failed voters that loses committed records; 0 "
        "for no search.",
        default=2,
        min=0,
        max=5,
    )
    output: Text = option(
        "-o, --output FOLDER",
        "Write the disks of each outcome below this new or empty folder.",
        default=None,
        callback=options.on_disk("-o"),
    )
    needs_checked: options.NeedsChecked = False
    json_output: options.Json = False


@command(
    "cli.directories.restore:run", "Make a checkpoint to boot a new cluster with old metadata."
)
class RestoreOptions:
    """Make the checkpoint from which a new cluster boots with the metadata of an old one.

    Use it when all controllers are gone, or to copy a cluster. Topics keep their ids, so brokers
    can keep the data in their old log directories. The checkpoint has features, topics, partitions,
    configs, quotas, ACLs, SCRAM credentials (not from redacted sources) and the next producer id.
    The command lists everything that will be different; with --dry-run it writes nothing.

    Kafka appends the records of its bootstrap checkpoint when the first leader finds an empty log.
    Kafka documents only features there. The runbook "All controllers are gone" names the releases
    with which the other records were tried. Try the checkpoint on a test cluster first, and keep
    the old directories.

    If you name several directories, the command takes the directory of the replica that `kraftlake
    recover --plan` ranks first.

    \b
    Examples:
      kraftlake restore --release 4.1 --dry-run left/1 left/2
      kraftlake restore --release 3.9 --lake lake --at-offset 1526 -o restored
      kraftlake restore --release 4.4 --formatted /var/kafka/metadata left/ -o restored
      kraftlake restore --release 4.4 --map-brokers 1=11,2=12 left/ -o restored
      kraftlake explain --runbook all-controllers-gone

    --json: a line each with kind (restored, change), entity, number; a change also has detail and
    examples. Exit codes: 0, 1 recover --plan says that no node may be started, 2 usage (also a log
    with records that can't be read).
    """

    release: str = option(
        "--release R",
        "The new cluster's Kafka release, such as 4.1.",
        callback=options.known_release("--release"),
    )
    paths: Texts = argument(
        "[LOGDIR...]",
        "Directories of the old cluster's controllers; or else name a lake.",
        default=None,
    )
    order: options.Order = None
    lake: options.LakeOrPaths = None
    cluster: options.Cluster = None
    at_offset: options.AtOffset = None
    at_time: options.AtTime = None
    committed_only: options.CommittedOnly = False
    output: Text = option("-o, --output FOLDER", "A new or empty folder to write to.", default=None)
    formatted: Text = option(
        "--formatted DIR",
        "For dynamic voters, from 4.4 on: a new controller's metadata.log.dir after "
        "kafka-storage format. Its voters go into the checkpoint too.",
        default=None,
    )
    map_brokers: Text = option(
        "--map-brokers 1=11,...", "New ids of brokers, OLD=NEW with commas between.", default=None
    )
    dry_run: options.DryRun = False
    json_output: options.Json = False

    def __post_init__(self) -> None:
        exclusive(given_options(self, "paths", "lake"))
        if (self.output is None) != self.dry_run:
            raise UsageError("restore: give either -o FOLDER or --dry-run")
        of_a_lake = given_options(self, "cluster", "at_time", "committed_only")
        needs("--lake", not self.paths, of_a_lake)
        needs("LOGDIR", self.paths, given_options(self, "order"))

"""The command `simulate`, which runs scenarios and campaigns in the simulator."""

from jobs.cli.commands import options
from jobs.cli.commands.combinations import alone, given_options, needs
from jobs.cli.commands.options import on_disk
from jobs.cli.commands.parameters import Text, argument, command, option
from replica.errors import UsageError


@command("cli.engine.simulate:run", "Write logs of named incidents; run the engine under faults.")
class SimulateOptions:
    """Write the log directories of a named scenario; or run the replica engine under random faults.

    A scenario repeats an incident that real clusters had. The engine plays it on simulated disks.
    At the end of the scenario it writes the content of each node's disk to DIR/NODE, the same bytes
    each time. Without
    arguments the command lists the scenarios. --seeds runs the engine on disks and networks that
    fail, and checks Raft's invariants after every event.

    \b
    Examples:
      kraftlake simulate split-brain -o split
      kraftlake check split
      kraftlake simulate --seeds 0:200 --events 2000
      kraftlake simulate --seeds 0:20000 --state campaign.jsonl --jobs 2 --guided

    --json: scenario, story, issues, tampering, findings, and once written directory, cluster_id,
    captured_at, nodes; with --seeds: seed, events, result (ok or the broken invariant), and forks
    where there are some. Exit codes: 0, 1 a broken invariant, 2 usage.
    """

    scenario: Text = argument("[SCENARIO]", "A scenario's name, such as split-brain.", default=None)
    output: Text = option(
        "-o, --output DIR",
        "A new folder for the scenario's nodes.",
        default=None,
        callback=on_disk("-o"),
    )
    list_scenarios: bool = option("--list", "List the scenarios.", default=False)
    seeds: Text = option("--seeds A:B", "Run once for each seed from A to B - 1.", default=None)
    events: int = option("--events N", "The number of events in each run.", default=2000, min=1)
    state: str | None = option(
        "--state FILE",
        "Keep finished runs in FILE, and run only seeds that FILE lacks.",
        default=None,
    )
    jobs: int = option("--jobs N", "Share the runs among N processes.", default=1, min=1)
    is_guided: bool = option(
        "--guided",
        "Let every second run continue an earlier run that reached states which no run before it "
        "had reached.",
        default=False,
    )
    forks: Text = option(
        "--forks EVENT.SEED,...",
        "Draw the random numbers from event number EVENT on by SEED.",
        default=None,
    )
    json_output: options.Json = False

    def __post_init__(self) -> None:
        played = {"SCENARIO": self.scenario, "-o": self.output}
        if self.seeds is not None:
            if any(each is not None for each in played.values()) or self.list_scenarios:
                raise UsageError("--seeds goes with no scenario, -o or --list")
            return
        of_a_campaign = given_options(self, "state", "jobs", "is_guided", "forks", "events")
        needs("--seeds", None, of_a_campaign)
        alone("--list", self.list_scenarios, played)
        if self.scenario is None and self.output is not None:
            raise UsageError(f"-o {self.output}: the scenario is missing; --list shows them")
        if self.scenario is not None and self.output is None:
            raise UsageError(f"{self.scenario}: -o DIR is missing, a new folder for its nodes")

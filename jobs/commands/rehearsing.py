"""The command that runs captured directories on in the simulator, and the options that it
shares with `recover --plan`."""

from __future__ import annotations

from typing import Annotated

from jobs.commands import options
from jobs.commands.parameters import Text, option

ScenarioFile = Annotated[
    Text,
    option("--scenario FILE", "A TOML file of the steps to play. Without it, all nodes start."),
]
Seeds = Annotated[
    str, option("--seeds A:B", "Run once for each seed from A to B - 1; 10,000 runs at most.")
]
Failures = Annotated[
    int,
    option(
        "--failures N",
        "Search for the smallest set of up to N failed voters that loses committed records; 0 for "
        "no search.",
        min=0,
        max=5,
    ),
]
Outcomes = Annotated[
    Text,
    option(
        "-o, --output FOLDER",
        "Write the disks of each outcome below this new or empty folder.",
        callback=options.on_disk("-o"),
    ),
]
RehearsePlan = Annotated[
    bool, option("--rehearse", "Also play the steps in the simulator, and compare the outcomes.")
]
PlanSeeds = Annotated[
    Text,
    option(
        "--seeds A:B",
        "With --rehearse: run once for each seed from A to B - 1; 10,000 runs at most.",
    ),
]


def rehearse(
    paths: options.Paths,
    scenario: ScenarioFile = None,
    seeds: Seeds = "0:20",
    failures: Failures = 2,
    output: Outcomes = None,
    json_output: options.Json = False,
) -> int:
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
    log, or after 30 s of simulated time. A node ends, as Kafka's process does, when others name it
    as the leader of an epoch that its disk doesn't know; a later step may start it again.

    \b
    The answer:
      safe     each run elects a leader, and loses no record that is proven committed
      unsafe   some run loses such a record, or ends without a leader
      unknown  the directories lack what the answer depends on, such as a voter's directory

    \b
    Examples:
      kraftlake rehearse node1/ node2/ node3/
      kraftlake rehearse --scenario lost-disk.toml --seeds 0:100 captures/
      kraftlake rehearse -o outcomes captures/ && kraftlake check outcomes/outcome-1
      kraftlake rehearse --json captures/ | jq 'select(.kind == "outcome") | .leader'

    --json: kind (answer, outcome, smallest_loss), a line each. answer: cluster_id, answer, reasons,
    needs, runs, seeds, voters, leaders. outcome: outcome, seeds, leader, epochs, committed_lost and
    unproven_lost ([first, end) pairs), nodes (node_id, truncated, epochs, replaced_by, lost,
    committed_lost, unproven_lost, superseded_lost, is_behind, has_new_disk), failed.
    smallest_loss: bound, sets, seeds_of_each, dead, empty, seed, leader, committed_lost, scenario.
    Exit codes: 0 safe, 1 unsafe, 3 unknown, 2 usage.
    """
    from jobs.directories import rehearse as job
    from jobs.seeds import MAX_REHEARSED, seeds_in

    runs = seeds_in(seeds, most=MAX_REHEARSED)
    return job.run(
        job.RehearseOptions(tuple(paths), scenario, runs, failures, output, json_output=json_output)
    )

"""The command that runs captured directories on in the simulator."""

from __future__ import annotations

from jobs.commands import options, rehearsal_options


def rehearse(
    paths: options.Paths,
    scenario: rehearsal_options.ScenarioFile = None,
    seeds: rehearsal_options.Seeds = "0:20",
    failures: rehearsal_options.Failures = 2,
    output: rehearsal_options.Outcomes = None,
    json_output: options.Json = False,
) -> int:
    """Rehearse what a quorum's controllers will do with the directories that are left.

    For the moment before nodes are started again, after a crash, a split or a lost disk. Copies of
    all directories, logs, snapshots and quorum-states as they are, run on in the simulator: a run
    for each seed, in which nodes start at other moments and messages take other times. It is said
    who leads in how many runs, what each node truncates, which committed records are lost, and the
    smallest set of failures of voters that loses some. What is read is never changed.

    A scenario file has a table [[step]] for each step, with the node ids of this quorum:

    \b
      dead = [3]           these nodes lose power, or never start
      empty = [1]          these get an empty disk, formatted anew, and start
      cut = [[1, 2]]       nothing passes between these two
      heal = true          cut links pass messages again
      start = [3]          only these start; in the first step all do without it
      remove_voter = 2     an administrator asks the leader for it, as add_voter = 2
      wait_ms = 5000       how long the step lasts at most, in simulated ms

    A file has 100 steps at most, which wait for an hour of simulated time together.

    A step is over when a leader has committed all that it holds and all nodes in its reach have
    it, or after 30 s of simulated time. A node that is named as the leader of an epoch of which its
    disk knows nothing ends, as Kafka's process does; a later step may start it again.

    \b
    The answer:
      safe     in all runs a leader is found, and no record proven committed is lost
      unsafe   in some run one is lost, or nobody leads at the end
      unknown  the directories don't tell all that it depends on, such as a voter's

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
        job.Request(tuple(paths), scenario, runs, failures, output, json_output=json_output)
    )

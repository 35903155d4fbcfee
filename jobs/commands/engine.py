"""Commands of the replica engine."""

from __future__ import annotations

from jobs.commands import options


def simulate(
    seeds: options.Seeds, events: options.Events = 2000, json_output: options.Json = False
) -> int:
    """Run the replica engine on simulated disks and networks that fail, checking Raft's promises.

    \b
    Example:
      kraftlake simulate --seeds 0:200 --events 2000

    --json: seed, events, result (ok or the broken invariant). Exit codes: 0, 1 broken, 2 usage.
    """
    from jobs import simulate as job

    return job.campaign(job.Options(seeds, events, json_output))

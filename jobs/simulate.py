"""`kraftlake simulate`: quorums under random faults, a seed each."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from jobs.output import Progress, one_line, write_json, write_line
from replica.errors import UsageError
from replica.simulate.simulation import Result, run


@dataclass(frozen=True, slots=True)
class Options:
    """seeds: A:B, from A to B - 1. events: for each seed."""

    seeds: str
    events: int
    json_output: bool = False


def campaign(options: Options) -> int:
    """Print a line per seed; 1 where an invariant broke, else 0."""
    seeds, started, broken = _range(options.seeds), time.monotonic(), 0
    progress = Progress()
    for seed in seeds:
        progress.show(f"seed {seed} of {seeds.start} to {seeds.stop - 1}")
        result = run(seed, options.events)
        broken += result.broken is not None
        progress.clear()
        _print(result, json_output=options.json_output)
    if not options.json_output:
        took = max(time.monotonic() - started, 1e-9)
        rate = len(seeds) * options.events / took
        write_line(f"{len(seeds)} seeds, {broken} broken, {rate:.0f} events/s")
    return 1 if broken else 0


def _print(result: Result, *, json_output: bool) -> None:
    if json_output:
        name = "ok" if result.broken is None else result.broken.partition(":")[0]
        row = {"seed": result.seed, "events": result.events, "result": name}
        write_json(row)
        return
    if result.broken is None:
        write_line(f"seed {result.seed}: ok, {result.events} events")
        return
    broken = one_line(result.broken)
    write_line(f"seed {result.seed}: {broken}; again: {result.replay_command}")


def _range(seeds: str) -> range:
    found = re.fullmatch(r"(\d{1,18}):(\d{1,18})", seeds, re.ASCII)
    if found is None or int(found[1]) >= int(found[2]):
        raise UsageError(f"--seeds {seeds}: expected A:B with A below B, such as 0:200")
    return range(int(found[1]), int(found[2]))

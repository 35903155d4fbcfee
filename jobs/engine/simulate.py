"""`kraftlake simulate`: quorums under random faults, one for each seed, in campaigns that can be
resumed."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

from jobs.engine.campaign_state import read_done, remembering
from jobs.output import Progress, complain, write_json, write_line
from jobs.seeds import seeds_in
from pipelines.tasks import LostProcessError, begin_process
from replica.simulate.simulation import Result, run

_AHEAD = 16
"""How many seeds wait for each process, so that a slow seed doesn't leave the others without
work."""


@dataclass(frozen=True, slots=True)
class Options:
    """seeds: A:B, from A to B - 1. events: for each seed. state: the file that remembers finished
    seeds, None for none. jobs: the number of processes."""

    seeds: str
    events: int
    state: str | None = None
    jobs: int = 1
    json_output: bool = False


def campaign(options: Options) -> int:
    """Print a line for each seed; of seeds that were finished before, only for broken ones. Returns
    1 where an invariant broke, else 0."""
    seeds, started = seeds_in(options.seeds), time.monotonic()
    done = {} if options.state is None else read_done(options.state, options.events)
    before = [done[seed] for seed in sorted(done) if seed in seeds]
    broken = [result for result in before if result.broken is not None]
    for result in broken:
        _print(result, json_output=options.json_output)
    progress, count = Progress(), len(before)
    try:
        with remembering(options.state) as remember:
            for result in _results((seed for seed in seeds if seed not in done), options):
                remember(result)
                count += 1
                progress.clear()
                _print(result, json_output=options.json_output)
                if result.broken is not None:
                    broken.append(result)
                progress.show(f"{count} of {len(seeds)} seeds, {len(broken)} broken")
    except KeyboardInterrupt:
        # The file has each result. `count` may lack one, because of the interrupt.
        if options.state is not None:
            done = read_done(options.state, options.events)
            count = sum(seed in seeds for seed in done)
            complain(f"stopped after {count} seeds; the same command goes on")
        raise
    finally:
        progress.clear()
    if not options.json_output:
        rate = (count - len(before)) * options.events / max(time.monotonic() - started, 1e-9)
        earlier = f", {len(before)} of them done before" if before else ""
        write_line(f"{count} seeds{earlier}, {len(broken)} broken, {rate:.0f} events/s")
    return 1 if broken else 0


def _results(seeds: Iterable[int], options: Options) -> Iterator[Result]:
    """The results in the order of the seeds. Only a few seeds run ahead."""
    one = partial(run, events=options.events)
    if options.jobs == 1:
        yield from map(one, seeds)
        return
    pool = ProcessPoolExecutor(options.jobs, get_context("spawn"), begin_process)
    try:
        ahead = deque[Future[Result]]()
        for seed in seeds:
            ahead.append(pool.submit(one, seed))
            if len(ahead) > _AHEAD * options.jobs:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    except BrokenProcessPool as error:
        raise LostProcessError("a process was ended from outside, perhaps for memory") from error
    finally:
        pool.shutdown(cancel_futures=True)


def _print(result: Result, *, json_output: bool) -> None:
    if json_output:
        name = "ok" if result.broken is None else result.broken.partition(":")[0]
        row = {"seed": result.seed, "events": result.events, "result": name}
        write_json(row)
        return
    if result.broken is None:
        write_line(f"seed {result.seed}: ok, {result.events} events")
        return
    write_line(f"seed {result.seed}: {result.broken}; again: {result.replay_command}")

"""`kraftlake simulate`: quorums under random faults, one quorum for each seed, in campaigns that
can be resumed. A file has a line of JSON for each finished run."""

from __future__ import annotations

import json
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

from jobs.cli.commands.simulating import SimulateOptions
from jobs.cli.engine import scenarios
from jobs.cli.option_values import seeds_in
from jobs.cli.output import ProgressLine, complain, json_text, write_json, write_line
from pipelines.runners.local import LostProcessError, begin_process
from replica.errors import UsageError
from replica.simulate.faulty_run import Fork, Result
from replica.simulate.guided import Corpus, PlannedRun, carry_out

_AHEAD = 16
"""The number of seeds that wait for each process. With them a slow seed doesn't leave other
processes without work."""


def run(options: SimulateOptions) -> int:
    """Lists the scenarios, writes one, or runs a campaign. Returns 1 where a campaign broke an
    invariant, else 0."""
    if options.seeds is not None:
        return campaign(options, seeds_in(options.seeds))
    if options.scenario is None or options.output is None:
        return scenarios.list_scenarios(json_output=options.json_output)
    return scenarios.run(options.scenario, options.output, json_output=options.json_output)


def campaign(options: SimulateOptions, seeds: range) -> int:
    """Prints a line for each seed. A seed that was finished before gets a line only where it broke
    an invariant. Returns 1 where an invariant broke, else 0."""
    started = time.monotonic()
    done = {} if options.state is None else read_done(options.state, options.events)
    forks = forks_in(options.forks or "", options.events)
    corpus = Corpus(options.events, is_guided=options.is_guided, forks=forks)
    for result in done.values():
        corpus.add(result)
    before = [done[number] for number in sorted(done) if number in seeds]
    broken = [result for result in before if result.broken is not None]
    for result in broken:
        _print(result, json_output=options.json_output)
    progress, count = ProgressLine(), len(before)
    try:
        with remembering(options.state) as remember:
            plans = (corpus.plan(number) for number in seeds if number not in done)
            for result in results(plans, options.events, options.jobs):
                remember(corpus.add(result))
                count += 1
                progress.clear()
                _print(result, json_output=options.json_output)
                if result.broken is not None:
                    broken.append(result)
                progress.show(f"{count} of {len(seeds)} seeds, {len(broken)} broken")
    except KeyboardInterrupt:
        # the file has each result; `count` may lack one because of the interrupt
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
        said = f"{count} seeds{earlier}, {len(broken)} broken, {rate:.0f} events/s"
        write_line(
            f"{said}, {len(corpus.reached)} ways of role, message, outcome and fault reached"
        )
    return 1 if broken else 0


def results(plans: Iterable[PlannedRun], events: int, processes: int) -> Iterator[Result]:
    """The results in the order of the plans. Only a few runs begin before earlier results exist,
    because a plan may depend on earlier results. events: the number of events of a run. processes:
    how many processes share the runs. Raises LostProcessError where the system ends one of them."""
    one = partial(carry_out, events=events)
    if processes == 1:
        yield from map(one, plans)
        return
    pool = ProcessPoolExecutor(processes, get_context("spawn"), begin_process)
    try:
        ahead = deque[Future[Result]]()
        for plan in plans:
            ahead.append(pool.submit(one, plan))
            if len(ahead) > _AHEAD * processes:
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
        if result.forks:
            row["forks"] = result.forks_text
        write_json(row)
        return
    if result.broken is None:
        write_line(f"{_name(result)}: ok, {result.events} events")
        return
    write_line(f"{_name(result)}: {result.broken}; again: {result.replay_command}")


def _name(result: Result) -> str:
    forked = f" with forks {result.forks_text}" if result.forks else ""
    return f"seed {result.seed}{forked}"


def forks_in(text: str, event_count: int) -> tuple[Fork, ...]:
    """The forks in the text of --forks. event_count: the number of events of the run. Raises
    UsageError for a text of another form, where the forks don't ascend, or where one is after the
    end of the run."""
    if not text:
        return ()
    found = re.findall(r"(\d{1,18})\.(\d{1,18})", text, re.ASCII)
    forks = tuple(Fork(int(event), int(seed)) for event, seed in found)
    events = [-1, *(fork.event for fork in forks), event_count]
    said = ",".join(f"{fork.event}.{fork.seed}" for fork in forks)
    if said != text or any(a >= b for a, b in pairwise(events)):
        raise UsageError(
            f"--forks {text}: expected EVENT.SEED with commas between, such as "
            "700.12,1500.80; the events rise, and all are below --events"
        )
    return forks


def read_done(path: str, events: int) -> dict[int, Result]:
    """The results in the file of a campaign, by the numbers of their runs. Empty where there is no
    file yet.

    A last line that was cut off when the program stopped is removed from the file. Raises
    UsageError, which names the line, for a line that is no result of a run, and for a run with
    another number of events than `events`.
    """
    if not Path(path).exists():
        return {}
    with Path(path).open("rb+") as file:
        content = file.read()
        whole = content.rfind(b"\n") + 1
        done = {}
        for number, line in enumerate(content[:whole].splitlines(), start=1):
            result = _parsed(line)
            if result is None:
                raise UsageError(
                    f"{path}: line {number}: expected a campaign's result; name a new file"
                )
            if result.events != events:
                raise UsageError(
                    f"{path}: line {number}: {result.events} events, not {events}; name another "
                    "file, or the same --events"
                )
            done[result.number] = result
        file.truncate(whole)
    return done


@contextmanager
def remembering(path: str | None) -> Iterator[Callable[[Result], None]]:
    """Gives a function that appends a result to the file at `path`. When the function returns, the
    file has the result, even if the program is then killed. path: None for no file."""
    if path is None:
        yield lambda result: None
        return
    with Path(path).open("a", encoding="utf-8", buffering=1) as file:

        def remember(result: Result) -> None:
            file.write(json_text(asdict(result)) + "\n")

        yield remember


def _parsed(line: bytes) -> Result | None:
    try:
        found = json.loads(line)
        forks = tuple(Fork(*fork) for fork in found.get("forks", ()))
        lists = {name: tuple(found.get(name, ())) for name in ("reached", "counts")}
        result = Result(**{**found, "forks": forks, **lists})
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    right = all(isinstance(found.get(name), int) for name in ("seed", "events", "number"))
    return result if right and isinstance(found.get("broken"), str | None) else None

"""What a voter's fetch costs a leader that has many observers, and one that got fetches with many
directory ids. Only the core is measured: Raft.step.

python -m tests.bench.observers [--fetches N] [--rounds N] [--write]

--write: into tests/bench/OBSERVERS.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path

from replica.raft.inputs import Request
from replica.raft.leader.work import MOST_OBSERVERS
from replica.raft.messages import FetchRequest
from tests.bench.rounds import Spread, measure, ratios
from tests.replica.raft.host import Host, config, elect, fetch, key

RECORD = Path(__file__).with_name("OBSERVERS.md")
ALONE = "none"
STRANGERS = 100_000
MINUTE_MS = 60_000
WAIT_MS = 500


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fetches", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    leaders = {ALONE: leader()}
    for number in (100, 1000, 3000, 10_000):
        leaders[f"{number:,} that wait"] = visited(number)
    leaders[f"{STRANGERS:,} new directory ids in a minute"] = flooded()
    names = count()
    works = {name: partial(fetches, each, options.fetches, names) for name, each in leaders.items()}
    seconds = measure(works, options.rounds, lambda line: sys.stderr.write(f"{line}\n"))
    text = page(seconds, options)
    sys.stdout.write(text)
    if options.write:
        RECORD.write_text(text)
    return 0


def leader() -> Host:
    """Node 1, which leads three voters. All of them have its whole log."""
    host = Host(config(1, 1, 2, 3))
    elect(host)
    for node_id in (2, 3):
        fetch(host, node_id, host.disk.log_end)
    return host


def visited(observers: int) -> Host:
    """The leader with `observers` observers that wait at its log end."""
    host = leader()
    for number in range(observers):
        ask(host, f"observer {number}", waiting(host, f"{number}"))
    return host


def flooded() -> Host:
    """The leader after a minute in which each fetch named another directory id."""
    host, began = leader(), 0
    for number in range(STRANGERS):
        host.now += (number + 1) * MINUTE_MS // STRANGERS - began
        began = (number + 1) * MINUTE_MS // STRANGERS
        if number % 100 == 0:  # the voters fetch, so that the leader continues
            for node_id in (2, 3):
                ask(host, f"voter {node_id}", waiting(host, "a", node_id, wait_ms=0))
        ask(host, f"stranger {number}", waiting(host, f"{number}"))
    assert len(host.raft.observers) == MOST_OBSERVERS
    return host


def waiting(host: Host, directory: str, node_id: int = 9, wait_ms: int = WAIT_MS) -> FetchRequest:
    end, epoch = host.disk.log_end, host.raft.role.epoch
    return FetchRequest(
        replica=key(node_id, directory),
        epoch=epoch,
        fetch_offset=end,
        last_fetched_epoch=epoch,
        max_wait_ms=wait_ms,
    )


def ask(host: Host, name: str, request: FetchRequest) -> None:
    host.raft.step(Request(name, request), host.now)


def fetches(host: Host, number: int, names: count[int]) -> float:
    """The CPU seconds of `number` fetches of a voter that has the whole log. The simulated time
    doesn't advance, so no fetch ends meanwhile."""
    request = waiting(host, "a", node_id=2, wait_ms=0)
    step: Callable[[Request, int], object] = host.raft.step
    asked = [Request(next(names), request) for _ in range(number)]
    began = time.process_time()
    for each in asked:
        step(each, host.now)
    return time.process_time() - began


def page(seconds: dict[str, list[float]], options: argparse.Namespace) -> str:
    """The page in Markdown."""
    lines = [
        "# A voter's fetch beside observers",
        "",
        f"`python -m tests.bench.observers --fetches {options.fetches} --rounds {options.rounds}`: "
        f"interleaved rounds on {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} in the last "
        f"minute, {datetime.now(UTC).date()}.",
        "",
        f"What one step of the core takes in which a voter fetches at the log end of a leader. The "
        f"observers wait there with fetches of their own. The leader knows {MOST_OBSERVERS:,} "
        "observers at most. Times are of all rounds, "
        "ratios of the same round.",
        "",
        "| observers | us of CPU: least | median | times as long as with none: least | median |",
        "|---|---|---|---|---|",
    ]
    for name, values in seconds.items():
        spread = Spread.of([value / options.fetches * 1e6 for value in values])
        ratio = ratios(values, seconds[ALONE])
        lines.append(
            f"| {name} | {spread.least:.1f} | {spread.median:.1f} | {ratio.least:.2f} "
            f"| {ratio.median:.2f} |"
        )
    lines += [
        "",
        "Before 2026-11-29 each fetch copied the progress of all replicas: beside 3,000 observers "
        "it took 2.5 to 3 times as long as with none, and 14 times before 2026-11-28, when each "
        "step also looked at all waiting fetches. `tests/replica/raft/test_strangers.py` counts "
        "the functions called and the bytes allocated by such a step.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())

"""How long `kraftlake check` takes, against `kraftlake dump --json` of the same segment.

    python -m tests.bench.check [--rounds 5] [--bytes 300000000]

Two segments: the mix of tests.bench.segments, most of whose records speak of what isn't there, and
the log of a sound cluster of 200,000 partitions. All are whole processes, from a warm page cache.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.bench.processes import Cost, check_command, cost, dump_command
from tests.bench.rounds import Spread, ratios
from tests.bench.segments import write_cluster, write_segment

_DUMP = "dump --json"
_MIX, _CLUSTER = "the mix", "200,000 partitions that change"

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Checked:
    """For each segment, its number of records, and the cost of each round by name."""

    records: Mapping[str, int]
    costs: Mapping[str, Mapping[str, list[Cost]]]


def measured(size: int, rounds: int, tell: Tell) -> Checked:
    """Measures both segments, each of `size` bytes."""
    records: dict[str, int] = {}
    costs: dict[str, Mapping[str, list[Cost]]] = {}
    with tempfile.TemporaryDirectory(prefix="kraftlake-bench-") as folder:
        segment = Path(folder) / f"{0:020d}.log"
        for name, write in ((_MIX, write_segment), (_CLUSTER, write_cluster)):
            tell(f"check: writing {name}")
            records[name] = write(segment, size)
            costs[name] = _in_turn(segment, rounds, tell)
    return Checked(records, costs)


def _in_turn(segment: Path, rounds: int, tell: Tell) -> dict[str, list[Cost]]:
    commands = {
        _DUMP: dump_command(segment),
        "check": check_command(segment),
        "check --no-replay": check_command(segment, "--no-replay"),
    }
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for command in commands.values():
        cost(command, most=1)  # compiles the kernels
    for number in range(1, rounds + 1):
        for name, command in commands.items():
            costs[name].append(cost(command, most=1))
            tell(f"round {number} of {rounds}: {name}: {costs[name][-1]}")
    return costs


def section(checked: Checked) -> Iterator[str]:
    """The section in Markdown: the time of check divided by dump's time in the same round."""
    yield "`kraftlake check` against `dump --json`, whole processes: how many times as long in the"
    yield "same round, by the clock and by CPU time (which others on the machine disturb less)."
    yield ""
    yield "| segment | what | s (median) | times: least | median | most | CPU s | CPU times |"
    yield "|---|---|---|---|---|---|---|---|"
    for segment, costs in checked.costs.items():
        clock = {name: [one.seconds for one in found] for name, found in costs.items()}
        cpu = {name: [one.cpu_seconds for one in found] for name, found in costs.items()}
        for name in costs:
            times, cpu_times = (ratios(by[name], by[_DUMP]) for by in (clock, cpu))
            yield (
                f"| {segment}, {checked.records[segment]:,} records | {name} "
                f"| {Spread.of(clock[name]).median:.2f} "
                f"| {times.least:.2f} | {times.median:.2f} | {times.most:.2f} "
                f"| {Spread.of(cpu[name]).median:.2f} "
                f"| {cpu_times.least:.2f}, {cpu_times.median:.2f}, {cpu_times.most:.2f} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bytes", type=int, default=300_000_000)
    options = parser.parse_args()
    checked = measured(options.bytes, options.rounds, lambda text: sys.stderr.write(f"{text}\n"))
    sys.stdout.write("\n".join((*section(checked), "")))


if __name__ == "__main__":
    main()

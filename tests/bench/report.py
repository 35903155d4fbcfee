"""The figures as a page."""

from __future__ import annotations

from collections.abc import Mapping

from tests.bench.rounds import Spread, ratios

_YARDSTICK = "kafka-dump-log"


def write_results(
    records: int,
    size: int,
    seconds: Mapping[str, list[float]],
    jvm: Mapping[str, float],
    start: float,
    memory: Mapping[int, int],
) -> str:
    """Markdown. seconds: one a round; start: seconds; memory: peak bytes by segment size."""
    rounds = len(seconds[_YARDSTICK])
    lines = [
        "# Benchmark results",
        "",
        f"`make bench`: a generated segment of {size:,} bytes and {records:,} records, read from a "
        f"warm page cache; {rounds} interleaved rounds. Ratios are to {_YARDSTICK} "
        "--cluster-metadata-decoder in the same round: how many times faster. All but `dump` run "
        "in process and warm, and read the file anew each time.",
        "",
        "| what | s (median) | M records/s | ratio: least | median | most |",
        "|---|---|---|---|---|---|",
    ]
    for name, values in seconds.items():
        ratio = ratios(seconds[_YARDSTICK], values)
        median = Spread.of(values).median
        lines.append(
            f"| {name} | {median:.2f} | {records / median / 1e6:.2f} "
            f"| {ratio.least:.1f} | {ratio.median:.1f} | {ratio.most:.1f} |"
        )
    dump = Spread.of(seconds[_YARDSTICK]).median
    lines += [
        "",
        "Kafka's own classes in one warm JVM, the best of five passes:",
        "",
        "| what | s | M records/s | ratio |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {name} | {best:.2f} | {records / best / 1e6:.2f} | {dump / best:.1f} |"
        for name, best in jvm.items()
    ]
    threads = ratios(seconds["json"], seconds["json, two threads"])
    lines += [
        "",
        f"Two threads against one: {threads.least:.2f}, {threads.median:.2f}, {threads.most:.2f} "
        "(least, median, most).",
        "",
        f"A new process up to its first rows, kernels compiled before: {start:.1f} s.",
        "",
        "Peak memory of `kraftlake dump --json`: "
        + ", ".join(f"{peak / 1e6:.0f} MB for {size / 1e6:.0f} MB" for size, peak in memory.items())
        + ".",
        "",
    ]
    return "\n".join(lines)

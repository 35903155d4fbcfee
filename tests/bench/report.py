"""The figures of RESULTS.md as a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.bench.check import Checked, section
from tests.bench.processes import Starts
from tests.bench.rounds import Spread, ratios
from tests.bench.simulate import Speed

YARDSTICK = "kafka-dump-log"
ONE_THREAD = "CRC + walk + JSON lines, in memory"
TWO_THREADS = "CRC + walk + JSON lines, in memory, two threads"
CEILING_ALONE, CEILING_TOGETHER = "pure arithmetic", "pure arithmetic, two threads"
_NO_DECODING = (CEILING_ALONE, CEILING_TOGETHER)


@dataclass(frozen=True)
class Figures:
    """The figures. seconds, into_delta: of each round, by name. jvm: of the best pass. memory: peak
    bytes."""

    records: int
    size: int
    seconds: Mapping[str, list[float]]
    into_delta: Mapping[str, list[float]]
    jvm: Mapping[str, float]
    checked: Checked
    starts: Starts
    memory: Mapping[int, int]
    simulator: Speed


def page(figures: Figures) -> str:
    """The page in Markdown."""
    parts = (
        _contenders(figures),
        _into_delta(figures),
        _jvm(figures),
        ("", *section(figures.checked)),
        _others(figures),
    )
    return "\n".join(line for part in parts for line in part)


def _contenders(figures: Figures) -> Iterator[str]:
    rounds = len(figures.seconds[YARDSTICK])
    yield "# Benchmark results"
    yield ""
    yield (
        f"`make bench`: a generated segment of {figures.size:,} bytes and {figures.records:,} "
        f"records, read from a warm page cache; {rounds} interleaved rounds. Ratios are to "
        f"{YARDSTICK} --cluster-metadata-decoder in the same round: how many times faster. "
        f"{YARDSTICK} and `dump` are whole processes that print to /dev/null; all others run in "
        "this one, warm."
    )
    yield from _table(figures, figures.seconds)


def _into_delta(figures: Figures) -> Iterator[str]:
    yield from ("", "The same segment by Spark, in one warm session, local[2]:")
    yield from _table(figures, figures.into_delta)


def _table(figures: Figures, seconds: Mapping[str, list[float]]) -> Iterator[str]:
    yield from ("", "| what | s (median) | M records/s | ratio: least | median | most |")
    yield "|---|---|---|---|---|---|"
    for name, values in seconds.items():
        if name not in _NO_DECODING:
            ratio = ratios(seconds[YARDSTICK], values)
            median = Spread.of(values).median
            yield (
                f"| {name} | {median:.3f} | {figures.records / median / 1e6:.2f} "
                f"| {ratio.least:.1f} | {ratio.median:.1f} | {ratio.most:.1f} |"
            )


def _jvm(figures: Figures) -> Iterator[str]:
    yardstick = Spread.of(figures.seconds[YARDSTICK]).median
    yield from ("", "Kafka's own classes in one warm JVM, the best of five passes:", "")
    yield from ("| what | s | M records/s | ratio |", "|---|---|---|---|")
    for name, best in figures.jvm.items():
        speed = figures.records / best / 1e6
        yield f"| {name} | {best:.2f} | {speed:.2f} | {yardstick / best:.1f} |"


def _others(figures: Figures) -> Iterator[str]:
    threads = _pair(figures, ONE_THREAD, TWO_THREADS)
    ceiling = _pair(figures, CEILING_ALONE, CEILING_TOGETHER)
    yield ""
    yield (
        f"Two threads against one (least, median, most): {threads} for the JSON lines of two "
        f"halves in memory; {ceiling} for pure arithmetic, which is all that the machine gives."
    )
    yield ""
    starts = figures.starts
    yield (
        f"`dump --json` of {starts.size / 1e6:.0f} MB, start-up above all: {starts.cold:.1f} s "
        f"where nothing was compiled before, then {starts.warm:.2f} s."
    )
    yield ""
    peaks = (
        f"{peak / 1e6:.0f} MB for {size / 1e6:.0f} MB" for size, peak in figures.memory.items()
    )
    yield f"Peak memory of `kraftlake dump --json`: {', '.join(peaks)}."
    yield ""
    yield f"The simulator of the replica engine, on one core: {figures.simulator}."
    yield ""


def _pair(figures: Figures, one: str, two: str) -> str:
    ratio = ratios(figures.seconds[one], figures.seconds[two])
    return f"{ratio.least:.2f}, {ratio.median:.2f}, {ratio.most:.2f}"

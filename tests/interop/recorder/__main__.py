"""Records clusters, or asks again about those that were recorded, and counts what is right.

    python -m tests.interop.recorder --seeds 0:60 --keep FOLDER
    python -m tests.interop.recorder --again --keep FOLDER --write

--write puts the figures into RECORDER.md. What is unknown or wrong is printed, with the folder.
"""

from __future__ import annotations

import argparse
import os
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from subprocess import SubprocessError

from tests.interop.recorder.answers import asked
from tests.interop.recorder.recording import ROUNDS, judged_again, recorded, variants
from tests.interop.recorder.script import drawn
from tests.interop.recorder.statements import Is, Statement, judged
from tests.interop.recorder.story import FILE, Story

RESULTS = Path(__file__).with_name("RECORDER.md")
Round = tuple[Story, list[Statement]]


def told(place: Path) -> Round:
    """Judges a round, and prints what isn't right."""
    story, headline, found = judged_again(place)
    _tell(place, story, headline, found)
    return story, found


def of_variants(place: Path) -> list[Statement]:
    """The statements about variants of the round: with one directory less, or with an older copy of
    it."""
    told = []
    for story, copies in variants(place):
        answers = asked(copies, story.cluster_id)
        found = judged(story, answers)
        _tell(place, story, str(answers.verdict["headline"]), found)
        told += found
    return told


def _tell(place: Path, story: Story, headline: str, found: list[Statement]) -> None:
    counts = Counter(one.is_.value for one in found)
    kind = f"{story.kind}, {'static' if story.is_static else 'dynamic'}"
    shown = f"{story.shown} {story.shown_node if story.shown_node >= 0 else ''}"
    lines = [f"== {place} {story.version} {kind}: {story.left}, {shown}: {dict(counts)}"]
    lines.append(f"   {headline[:300]}")
    lines += (f"   {one.is_.name} {one.kind} {one.text[:900]}"
              for one in found if one.is_ is not Is.RIGHT)  # fmt: skip
    _say("\n".join(lines))


def rows(rounds: list[Round]) -> list[str]:
    """A row for each release and kind of cluster, and a row for all."""
    groups: dict[tuple[str, str], list[Round]] = {}
    for one in rounds:
        story = one[0]
        kind = f"{story.kind}, {'static' if story.is_static else 'dynamic'}"
        groups.setdefault((story.version, kind), []).append(one)
    named = [(version, kind, some) for (version, kind), some in sorted(groups.items())]
    return [_row(*one) for one in (*named, ("all", "all", rounds))]


def _row(version: str, kind: str, rounds: list[Round]) -> str:
    counts = Counter(one.is_ for _, found in rounds for one in found)
    clusters = len({(story.seed, story.version) for story, _ in rounds})
    cells = (version, kind, clusters, len(rounds), *(f"{counts[each]:,}" for each in Is))
    return f"| {' | '.join(map(str, cells))} |"


def _write(rounds: list[Round]) -> None:
    """Replaces the rows of the record."""
    lines = RESULTS.read_text(encoding="utf-8").splitlines()
    head = lines[: next(at for at, line in enumerate(lines) if line.startswith("|---")) + 1]
    kinds = Counter((one.kind, one.is_) for _, found in rounds for one in found)
    each = [f"| {name.replace('_', ' ')} | {' | '.join(f'{kinds[name, one]:,}' for one in Is)} |"
            for name in dict.fromkeys(name for name, _ in kinds)]  # fmt: skip
    day = datetime.now(UTC).date().isoformat()
    more = ["", f"Asked on {day}. The same by kind of statement:", "",
            "| statement | right | unknown | wrong |", "|---|---|---|---|", *each]  # fmt: skip
    RESULTS.write_text("\n".join([*head, *rows(rounds), *more]) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:60", metavar="A:B")
    parser.add_argument("--version", help="of Kafka; else the seed decides")
    parser.add_argument("--migrated", action="store_true", help="from ZooKeeper, in Kafka 3.9")
    parser.add_argument("--rounds", type=int, default=3, help="of each cluster")
    parser.add_argument("--keep", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--again", action="store_true", help="record nothing")
    parser.add_argument(
        "--variants", action="store_true", help="also with one directory less, or an older one"
    )
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    rounds: list[Round] = []
    if given.again:
        places = sorted(one.parent for one in given.keep.glob(f"*/{ROUNDS}/*/{FILE}"))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            rounds += pool.map(told, places)
            if given.variants:
                more = list(pool.map(of_variants, places))
                rounds += [(story, found) for (story, _), found in zip(rounds, more, strict=True)]
    else:
        first, _, end = given.seeds.partition(":")
        for seed in range(int(first), int(end)):
            try:
                script = drawn(seed, given.version, given.rounds, is_migrated=given.migrated)
                rounds += map(told, recorded(given.keep / str(seed), script))
            except (
                AssertionError,
                OSError,
                ValueError,
                SubprocessError,
            ) as failed:
                where = traceback.extract_tb(failed.__traceback__)[-1]
                _say(f"== {seed} ended in {where.name}, line {where.lineno}: {str(failed)[-500:]}")
    for row in rows(rounds):
        _say(row)
    if given.write:
        _write(rounds)


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()

"""Real Kafka's answers, recorded under faults, before our core: tests/interop/CONFORMANCE.md.

    python -m tests.interop.conformance --write

It records quorums of three and of five of Kafka's controllers while faults strike, and one of three
that is asked what no node asks; then the same of three whose voters are static, and one that is
asked about kraft.version. It keeps the traces in build/conformance, judges them all, and with
--write makes the page's tables anew. Recording needs Java and the network once. --judge judges what
the last recording has left, without Java.
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from pathlib import Path

from tests.interop.conformance.exchanges import load
from tests.interop.conformance.page import judge, tables, write
from tests.interop.conformance.recording import (
    Voters,
    record_faults,
    record_features,
    record_probes,
)

_KEPT = Path(__file__).parent.parent.parent.parent / "build" / "conformance"
_FAULTS = {
    "three voters, faults": ("faults-3", Voters(3)),
    "five voters, faults": ("faults-5", Voters(5)),
    "three static voters, faults": ("faults-static", Voters(3, are_static=True)),
}
_PROBES = {
    "three voters, probes": ("probes-3", Voters(3)),
    "three static voters, probes": ("probes-static", Voters(3, are_static=True)),
}
_FEATURES = {"three static voters, kraft.version": ("features-static", Voters(3, are_static=True))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:20", metavar="A:B", help="rounds of faults")
    parser.add_argument("--minutes", type=float, default=5.0, help="start no round after them")
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    first, _, end = given.seeds.partition(":")
    if not given.judge:
        _record(range(int(first), int(end)), given.minutes * 60)
    found = [
        judge(name, load(_path(file)), are_rules_kept=name in _FAULTS)
        for name, (file, _) in (_FAULTS | _PROBES | _FEATURES).items()
        if _path(file).exists()
    ]
    text = tables(found)
    print(text)  # noqa: T201
    if given.write:
        write(text)


def _record(seeds: range, within_s: float) -> None:
    _KEPT.mkdir(parents=True, exist_ok=True)
    under_faults = partial(record_faults, seeds=seeds, within_s=within_s)
    kinds = ((_FAULTS, under_faults), (_PROBES, record_probes), (_FEATURES, record_features))
    for recordings, record in kinds:
        for file, voters in recordings.values():
            with tempfile.TemporaryDirectory(prefix="kraftlake-conformance-") as folder:
                record(Path(folder), _path(file), voters)


def _path(file: str) -> Path:
    return _KEPT / f"{file}.jsonl.gz"


if __name__ == "__main__":
    main()

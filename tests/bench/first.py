"""What a command costs on a machine where no kernel was compiled: the first time and the second.

python -m tests.bench.first

Each command runs twice in a copy of the checkout of its own, with an empty cache. Python has
compiled the modules, as pip and `make setup` have it do. The table belongs in tests/bench/FIRST.md.
"""

from __future__ import annotations

import compileall
import sys
import tempfile
from pathlib import Path

from tests.bench.processes import cost
from tests.packages.building import REPOSITORY, copy_of_the_checkout

_NODES = REPOSITORY / "tests" / "data" / "kafka-4.1.1-dynamic" / "split"
_COMMANDS = (
    ("check", str(_NODES)),
    ("timeline", str(_NODES)),
    ("report", str(_NODES), "-o", "report.html"),
    ("demo", "--lake"),
)


def main() -> int:
    sys.stdout.write("| command | first, s of CPU | second | ratio |\n|---|---:|---:|---:|\n")
    for words in _COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            checkout = copy_of_the_checkout(Path(folder, "checkout"))
            compileall.compile_dir(checkout, quiet=2)
            first, second = (_cpu_seconds(checkout, words, number) for number in range(2))
        shown = f"| `{words[0]}` | {first:.1f} | {second:.1f} | {first / second:.2f} |"
        sys.stdout.write(f"{shown}\n")
    return 0


def _cpu_seconds(checkout: Path, words: tuple[str, ...], number: int) -> float:
    lake = (f"lake-{number}",) if words[-1] == "--lake" else ()
    command = [sys.executable, "-P", "-m", "jobs.cli", *words, *lake]
    return cost(command, checkout, str(checkout.parent / "cache"), most=1).cpu_seconds


if __name__ == "__main__":
    sys.exit(main())

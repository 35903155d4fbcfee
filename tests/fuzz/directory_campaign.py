"""Gives commands on directories recorded clusters with damaged and hostile files.

    python -m tests.fuzz.directory_campaign --seed 1 --inputs 300

Input number n of seed s is the same in every run. It is one to three nodes of a recorded capture,
of which one to four files are damaged: segments and snapshots as in scan_campaign, the others by
bytes, numbers and texts that a stranger would put there. Seven commands look at each. What ends the
run: an exit code that no command has, an internal error or a traceback, an output that moves a
terminal. --only n repeats an input and prints its command.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from jobs.cli.main import app
from jobs.cli.outcome import run
from tests.replica.scan.damaging import damaged

_DATA = Path(__file__).parents[1] / "data"
_CAPTURES = sorted(
    path for path in _DATA.glob("kafka-*/*") if path.is_dir() and path.name != "live"
)
_LOGS, _INDEXES = (".log", ".checkpoint"), (".index", ".timeindex", ".snapshot")
_MOVING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_TEXTS = (
    "\x1b]0;x\x07",
    "\u202e",
    "=1+1",
    "<script>",
    "a\nb",
    "-2147483648",
    "9223372036854775807",
    "[" * 2000,
    "{",
    "null",
    "1e999",
    "",
    "0",
    "-1",
)
_OF_ONE: tuple[tuple[str, ...], ...] = (
    ("state",),
    ("state", "--csv"),
    ("state", "--json", "--exposure", "--since"),
    ("state", "--sizes"),
    ("plan", "--stop-broker", "11", "--remove-voter", "2", "--add-voter", "9", "--to-dynamic"),
    ("plan", "--json", "--stop-rack", "a", "--upgrade", "4.0", "--decommission", "11", "--roll"),
)
_OF_ALL: tuple[tuple[str, ...], ...] = (
    ("history",),
    ("history", "--json"),
    ("history", "--csv"),
    ("timeline",),
    ("timeline", "--csv"),
    ("timeline", "--json", "--tz", "Europe/Berlin"),
    ("check", "--family", "all"),
    ("recover", "--plan"),
    ("rehearse", "--seeds", "0:2", "--failures", "1"),
)
_WRITING: tuple[tuple[str, ...], ...] = (
    ("rehearse", "--seeds", "0:1", "--failures", "0", "-o"),
    ("restore", "--release", "4.4", "-o"),
    ("restore", "--release", "3.9", "-o"),
    ("redact", "-o"),
    ("redact", "--names", "-o"),
)
COMMANDS_OF_EACH = 7


class FoundError(Exception):
    """A command did what no command may do."""


def _damaged_text(data: bytes, chance: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(found) + 1)
        text = chance.choice(_TEXTS).encode()
        numbers = list(re.finditer(rb"-?\d+", bytes(found)))
        kind = chance.randrange(4)
        if kind == 0 and numbers:
            number = chance.choice(numbers)
            found[number.start() : number.end()] = text
        elif kind == 1:
            found[at:at] = text
        elif kind == 2:
            del found[at : at + chance.randint(1, 9)]
        else:
            found[at : at + 2] = chance.randbytes(3)
    return bytes(found)


def _damaged_file(path: Path, chance: random.Random) -> bytes:
    data = path.read_bytes()
    if path.suffix in _LOGS and len(data) > 100:
        return damaged(data, chance)
    if path.suffix in _INDEXES:
        return bytes(byte ^ (chance.random() < 0.1) for byte in data) + chance.randbytes(3)
    return _damaged_text(data, chance)


def make_input(folder: Path, seed: int, number: int) -> list[tuple[str, ...]]:
    """The nodes below folder/nodes, and the commands to run on them."""
    chance = random.Random(f"{seed} {number}")
    source = chance.choice(_CAPTURES)
    nodes = sorted(path.name for path in source.iterdir())
    taken = chance.sample(nodes, min(len(nodes), chance.choice((1, 2, 3))))
    shutil.rmtree(folder, ignore_errors=True)
    for node in taken:
        shutil.copytree(source / node, folder / "nodes" / node)
    files = sorted(path for path in (folder / "nodes").rglob("*") if path.is_file())
    for path in chance.sample(files, min(len(files), chance.choice((1, 1, 2, 4)))):
        path.write_bytes(_damaged_file(path, chance))
    every = str(folder / "nodes")
    commands = [
        *((*words, f"{every}/{taken[0]}") for words in _OF_ONE),
        *((*words, every) for words in _OF_ALL),
        *((*words, str(folder / f"out-{n}"), every) for n, words in enumerate(_WRITING)),
    ]
    return chance.sample(commands, COMMANDS_OF_EACH)


def capture(command: tuple[str, ...]) -> int:
    """Runs the command. Gives its exit code. Raises FoundError."""
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2)]
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        code = run(app, list(command))
    said = ""
    for stream in streams:
        stream.flush()
        said += stream.buffer.getvalue().decode().replace("\r\n", "\n")  # type: ignore[attr-defined]
    if code not in (0, 1, 2, 3, 4) or "internal error" in said or "Traceback" in said:
        raise FoundError(f"{' '.join(command)}: code {code}: {said[-500:]}")
    if (moving := _MOVING.search(said)) is not None:
        raise FoundError(f"{' '.join(command)}: moves a terminal: {said[moving.start() - 30 :]!r}")
    return code


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inputs", type=int, default=300)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    numbers = range(options.inputs) if options.only is None else (options.only,)
    codes: Counter[tuple[str, int]] = Counter()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kraftlake-fuzz-") as folder:
        for number in numbers:
            for command in make_input(Path(folder) / "input", options.seed, number):
                try:
                    codes[command[0], capture(command)] += 1
                except FoundError as error:
                    sys.stdout.write(f"input {number}: {error}\n")
                    return 1
    seconds = time.monotonic() - began
    told = ", ".join(f"{name} {code}: {count}" for (name, code), count in sorted(codes.items()))
    sys.stdout.write(f"{len(numbers)} inputs in {seconds:.0f} s; exit codes: {told}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

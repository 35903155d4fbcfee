"""Runs the targets one after another under atheris, and keeps the state of each.

build/fuzz/TARGET holds seeds/, corpus/ (inputs that reached new branches, from which the next run
continues), found/, and state.json: the sums over all runs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tests.fuzz.guided.catalogue import TARGETS
from tests.fuzz.guided.corpus import write_seeds
from tests.fuzz.guided.target import TESTS, Target

REPOSITORY = TESTS.parent
FOLDER = REPOSITORY / "build" / "fuzz"
TOOL = FOLDER / "atheris"
SHORTEST_S = 15
MAX_RESIDENT_MIB = 700
"""The most memory of a process in MiB: Python, numba's and Arrow's code (160 MiB), and the memory
of one input."""
MAX_INPUT_S = 20
_STARTS_S = 60
"""The most seconds until a process begins. Its inputs may take twice their share of the time,
because the machine may be busy."""
_PROGRESS = re.compile(r"^#(\d+)\s+\w+\s+cov: (\d+) ft: (\d+) corp: (\d+)/", re.MULTILINE)
_MEMORY = re.compile(r"peak_rss_mb:\s+(\d+)")
_SLOWEST = re.compile(r"slowest_unit_time_sec:\s+(\d+)")


@dataclass(frozen=True)
class State:
    """What all runs of one target have reached together. edges: the branches of the instrumented
    code that its inputs took. features: pairs of a branch and of how often an input took it.
    resident_mib, slowest_s: the highest values of all runs."""

    seconds: float = 0
    inputs: int = 0
    edges: int = 0
    features: int = 0
    kept: int = 0
    resident_mib: int = 0
    slowest_s: int = 0
    ends: tuple[str, ...] = ()


def state_of(name: str, folder: Path = FOLDER) -> State:
    path = folder / name / "state.json"
    if not path.exists():
        return State()
    found = json.loads(path.read_text())
    return State(**{**found, "ends": tuple(found["ends"])})


def shares(names: Sequence[str], seconds: float) -> Iterator[tuple[str, float]]:
    """The share of each target, in turn; targets with the fewest seconds come first."""
    least_first = sorted(names, key=lambda name: state_of(name).seconds)
    each = max(seconds / len(names), SHORTEST_S)
    for name in least_first:
        if seconds < 1:
            return
        yield name, min(each, seconds)
        seconds -= each


def run(target: Target, seconds: float, folder: Path = FOLDER) -> State:
    """Runs one process for the given time. Gives the target's state after it."""
    place = folder / target.name
    (place / "corpus").mkdir(parents=True, exist_ok=True)
    (place / "found").mkdir(exist_ok=True)
    write_seeds(target, place / "seeds")
    words = place / "words.txt"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words))
    command = [
        sys.executable,
        "-m",
        "tests.fuzz.guided.worker",
        target.name,
        str(place),
        f"-max_total_time={seconds:.0f}",
        f"-max_len={target.max_bytes}",
        *((f"-dict={words}",) if target.words else ()),
        f"-rss_limit_mb={MAX_RESIDENT_MIB}",
        f"-timeout={MAX_INPUT_S}",
        "-print_final_stats=1",
        "-len_control=20",
        f"-artifact_prefix={place / 'found'}/",
    ]
    path = os.pathsep.join((str(REPOSITORY), str(TOOL)))
    ran = subprocess.run(
        command,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=2 * seconds + MAX_INPUT_S + _STARTS_S,
    )
    state = after(state_of(target.name, folder), ran.stderr + ran.stdout, ran.returncode, seconds)
    (place / "state.json").write_text(json.dumps(asdict(state)) + "\n")
    (place / "said.txt").write_text(ran.stdout + ran.stderr)
    return state


def after(before: State, said: str, code: int, seconds: float) -> State:
    """The state after a run of `seconds` seconds. said: what libFuzzer printed."""
    progress = _PROGRESS.findall(said) or [("0", "0", "0", "0")]
    inputs, edges, features, kept = map(int, progress[-1])
    memory, slowest = (int((p.findall(said) or ["0"])[-1]) for p in (_MEMORY, _SLOWEST))
    end = () if code == 0 else (f"exit code {code}: {_reason(said)}",)
    return replace(
        before,
        seconds=before.seconds + seconds,
        inputs=before.inputs + inputs,
        edges=max(before.edges, edges),
        features=max(before.features, features),
        kept=kept,
        resident_mib=max(before.resident_mib, memory),
        slowest_s=max(before.slowest_s, slowest),
        ends=before.ends + end,
    )


def findings(name: str, folder: Path = FOLDER) -> list[Path]:
    """The inputs in found/ that still break their target with the present code. An input that ended
    the process isn't run again: it counts until a person removes it."""
    still = []
    for path in sorted((folder / name / "found").glob("*")):
        if path.suffix == ".txt":
            continue
        if path.suffix != ".bin" or breaks(TARGETS[name], path.read_bytes()):
            still.append(path)
    return still


def breaks(target: Target, data: bytes) -> bool:
    try:
        target.run(data)
    except Exception:  # noqa: BLE001 (any)
        return True
    return False


def campaign(names: Sequence[str], minutes: float) -> None:
    """Runs the campaign, and prints a line for each target."""
    for name, seconds in shares(names, minutes * 60):
        began = time.monotonic()
        state = run(TARGETS[name], seconds)
        found = len(list((FOLDER / name / "found").glob("*.bin")))
        sys.stdout.write(
            f"{name}: {time.monotonic() - began:.0f} s, in all {state.inputs:,} inputs, "
            f"{state.edges:,} edges, {state.kept} kept, {state.resident_mib} MiB, "
            f"{found} kinds of exceptions{''.join(f'; {end}' for end in state.ends)}\n"
        )
        sys.stdout.flush()


def _reason(said: str) -> str:
    lines = [line for line in said.splitlines() if "ERROR" in line or "Error" in line]
    return lines[-1][:200] if lines else (said.strip().splitlines() or ["nothing said"])[-1][:200]


def _escaped(word: str) -> str:
    return "".join(
        char if " " <= char <= "~" and char not in '"\\' else f"\\x{ord(char):02X}" for char in word
    )

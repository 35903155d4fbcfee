"""Makes build/simulator: a copy of replica/ whose hot modules are compiled.

    python -m tests.replica.simulate.compiled.build [--folder FOLDER]

It needs a C compiler and Python's headers, 2 GB of memory and two minutes of one core. In the copy,
a compiled module lies beside its source, and Python imports the compiled one. mypyc 2.4 compiles
some phrases wrongly. `values` rewrites most of them in the copy. The sources themselves avoid the
others: a lambda as a generator's default, `in (*several, one)`, a named slice of bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.replica.simulate.compiled.values import Known, written_out

ROOT = Path(__file__).parents[4]
FOLDER = ROOT / "build" / "simulator"
HOT = (
    "replica/model/*.py",
    "replica/history/epochs.py", "replica/history/fetch.py", "replica/history/truncation.py",
    "replica/history/watermark.py",
    "replica/raft/**/*.py",
    "replica/simulate/*.py",
    "replica/host/*.py",
    "replica/machines/metadata.py", "replica/machines/opaque.py",
    "replica/storage/*.py",
    "replica/format/batch.py", "replica/format/checksum.py",
    "replica/format/control.py", "replica/format/control_records.py",
    "replica/format/file_names.py", "replica/format/frames.py", "replica/format/index.py",
    "replica/format/leader_epoch_checkpoint.py", "replica/format/quorum_state.py",
    "replica/format/record.py", "replica/format/runs.py", "replica/format/whole_batch.py",
    "replica/message/*.py",
    "replica/metadata/codec.py", "replica/metadata/record.py",
    "replica/metadata/image/*.py",
)  # fmt: skip
"""The modules to compile: those that run in an event of the simulator."""
COLD = (
    "__init__.py", "directory_lock.py", "guided.py", "json_text.py", "kafka_errors.py",
)  # fmt: skip
"""Files that stay Python: modules that no event needs, and the module of ErrorCode, an IntEnum, of
which mypyc 2.4 makes wrong C."""
_STAMP = "made-from"
_CONFIG = "[mypy]\nignore_errors = True\nfollow_imports = silent\n"
"""mypyc runs mypy, which need not check again what was checked before the dataclasses were written
out."""
_FLAGS = "-w -Wno-misleading-indentation"
"""With its warnings gcc spends most of its time on the indentation of mypyc's C."""
_SETUP = """from setuptools import setup
from mypyc.build import mypycify

modules = mypycify({arguments!r}, opt_level={level!r}, debug_level="0")
setup(name="simulator", packages=[], ext_modules=modules)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--level", default="1", help="gcc's -O")
    asked = parser.parse_args(arguments)
    if is_made(asked.folder):
        return 0
    files = copy(asked.folder)
    return compile_in(asked.folder, files, asked.level)


def is_made(folder: Path = FOLDER) -> bool:
    """Whether the copy was made from the present sources."""
    stamp = folder / _STAMP
    return stamp.exists() and stamp.read_text(encoding="utf-8") == made_from()


def made_from() -> str:
    """A checksum of all sources of a copy."""
    digest = hashlib.sha256(sys.version.encode())
    for path in (*_sources(ROOT / "replica"), *_sources(Path(__file__).parent)):
        digest.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def copy(folder: Path) -> list[str]:
    """Copies replica/ into an empty folder, with the values of the hot modules written out. Returns
    these modules' files, relative to the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(
        ROOT / "replica", folder / "replica", ignore=shutil.ignore_patterns("__pycache__")
    )
    known: Known = {}
    files = list(hot(folder))
    for path in files:
        path.write_text(written_out(path.read_text(encoding="utf-8"), known), encoding="utf-8")
    return [str(path.relative_to(folder)) for path in files]


def hot(folder: Path) -> Iterator[Path]:
    """The files of the modules to compile."""
    for pattern in HOT:
        yield from (path for path in sorted(folder.glob(pattern)) if path.name not in COLD)


def compile_in(folder: Path, files: Iterable[str], level: str) -> int:
    """Compiles a copy's modules. Returns the compiler's exit code."""
    (folder / "mypy.ini").write_text(_CONFIG, encoding="utf-8")
    words = ["--config-file=mypy.ini", *files]
    setup = _SETUP.format(arguments=words, level=level)
    (folder / "setup.py").write_text(setup, encoding="utf-8")
    command = (sys.executable, "setup.py", "-q", "build_ext", "--inplace")
    environment = {**os.environ, "CFLAGS": _FLAGS}
    done = subprocess.run(command, cwd=folder, env=environment, check=False)
    if done.returncode == 0:
        shutil.rmtree(folder / "build")
        (folder / _STAMP).write_text(made_from(), encoding="utf-8")
    return done.returncode


def _sources(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


if __name__ == "__main__":
    sys.exit(main())

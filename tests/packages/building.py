"""Wheel and sdist of this checkout, by the build backend that is installed already: no network.

    python -m tests.packages.building dist

The same sources give the same bytes: they are copied first, so nothing that an earlier build left
behind comes along, and the files have the time of SOURCE_DATE_EPOCH (reproducible-builds.org), by
default that of the last commit. setuptools writes an sdist with times and owners of its own, so it
is packed anew.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PACKAGES = ("replica", "pipelines", "jobs", "kraftlake")
MODULES = (
    "pyspark_kraft_captures.py",
    "pyspark_kraft_log.py",
    "pyspark_kraft_replica.py",
    "pyspark_kraft_snapshot.py",
)
"""The modules by which Spark finds the formats of the data sources."""
RUNBOOKS = "docs/how-to/runbooks"
STEP = "packaging/one_name.py"
"""The step of the build that puts the packages below one name."""
_INPUTS = (*PACKAGES, *MODULES, "conf", RUNBOOKS, STEP, "pyproject.toml", "README.md", "LICENSE")
_IGNORED = shutil.ignore_patterns("__pycache__")
_BACKEND = (
    "import sys; from setuptools import build_meta as b; getattr(b, sys.argv[1])(sys.argv[2])"
)
_ENDING = {"wheel": ".whl", "sdist": ".tar.gz"}


def copy_of_the_checkout(folder: Path) -> Path:
    """Copies the files from which packages are made into a folder, because builds leave files where
    they run."""
    folder.mkdir(parents=True)
    for name in _INPUTS:
        path = REPOSITORY / name
        if path.is_dir():
            shutil.copytree(path, folder / name, ignore=_IGNORED, copy_function=shutil.copyfile)
        else:
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(path, folder / name)
    return folder


def build(kind: str, source: Path, output: Path, epoch: int) -> Path:
    """Builds a wheel or an sdist. kind: wheel or sdist. source: an unpacked tree. epoch:
    SOURCE_DATE_EPOCH, in seconds since 1970."""
    output.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", _BACKEND, f"build_{kind}", str(output.absolute())],
        cwd=source,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    built = (path for path in output.iterdir() if path.name.endswith(_ENDING[kind]))
    found = max(built, key=lambda path: path.stat().st_mtime_ns)
    if kind == "sdist":
        _pack_anew(found, epoch)
    return found


def _pack_anew(sdist: Path, epoch: int) -> None:
    """Packs the sdist again, with its files sorted by name, with one time and without owners."""
    draft = sdist.with_name(f".{sdist.name}")
    with (
        tarfile.open(sdist) as old,
        draft.open("wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for entry in sorted(old.getmembers(), key=lambda one: one.name):
            plain = tarfile.TarInfo(entry.name)
            plain.type, plain.size, plain.mtime = entry.type, entry.size, epoch
            plain.mode = 0o755 if entry.isdir() else 0o644
            new.addfile(plain, old.extractfile(entry) if entry.isfile() else None)
    draft.replace(sdist)


def main(output: str) -> int:
    """Builds the wheel and the sdist into the folder."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or _time_of_the_last_commit()
    for kind in ("wheel", "sdist"):
        with tempfile.TemporaryDirectory() as folder:
            source = copy_of_the_checkout(Path(folder, "source"))
            sys.stdout.write(f"{build(kind, source, Path(output), int(epoch))}\n")
    return 0


def _time_of_the_last_commit() -> str:
    call = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(call, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

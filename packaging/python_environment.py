"""The Python packages that the jobs need as one archive for `spark-submit --archives`.

    python packaging/python_environment.py dist/kraftlake-environment.tar.gz

The packages come from the environment that runs this module: those that `kraftlake[lake]` requires,
and those that these require in turn. pyspark is left out, because a cluster has it, and so is our
own code, which goes by --py-files. Spark unpacks the archive on each executor as a virtual
environment, so workers need the same Python at the same place as this machine.
"""

from __future__ import annotations

import argparse
import gzip
import io
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
EXTRA = "lake"
OF_THE_CLUSTER = frozenset({"pyspark", "py4j"})
_PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
_PACKAGES = f"lib/{_PYTHON}/site-packages"


def distributions() -> dict[str, Distribution]:
    """The packages that the jobs import, by name. Raises PackageNotFoundError where one of them
    isn't installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"][EXTRA]]
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    while wanted:
        needed = Requirement(wanted.pop())
        name = canonicalize_name(needed.name)
        for extra in ("", *needed.extras):
            if name in OF_THE_CLUSTER or (name, extra) in seen:
                continue
            seen.add((name, extra))
            found[name] = distribution(name)
            wanted += _required(found[name], extra)
    return found


def _required(package: Distribution, extra: str) -> Iterator[str]:
    for text in package.requires or ():
        marker = Requirement(text).marker
        if marker is None or marker.evaluate({"extra": extra}):
            yield text


def files(package: Distribution) -> Iterator[tuple[str, Path]]:
    """(place below site-packages, file) of the package's files. Scripts are left out, because they
    name their interpreter's path. Files that Python makes anew are left out, too."""
    for file in package.files or ():
        if ".." not in file.parts and "__pycache__" not in file.parts:
            yield file.as_posix(), Path(str(package.locate_file(file)))


def write_archive(target: Path) -> int:
    """Writes the archive, whole or not at all. Returns the number of packages in it."""
    packages = distributions()
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}")
    with (
        draft.open("wb") as raw,
        gzip.GzipFile("", "wb", compresslevel=1, fileobj=raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as out,
    ):
        _add_interpreter(out, Path(sys.executable).resolve())
        for _, package in sorted(packages.items()):
            for place, path in sorted(files(package)):
                out.add(path, f"{_PACKAGES}/{place}", recursive=False, filter=_plain)
    draft.replace(target)
    return len(packages)


def _add_interpreter(out: tarfile.TarFile, interpreter: Path) -> None:
    """Adds the files that make the folder a virtual environment (PEP 405), wherever the archive is
    unpacked."""
    text = f"home = {interpreter.parent}\ninclude-system-site-packages = false\n".encode()
    marker = tarfile.TarInfo("pyvenv.cfg")
    marker.size = len(text)
    out.addfile(marker, io.BytesIO(text))
    link = tarfile.TarInfo("bin/python")
    link.type, link.linkname = tarfile.SYMTYPE, str(interpreter)
    out.addfile(link)


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """The entry without the fields that differ between two installations of the same package."""
    entry.mtime = entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    default = ROOT / "dist" / "kraftlake-environment.tar.gz"
    parser.add_argument("target", type=Path, nargs="?", default=default)
    target = parser.parse_args().target
    try:
        count = write_archive(target)
    except PackageNotFoundError as error:
        sys.exit(f"{error.name} is not installed here: run `make setup`, then `make package` again")
    size = target.stat().st_size / 1e6
    sys.stdout.write(f"{target}: {count} packages, {size:.0f} MB\n")


if __name__ == "__main__":
    main()

"""The code as one zip for `spark-submit --py-files`: replica, pipelines, jobs, kraftlake, conf, and
the modules by which Spark finds the data sources.

    python packaging/jobs_zip.py dist/kraftlake-jobs.zip

The same files give the same bytes. The entries are sorted, have no times, owners and modes of their
files, and are not compressed, because the output of a compressor depends on its release.
"""

from __future__ import annotations

import argparse
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("jobs", "kraftlake", "pipelines", "replica")
CONF = ("kraftlake.toml", "spark-defaults.conf", "spark-local.conf", "log4j2.properties")
"""The files of the folder conf that pipelines.spark.session looks for beside the code, and the
files that these need."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip can hold."""


def files(root: Path) -> Iterator[Path]:
    """The files below `root` that the zip must contain."""
    for package in PACKAGES:
        for path in (root / package).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path
    yield from root.glob("pyspark_*.py")
    yield from (root / "conf" / name for name in CONF)


def write_zip(root: Path, target: Path) -> int:
    """Writes the zip, whole or not at all. Returns the number of files in it."""
    names = sorted(path.relative_to(root).as_posix() for path in files(root))
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}")
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED) as out:
        for name in names:
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system = 3  # the value for Unix, on whatever system this runs
            entry.external_attr = 0o100644 << 16
            out.writestr(entry, (root / name).read_bytes())
    draft.replace(target)
    return len(names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path, nargs="?", default=ROOT / "dist/kraftlake-jobs.zip")
    target = parser.parse_args().target
    count = write_zip(ROOT, target)
    sys.stdout.write(f"{target}: {count} files, {target.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()

"""The recorded logs of the demo as one archive, which is part of the wheel.

    python packaging/demo_logs.py jobs/cli/lake/demo_logs.tar.xz

The same files give the same entries, sorted and without times, owners and modes. Nodes of a cluster
hold nearly the same log, so xz makes 60 kB of 6 MB, for which gzip needs 840 kB.
"""

from __future__ import annotations

import argparse
import io
import lzma
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests" / "data"
CLUSTERS = ("kafka-3.7.2-static", "kafka-4.1.1-dynamic")


def write_archive(target: Path) -> int:
    """Writes the archive, whole or not at all. Returns the number of files in it."""
    files = sorted(path for name in CLUSTERS for path in (DATA / name).rglob("*") if path.is_file())
    draft = target.with_name(f".{target.name}")
    with (
        lzma.open(draft, "wb", preset=9 | lzma.PRESET_EXTREME) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as out,
    ):
        for path in files:
            content = path.read_bytes()
            entry = tarfile.TarInfo(path.relative_to(DATA).as_posix())
            entry.size = len(content)
            out.addfile(entry, io.BytesIO(content))
    draft.replace(target)
    return len(files)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    default = ROOT / "jobs" / "lake" / "demo_logs.tar.xz"
    parser.add_argument("target", type=Path, nargs="?", default=default)
    target = parser.parse_args().target
    count = write_archive(target)
    sys.stdout.write(f"{target}: {count} files, {target.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()

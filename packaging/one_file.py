"""The core and what it needs as one file that any Python from 3.11 on runs (PEP 441).

    python packaging/one_file.py dist/kraftlake-*.whl dist/kraftlake.pyz

Python runs the file in its place: nothing is unpacked, written or fetched. The packages come by pip
and are pinned, with hashes, in packaging/zipapp/requirements.lock. Modules that the Python of this
run has compiled lie beside their sources. With them that Python starts in half the time; another
Python takes the sources. The same wheel, lock and Python give the same bytes.
"""

from __future__ import annotations

import argparse
import compileall
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import IO

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "packaging" / "zipapp" / "requirements.lock"
_SHEBANG = b"#!/usr/bin/env python3\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip can hold."""
_COMPILED = {".so", ".pyd", ".dylib"}
_MAIN = """\
import sys

if sys.version_info < (3, 11):
    sys.exit(
        "kraftlake needs Python 3.11 or newer, this is %d.%d: start it by another one, such as"
        " python3.12 %s" % (sys.version_info[0], sys.version_info[1], sys.argv[0])
    )

from kraftlake.__main__ import main

main()
"""
_LOADED = ("kraftlake", "typer")
"""The packages that most commands load. They are compiled; of other packages the file has only the
sources."""


class CompiledCodeError(Exception):
    """A package of the lock has compiled code for one processor, which can't run in a zip."""


def write_file(wheel: Path, target: Path) -> int:
    """Writes the file, whole or not at all. Returns the number of files in it. Raises
    CompiledCodeError."""
    with tempfile.TemporaryDirectory() as folder:
        staged = Path(folder)
        _install_locked(staged)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(staged)
        (staged / "__main__.py").write_text(_MAIN, encoding="utf-8")
        for name in _LOADED:
            compileall.compile_dir(
                staged / name,
                quiet=2,
                legacy=True,  # beside the sources, because zipimport looks there
                stripdir=str(staged),
                invalidation_mode=PycInvalidationMode.UNCHECKED_HASH,
            )
        _place_runbooks(staged)
        names = sorted(path.relative_to(staged).as_posix() for path in _wanted(staged))
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}")
        with draft.open("wb") as out:
            out.write(_SHEBANG)
            _write_zip(out, staged, names)
        draft.chmod(0o755)
        draft.replace(target)
    return len(names)


def _install_locked(folder: Path) -> None:
    options = ("--quiet", "--disable-pip-version-check", "--no-compile", "--no-deps")
    pip = [sys.executable, "-m", "pip", "install", *options, "--only-binary", ":all:"]
    locked = ("--require-hashes", "--requirement", str(LOCK), "--target", str(folder))
    subprocess.run([*pip, *locked], check=True)  # noqa: S603


def _place_runbooks(folder: Path) -> None:
    """Moves the runbooks of the wheel to their place in a checkout, beside the folder replica."""
    target = folder / "kraftlake" / "docs" / "how-to" / "runbooks"
    (source,) = folder.glob("*.data/data/share/kraftlake/runbooks")
    target.parent.mkdir(parents=True)
    source.rename(target)


def _wanted(folder: Path) -> Iterator[Path]:
    """The files of packages and their metadata, and the runbooks. Left out are scripts, settings of
    the lake and the demo's logs. Raises CompiledCodeError for compiled code."""
    for path in folder.rglob("*"):
        if path.suffix in _COMPILED:
            raise CompiledCodeError(f"{path.relative_to(folder)}: not Python")
        if path.is_file() and not _is_left_out(path.relative_to(folder)):
            yield path


def _is_left_out(path: Path) -> bool:
    return path.parts[0] == "bin" or path.parts[0].endswith(".data") or path.suffix == ".xz"


def _write_zip(out: IO[bytes], folder: Path, names: list[str]) -> None:
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in names:
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # the value for Unix, on whatever system this runs
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, (folder / name).read_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("target", type=Path, nargs="?", default=ROOT / "dist" / "kraftlake.pyz")
    options = parser.parse_args()
    try:
        count = write_file(options.wheel, options.target)
    except CompiledCodeError as error:
        sys.exit(f"{error}: pin a release without compiled code in {LOCK.with_suffix('.in')}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"pip ended with exit code {error.returncode}; what it said is above")
    size = options.target.stat().st_size / 1e6
    sys.stdout.write(f"{options.target}: {count} files, {size:.1f} MB\n")


if __name__ == "__main__":
    main()

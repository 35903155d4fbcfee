"""A class data sharing archive of Kafka's classes: with it a node starts in a third of the time.

A JVM that the archive wasn't made by, or for other jars, goes on without it and says nothing.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from zlib import crc32

from pipelines.spark.java import Java, find_java
from tests.interop.kafka_jars import NEWEST, class_path, jar_folder

_TRAINING_S, _POLL_S = 120, 0.1


@cache
def java() -> Java:
    """The one that all nodes run on; it is looked for once."""
    return find_java()


def archive_options(version: str = NEWEST) -> tuple[str, ...]:
    """What a JVM is told so that it uses the archive; nothing where none has been made."""
    archive = _archive(version)
    if not archive.is_file():
        return ()
    return ("-Xshare:auto", "-Xlog:cds*=off", f"-XX:SharedArchiveFile={archive}")


def make_archive(version: str, main_class: str, *arguments: object, until: Path) -> None:
    """Run a node once until it has written a file, and keep the classes that it loaded; at once
    where that has been done. Whoever can't have an archive does without."""
    archive = _archive(version)
    if archive.is_file():
        return
    with tempfile.TemporaryDirectory(prefix=".archive-", dir=archive.parent) as work:
        made = Path(work) / archive.name
        _train(version, made, (main_class, *map(str, arguments)), until)
        if made.is_file():
            made.rename(archive)


def _train(version: str, made: Path, command: tuple[str, ...], until: Path) -> None:
    options = (f"-XX:ArchiveClassesAtExit={made}", "-Xlog:cds*=off", "-XX:+UseSerialGC")
    process = subprocess.Popen(
        [str(java().executable), *options, "-cp", class_path(version), *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + _TRAINING_S
        while not until.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        process.terminate()
        process.wait(_TRAINING_S)
    finally:
        process.kill()
        process.wait()


def _archive(version: str) -> Path:
    """Beside the jars, named after the JVM."""
    home = java().home
    about = (home / "release").read_bytes() if (home / "release").is_file() else b""
    key = crc32(about + str(home).encode())
    folder = jar_folder(version)
    return folder.with_name(f"{folder.name}-{key:08x}.jsa")

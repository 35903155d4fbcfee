"""A class data sharing archive of Kafka's classes. With it a node starts in a third of the time.

A JVM that didn't make the archive, or that has other jars, runs without it and prints nothing.
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
    """The Java that all nodes run on. It is searched for once."""
    return find_java()


def archive_options(version: str = NEWEST) -> tuple[str, ...]:
    """The JVM's options that use the archive; none where no archive has been made."""
    archive = _archive(version)
    if not archive.is_file():
        return ()
    return ("-Xshare:auto", "-Xlog:cds*=off", f"-XX:SharedArchiveFile={archive}")


def make_archive(version: str, main_class: str, *arguments: object, until: Path) -> None:
    """Runs a node once until it has written a file, and keeps the classes that it loaded. Returns
    at once where the archive exists. Where an archive can't be made, nodes run without it."""
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
    """The archive's path, beside the jars, with a name made of the JVM's."""
    home = java().home
    about = (home / "release").read_bytes() if (home / "release").is_file() else b""
    key = crc32(about + str(home).encode())
    folder = jar_folder(version)
    return folder.with_name(f"{folder.name}-{key:08x}.jsa")

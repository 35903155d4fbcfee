"""A real S3 server on 127.0.0.1 that checks credentials: s3proxy, over a folder."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pipelines.spark.java import find_java
from tests.interop.kafka_node import free_ports
from tests.interop.maven_jars import Jar, Jars, or_skip

VERSION = "4.1.0"
ACCESS_KEY, SECRET_KEY = "AKIAKRAFTLAKE", "S3CR3T/of+the/tests"
_JARS = (
    Jar("org.gaul", "s3proxy", VERSION),
    # newer than what it asks for, because its jackson-databind needs a class of it
    Jar("com.fasterxml.jackson.core", "jackson-annotations", "2.21", with_closure=False),
)
_START_S = 60
_QUIET = (
    '<configuration><appender name="err" class="ch.qos.logback.core.ConsoleAppender">'
    "<target>System.err</target><encoder><pattern>%level %logger %msg%n</pattern></encoder>"
    '</appender><root level="WARN"><appender-ref ref="err"/></root></configuration>'
)


@dataclass(frozen=True)
class S3Server:
    """A server. endpoint: the value for AWS_ENDPOINT_URL. folder: a bucket is a folder in it, an
    object a file below."""

    endpoint: str
    folder: Path

    @property
    def variables(self) -> dict[str, str]:
        """The environment in which clients find the server, and have all rights."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def make_bucket(self, name: str) -> Path:
        """Makes a bucket, and gives its folder."""
        bucket = self.folder / name
        bucket.mkdir()
        return bucket


def class_path_or_skip() -> str:
    """The class path of s3proxy, for Java."""
    return or_skip(lambda: f"{Jars('s3proxy', VERSION, _JARS).fetched()}/*", f"s3proxy {VERSION}")


@contextmanager
def s3_server(folder: Path, class_path: str) -> Iterator[S3Server]:
    """A server over `folder`/buckets, which ends with the block."""
    buckets = folder / "buckets"
    buckets.mkdir(parents=True)
    (port,) = free_ports(1)
    endpoint = f"http://127.0.0.1:{port}"
    settings, quiet = folder / "s3proxy.conf", folder / "logback.xml"
    quiet.write_text(_QUIET)
    lines = {
        "s3proxy.endpoint": endpoint,
        "s3proxy.authorization": "aws-v2-or-v4",
        "s3proxy.identity": ACCESS_KEY,
        "s3proxy.credential": SECRET_KEY,
        "s3proxy.ignore-unknown-headers": "true",
        "jclouds.provider": "filesystem-nio2",
        "jclouds.filesystem.basedir": str(buckets),
    }
    settings.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    command = [
        str(find_java().executable),
        "-Xmx256m",
        f"-Dlogback.configurationFile={quiet}",
        "-cp",
        class_path,
        "org.gaul.s3proxy.Main",
        "--properties",
        str(settings),
    ]
    log = folder / "s3proxy.log"
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
    try:
        _wait_for(port, process, log)
        yield S3Server(endpoint, buckets)
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        said = log.read_text(errors="replace")[-3000:]
        assert process.poll() is None, f"s3proxy ended:\n{said}"
        assert time.monotonic() < deadline, f"s3proxy does not listen:\n{said}"
        time.sleep(0.1)

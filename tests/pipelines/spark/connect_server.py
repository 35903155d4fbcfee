"""A server of Spark Connect on 127.0.0.1, as a process of its own with our settings."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines.spark.java import find_java
from pipelines.spark.settings import client_settings
from tests.kraftlake_process import REPOSITORY

_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
_WITHIN_S = 400


@contextmanager
def connect_server(folder: Path) -> Iterator[tuple[str, int]]:
    """The address and the process of a server that runs until the context ends. folder: for its
    output."""
    port = _free_port()
    settings = client_settings(
        {
            "spark.master": "local[2]",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(port),
            "spark.sql.connect.serverStacktrace.enabled": "false",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        }
    )
    words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    output = folder / "server.txt"
    with output.open("wb") as file:
        process = subprocess.Popen(
            [
                Path(sys.executable).with_name("spark-submit"),
                "--class", _CLASS, *words, "spark-internal",
            ],
            stdout=file,
            stderr=subprocess.STDOUT,
            env={
                **{k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))},
                "JAVA_HOME": str(find_java().home),
                "PYSPARK_PYTHON": sys.executable,
                "PYTHONPATH": str(REPOSITORY),
                "SPARK_LOCAL_IP": "127.0.0.1",
            },
        )  # fmt: skip
    try:
        until = time.monotonic() + _WITHIN_S
        while not _answers(port):
            assert process.poll() is None, output.read_text()[-3000:]
            assert time.monotonic() < until, output.read_text()[-3000:]
            time.sleep(0.2)
        yield f"sc://127.0.0.1:{port}", process.pid
    finally:
        process.terminate()
        process.wait(60)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True

"""Spark in local mode listens on loopback, where other users of the machine are too: whoever lacks
the session's secrets reaches nothing there."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.listening import LOOPBACK, listeners

pytestmark = [pytest.mark.spark, pytest.mark.slow]

REPOSITORY = Path(__file__).parents[3]
VICTIM = """
    import sys
    from pipelines.spark.session import spark_session

    spark = spark_session("x", extra_conf=dict(one.split("=") for one in sys.argv[1:]))
    spark.range(4).mapInPandas(lambda batches: batches, "id long").count()  # with Python's workers
    print("ready", flush=True)
    sys.stdin.read()
"""
STRANGER = """
    import sys
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.rpc.lookupTimeout", "3s").config(*sys.argv[1].split("="))
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark_jvm = spark._jvm.org.apache.spark
    rpc = spark_jvm.SparkEnv.get().rpcEnv()
    for port in map(int, sys.argv[2:]):
        for name in ("HeartbeatReceiver", "LocalSchedulerBackendEndpoint", "BlockManagerMaster"):
            try:
                rpc.setupEndpointRef(spark_jvm.rpc.RpcAddress("127.0.0.1", port), name)
                print("reached", port, name)
            except Exception:
                break
    print("done")
"""


@contextmanager
def victim(folder: Path, *settings: str) -> Iterator[list[tuple[str, int]]]:
    """A session of ours in a process of its own: the addresses, in hex, and ports on which it, its
    JVM and its Python workers listen."""
    script = folder / "victim.py"
    script.write_text(textwrap.dedent(VICTIM))
    with subprocess.Popen(
        [sys.executable, script, *settings],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield listeners(process.pid)
        finally:
            process.stdin.close()


def reached(folder: Path, own: str, ports: list[int]) -> list[str]:
    """The victim's endpoints that another Spark reaches, which starts with settings of its own."""
    script = folder / "stranger.py"
    script.write_text(textwrap.dedent(STRANGER))
    done = subprocess.run(
        [sys.executable, script, own, *map(str, ports)],
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    *found, last = done.stdout.splitlines()
    assert last == "done"
    return found


def answer_without_a_token(port: int) -> bytes:
    """What a port answers to a command of py4j, or to bytes that mean nothing to it."""
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.settimeout(3)
        try:
            connection.sendall(b"r\nu\njava.lang.System\nrj\ne\n")
            return connection.recv(100)
        except OSError:
            return b""


@pytest.mark.parametrize("own", ["spark.authenticate=false", "spark.authenticate=true"])
def test_another_spark_of_the_machine_reaches_nothing_of_a_session(
    tmp_path: Path, own: str
) -> None:
    with victim(tmp_path) as listens:
        ports = [port for _, port in listens]
        assert {address for address, _ in listens} <= LOOPBACK
        assert len(ports) >= 4, "the driver, its block manager, py4j and Python's own"
        assert reached(tmp_path, own, ports) == []
        assert not [port for port in ports if answer_without_a_token(port).startswith(b"!y")]


def test_without_the_setting_another_spark_reaches_the_session(tmp_path: Path) -> None:
    """What the test above would see."""
    with victim(tmp_path, "spark.authenticate=false") as listens:
        found = reached(tmp_path, "spark.authenticate=false", [port for _, port in listens])
    assert [line for line in found if line.endswith("LocalSchedulerBackendEndpoint")]


def test_workers_of_a_local_cluster_have_the_secret(tmp_path: Path) -> None:
    with victim(tmp_path, "spark.master=local-cluster[1,1,1024]") as listens:
        assert listens


WITH_UI = """
    import urllib.request
    from pipelines.spark.session import spark_session

    spark = spark_session("x", extra_conf={"spark.ui.enabled": "true", "spark.ui.port": "0",
                                           "spark.hadoop.fs.s3a.secret.key": "SECRETPART"})
    spark.range(4).count()
    context = spark.sparkContext
    print(context.uiWebUrl)
    of_api = f"/api/v1/applications/{context.applicationId}/environment"
    pages = [urllib.request.urlopen(context.uiWebUrl + page).read().decode()
             for page in ("/environment/", of_api, "/jobs/", "/executors/")]
    secret = context.getConf().get("spark.authenticate.secret", "SECRETPART")
    print(any("fs.s3a.secret.key" in page for page in pages))
    print(any(hidden in page for page in pages for hidden in ("SECRETPART", secret)))
"""


def test_a_session_has_no_web_ui_and_one_that_is_asked_for_shows_no_secret(tmp_path: Path) -> None:
    def said(code: str) -> list[str]:
        script = tmp_path / "session.py"
        script.write_text(textwrap.dedent(code))
        words = [sys.executable, script]
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    plain = "from pipelines.spark.session import spark_session as s\n"
    assert said(f"{plain}print(s('x').sparkContext.uiWebUrl)") == ["None"]
    place, is_listed, shows_secret = said(WITH_UI)
    assert place.startswith("http://127.0.0.1:")
    assert (is_listed, shows_secret) == ("True", "False")

"""The pipeline by Spark Connect: no JVM is in this process, and none is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from pipelines.spark.connect import remote_address
from replica.errors import UsageError
from tests.kraftlake_process import REPOSITORY, command_line
from tests.listening import LOOPBACK, listeners
from tests.pipelines.spark.connect_server import connect_server

by_connect = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.skipif(find_spec("grpc") is None, reason="the extra `connect` isn't installed"),
]
NODES = REPOSITORY / "tests" / "data" / "kafka-3.7.2-static" / "split"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    with connect_server(tmp_path_factory.mktemp("server")) as address_and_process:
        yield address_and_process


@pytest.fixture(scope="module")
def server(running: tuple[str, int]) -> str:
    """Its address."""
    return running[0]


def run(server: str, *words: object) -> subprocess.CompletedProcess[str]:
    """A process that has only the server, and no Java of its own."""
    return subprocess.run(
        [*map(str, words)],
        cwd=REPOSITORY,
        env={
            **{k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))},
            "PYTHONPATH": str(REPOSITORY),
            "SPARK_REMOTE": server,
            "JAVA_HOME": "/nowhere",
        },
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


def script(server: str, text: str) -> str:
    done = run(server, sys.executable, "-c", textwrap.dedent(text))
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_an_address_of_another_form_is_refused() -> None:
    with pytest.raises(UsageError, match="name a server of Spark Connect, as sc://"):
        remote_address({"spark.remote": "spark://host:7077"})
    assert remote_address({"spark.remote": "sc://host"}) == "sc://host"


def test_a_server_that_does_not_answer_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    done = run(
        "sc://127.0.0.1:1",
        sys.executable, "-c",
        "from pipelines.spark.session import spark_session\n"
        "from replica.errors import UsageError\n"
        "try: spark_session('x')\n"
        "except UsageError as error: print(error)",
    )  # fmt: skip
    assert done.stdout.startswith("cannot reach the server of Spark Connect at sc://127.0.0.1:1 (")


class TestByConnect:
    pytestmark = by_connect

    def test_a_session_has_utc_and_runs_functions_over_arrow(self, server: str) -> None:
        shown = script(
            server,
            """
            from pipelines.spark.session import spark_session
            from pipelines.spark.connect import is_connect
            import pyarrow as pa

            spark = spark_session("x", lake="/some/lake")
            def twice(batches):
                for batch in batches:
                    yield pa.RecordBatch.from_pydict({"n": pa.compute.multiply(batch["id"], 2)})
            rows = spark.range(0, 4, 1, 4).mapInArrow(twice, "n bigint").toArrow()
            print(is_connect(spark), spark.conf.get("spark.sql.session.timeZone"))
            print(spark.conf.get("spark.kraftlake.lake"), sorted(rows["n"].to_pylist()))
            assert spark_session("y") is spark
            """,
        )
        assert shown.splitlines() == ["True UTC", "/some/lake [0, 2, 4, 6]"]

    def test_a_server_with_our_settings_listens_on_loopback_alone(
        self, running: tuple[str, int]
    ) -> None:
        """On its own port and on those of Spark within it."""
        address, process = running
        listens = listeners(process)
        assert int(address.rpartition(":")[2]) in [port for _, port in listens]
        assert {place for place, _ in listens} <= LOOPBACK

    def test_both_data_sources_are_read(self, server: str) -> None:
        shown = script(
            server,
            f"""
            from pipelines.sources import register
            from pipelines.spark.session import spark_session

            spark = spark_session("x")
            register(spark)
            place = "{NODES}/2/__cluster_metadata-0"
            print(spark.read.format("kraft_log").load(place).count() > 100)
            """,
        )
        assert shown == "True\n"

    def test_ingest_build_quality_and_maintain_run_there(self, server: str, tmp_path: Path) -> None:
        lake = tmp_path / "lake"
        spark = ("--engine", "spark")
        for words in (
            ("ingest", "--lake", lake, *spark, NODES / "2", NODES / "3"),
            ("build", "--lake", lake, *spark),
            ("quality", "--lake", lake, *spark),
            ("maintain", "--lake", lake),
            ("maintain", "--lake", lake, "--dry-run"),
        ):
            done = run(server, *command_line(*words))
            assert done.returncode == 0, (words, done.stderr[-3000:])
        local = tmp_path / "local"
        made = run(
            "", *command_line("ingest", "--build", "--lake", local, NODES / "2", NODES / "3")
        )
        assert made.returncode == 0, made.stderr
        asked = ("--json", "SELECT count(*) AS n FROM gold.metadata_history")
        counts = [
            run("", *command_line("sql", "--lake", one, *asked)).stdout for one in (lake, local)
        ]
        assert counts[0] == counts[1] != ""

    def test_tables_are_merged_and_rows_removed(self, server: str, tmp_path: Path) -> None:
        shown = script(
            server,
            f"""
            from pipelines import delta
            from pipelines.lake import Lake
            from pipelines.spark.session import spark_session
            from pipelines.tables.contract import Column, Contract

            columns = (Column("n", "bigint", "A number."), Column("seen", "int", "How often."))
            contract = Contract("gold.plain", "A table.", columns, ("n",))
            spark, lake = spark_session("x"), Lake("{tmp_path}/lake")
            delta.ensure_table(lake, contract)
            frame = spark.createDataFrame([(1, 1), (2, 1)], contract.schema)
            delta.merge(spark, lake, contract, frame)
            more = spark.createDataFrame([(2, 7), (3, 7)], contract.schema)
            delta.merge(spark, lake, contract, more, update=["seen"])
            print(delta.remove(spark, lake, contract, frame.where("n = 1").select("n")))
            print(sorted(map(tuple, delta.read(spark, lake, contract).collect())))
            """,
        )
        assert shown.splitlines() == ["1", "[(2, 7), (3, 7)]"]

    def test_a_column_with_a_rule_of_its_own_is_refused(self, server: str, tmp_path: Path) -> None:
        """Connect's schemas say nothing of it."""
        shown = script(
            server,
            f"""
            import json, pathlib
            from pipelines import delta
            from pipelines.lake import Lake
            from pipelines.spark.session import spark_session
            from pipelines.tables.contract import Column, Contract
            from replica.errors import UsageError

            columns = (Column("n", "bigint", "A number."), Column("seen", "int", "How often."))
            contract = Contract("gold.plain", "A table.", columns, ("n",))
            spark, lake = spark_session("x"), Lake("{tmp_path}/lake")
            delta.ensure_table(lake, contract)
            log = pathlib.Path("{tmp_path}/lake/gold/plain/_delta_log")
            actions = [json.loads(line) for line in (log / f"{{0:020}}.json").open()]
            metadata = [action for action in actions if "metaData" in action][0]
            schema = json.loads(metadata["metaData"]["schemaString"])
            schema["fields"][1]["metadata"]["delta.generationExpression"] = "n + 1"
            metadata["metaData"]["schemaString"] = json.dumps(schema)
            (log / f"{{1:020}}.json").write_text(json.dumps(metadata) + chr(10))
            frame = spark.createDataFrame([(1, 1), (2, 1)], contract.schema)
            for work in (
                lambda: delta.merge(spark, lake, contract, frame),
                lambda: delta.remove(spark, lake, contract, frame.select("n")),
                lambda: delta.read(spark, lake, contract),
            ):
                try:
                    work()
                except UsageError as error:
                    print(error)
            """,
        )
        assert len(shown.splitlines()) == 3
        assert shown.count("'delta.generationExpression', which kraftlake gives to no table") == 3

    @pytest.mark.parametrize("command", ["sql", "register"])
    def test_commands_with_a_spark_of_their_own_say_so(
        self, server: str, tmp_path: Path, command: str
    ) -> None:
        lake = tmp_path / "lake"
        run("", *command_line("ingest", "--lake", lake, NODES / "2"))
        words = ("--engine", "spark", "SELECT 1") if command == "sql" else ()
        done = run(server, *command_line(command, "--lake", lake, *words))
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.splitlines()[-1].endswith("unset SPARK_REMOTE.")

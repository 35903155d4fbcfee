"""Tables of a stranger's lake: what an engine would obey or evaluate is refused before it reads or
writes, as that engine sees it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from pipelines import delta
from pipelines.delta.conforming import TableState, refuse_other
from pipelines.delta.task_files import PendingAppend
from pipelines.delta.unit_commits import Made, commit_units
from pipelines.delta.upkeep import upkeep
from pipelines.delta.writing import merge_values, replace_values
from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_table
from pipelines.tables.contract import Column, Contract
from replica.errors import KraftlakeError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORDS = Contract(
    "gold.votes",
    "Words.",
    (Column("cluster_id", "string", "a", False), Column("word", "string", "b")),
    ("cluster_id",),
)
RUNS = "reflect('java.lang.System', 'setProperty', 'kraftlake.canary', 'ran')"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """With a table of one row."""
    place = Lake(tmp_path / "lake")
    delta.ensure_table(place, WORDS)
    delta.add_values(place, WORDS, [{"cluster_id": "c", "word": "inside"}])
    return place


def log_of(lake: Lake) -> Path:
    return Path(lake.path_of(WORDS)) / "_delta_log"


def actions_of(lake: Lake) -> list[dict[str, Any]]:
    files = sorted(log_of(lake).glob("0*.json"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def add_commit(lake: Lake, *actions: dict[str, Any]) -> None:
    number = len(list(log_of(lake).glob("0*.json")))
    text = "".join(f"{json.dumps(action)}\n" for action in actions)
    (log_of(lake) / f"{number:020}.json").write_text(text)


def with_rule(lake: Lake, **rule: Any) -> list[dict[str, Any]]:
    """The protocol and metadata of the table, its column `word` with this metadata."""
    metadata = [action for action in actions_of(lake) if "metaData" in action][-1]
    schema = json.loads(metadata["metaData"]["schemaString"])
    schema["fields"][1]["metadata"].update({key.replace("__", "."): v for key, v in rule.items()})
    metadata["metaData"]["schemaString"] = json.dumps(schema)
    return [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 4}}, metadata]


def with_property(lake: Lake, name: str, value: str) -> list[dict[str, Any]]:
    metadata = [action for action in actions_of(lake) if "metaData" in action][-1]
    metadata["metaData"]["configuration"][name] = value
    return [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 4}}, metadata]


RULES: dict[str, Callable[[Lake], list[dict[str, Any]]]] = {
    "generated": lambda lake: with_rule(lake, delta__generationExpression=RUNS),
    "invariant": lambda lake: with_rule(
        lake, delta__invariants=json.dumps({"expression": {"expression": f"{RUNS} IS NULL"}})
    ),
    "default": lambda lake: with_rule(lake, CURRENT_DEFAULT=RUNS, EXISTS_DEFAULT=RUNS),
    "identity": lambda lake: with_rule(lake, delta__identity__start=1),
    "mapping": lambda lake: with_rule(lake, delta__columnMapping__physicalName="x"),
    "check": lambda lake: with_property(lake, "delta.constraints.c", f"{RUNS} IS NULL"),
    "append only": lambda lake: with_property(lake, "delta.appendOnly", "true"),
    "no retention": lambda lake: with_property(lake, "delta.logRetentionDuration", "${x}"),
    "unknown property": lambda lake: with_property(lake, "spark.x", "y"),
    "unknown feature": lambda _: [
        {
            "protocol": {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": [],
                "writerFeatures": ["rowTracking"],
            }
        }
    ],
    "protocol": lambda _: [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 6}}],
}
ROWS = [{"cluster_id": "c", "word": "new"}]


def arrow() -> pa.Table:
    return pa.Table.from_pylist(ROWS, WORDS.arrow_schema)


WRITES: dict[str, Callable[[Lake], object]] = {
    "add": lambda lake: delta.add_values(lake, WORDS, ROWS),
    "replace": lambda lake: replace_values(lake, WORDS, [arrow()]),
    "commit_units": lambda lake: commit_units(lake, WORDS, [Made(WORDS.name)], 2, 1),
    "merge": lambda lake: merge_values(lake, WORDS, arrow(), 2, columns=("word",)),
    "append": lambda lake: PendingAppend.begun(lake, WORDS),
    "ensure": lambda lake: delta.ensure_table(lake, WORDS),
}
SPARK_WORK: dict[str, Callable[[SparkSession, Lake], object]] = {
    "read": lambda spark, lake: delta.read(spark, lake, WORDS),
    "register": lambda spark, lake: delta.register(spark, lake, [WORDS]),
    "overwrite": lambda spark, lake: delta.overwrite(lake, WORDS, _frame(spark)),
    "merge": lambda spark, lake: delta.merge(spark, lake, WORDS, _frame(spark), update=["word"]),
    "remove": lambda spark, lake: delta.remove(
        spark, lake, WORDS, _frame(spark).select("cluster_id")
    ),
    "vacuum": lambda spark, lake: delta.vacuum(spark, lake, WORDS),
    "upkeep": lambda spark, lake: upkeep(spark, lake, WORDS, dry_run=False),
}


def _frame(spark: SparkSession) -> Any:
    return spark.createDataFrame(ROWS, WORDS.schema)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("rule", RULES)
def test_delta_rs_writes_to_no_table_with_rules_of_its_own(
    lake: Lake, rule: str, write: str
) -> None:
    add_commit(lake, *RULES[rule](lake))
    files = sorted(Path(lake.path_of(WORDS)).rglob("*.json"))
    with pytest.raises(KraftlakeError):
        WRITES[write](lake)
    assert sorted(Path(lake.path_of(WORDS)).rglob("*.json")) == files


@pytest.mark.spark
@pytest.mark.parametrize("work", SPARK_WORK)
@pytest.mark.parametrize("rule", ["generated", "default", "check"])
def test_spark_neither_reads_nor_writes_a_table_with_rules_of_its_own(
    spark: SparkSession, lake: Lake, rule: str, work: str
) -> None:
    add_commit(lake, *RULES[rule](lake))
    before = sorted(log_of(lake).iterdir())
    with pytest.raises(UsageError, match="which kraftlake gives to no table"):
        SPARK_WORK[work](spark, lake)
    assert sorted(log_of(lake).iterdir()) == before
    assert spark._jvm is not None
    assert spark._jvm.java.lang.System.getProperty("kraftlake.canary") is None


@pytest.mark.spark
@pytest.mark.parametrize(
    "work",
    [work if work == "read" else pytest.param(work, marks=pytest.mark.slow) for work in SPARK_WORK],
)
def test_spark_works_on_a_table_as_the_contract_says(
    spark: SparkSession, lake: Lake, work: str
) -> None:
    SPARK_WORK[work](spark, lake)


def compacted(lake: Lake, actions: list[dict[str, Any]]) -> None:
    """A compacted log of all commits, which Spark takes and delta-rs doesn't."""
    last = len(list(log_of(lake).glob("0*.json"))) - 1
    kept = [action for action in actions if "commitInfo" not in action]
    text = "".join(f"{json.dumps(action)}\n" for action in kept)
    (log_of(lake) / f"{0:020}.{last:020}.compacted.json").write_text(text)


def test_a_log_with_what_only_some_engines_read_is_refused(lake: Lake) -> None:
    uri = lake.table_uri(WORDS.name)
    compacted(lake, actions_of(lake))
    for name in (
        "",
        f"{1:020}.checkpoint.{1:010}.{2:010}.parquet",
        f"{1:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
        f"{9:020}.x.json",
        "_sidecars/x.parquet",
    ):
        if name:
            place = log_of(lake) / name
            place.parent.mkdir(exist_ok=True)
            place.write_text("")
        with pytest.raises(KraftlakeError, match="kraftlake writes no such thing"):
            open_table(uri)
        for place in (log_of(lake) / name,) if name else log_of(lake).glob("*.compacted.json"):
            place.unlink()
    (log_of(lake) / "_staged_commits").mkdir()  # as Spark does
    assert open_table(uri).version() == 1


@pytest.mark.spark
def test_what_spark_sees_is_asked_of_spark(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the folder passes, because some reader learns of a further kind of log."""
    monkeypatch.setattr("pipelines.lake.delta_rs.refuse_odd_log", lambda _: None)
    actions = actions_of(lake)
    for action in actions:
        if "add" in action:
            action["add"]["path"] = "../../../secret.parquet"
    compacted(lake, actions)
    with pytest.raises(KraftlakeError, match="which kraftlake didn't write"):
        delta.read(spark, lake, WORDS)


@pytest.mark.spark
def test_what_spark_writes_is_what_spark_saw(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.lake.delta_rs.refuse_odd_log", lambda _: None)
    rule = with_rule(lake, delta__generationExpression=RUNS)
    adds = [action for action in actions_of(lake) if "add" in action]
    compacted(lake, [*rule, *adds])
    delta.ensure_table(lake, WORDS)  # delta-rs sees nothing of it
    with pytest.raises(UsageError, match="which kraftlake gives to no table"):
        delta.overwrite(lake, WORDS, _frame(spark))


@pytest.mark.parametrize("target", ["../../../outside.parquet", "{}/outside.parquet"])
def test_a_checkpoint_that_names_further_files_is_refused(
    lake: Lake, tmp_path: Path, target: str
) -> None:
    from pyarrow import parquet

    open_table(lake.table_uri(WORDS.name)).create_checkpoint()
    open_table(lake.table_uri(WORDS.name))
    (file,) = log_of(lake).glob("*.checkpoint.parquet")
    rows = parquet.read_table(file)
    named = {"path": target.format(tmp_path), "sizeInBytes": 1, "modificationTime": 0}
    row = {**dict.fromkeys(rows.schema.names), "sidecar": {**named, "tags": None}}
    parquet.write_table(pa.Table.from_pylist([*rows.to_pylist(), row], rows.schema), file)
    with pytest.raises(KraftlakeError, match="it names further files"):
        open_table(lake.table_uri(WORDS.name))


def test_a_deletion_vector_elsewhere_is_not_opened(lake: Lake) -> None:
    (add,) = (action for action in actions_of(lake) if "add" in action)
    add["add"]["deletionVector"] = {
        "storageType": "p", "pathOrInlineDv": "/etc/hostname", "offset": 1, "sizeInBytes": 9,
        "cardinality": 1,
    }  # fmt: skip
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    add_commit(lake, {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}, add)
    with pytest.raises(KraftlakeError, match="its readers need deletionVectors"):
        open_table(lake.table_uri(WORDS.name))


def test_a_table_of_ours_passes_with_the_properties_that_maintain_sets(lake: Lake) -> None:
    add_commit(lake, *with_property(lake, "delta.deletedFileRetentionDuration", "interval 40 days"))
    delta.ensure_table(lake, WORDS)
    state = TableState.by_delta_rs(open_table(lake.table_uri(WORDS.name)))
    refuse_other("x", state, WORDS)

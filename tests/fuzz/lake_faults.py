"""Faults that a stranger may put into a table of a lake: one function for each kind of fault.

A function takes a source of chance and the table's folder. It returns a text about the fault. Paths
that lead out of the lake name the folder `outside` beside it.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Fault = Callable[[random.Random, Path], str]

ESCAPES = (
    "../../../outside/secret.parquet", "{}/secret.parquet", "file://{}/secret.parquet",
    "file:{}/secret.parquet", "%2e%2e/%2e%2e/%2e%2e/outside/secret.parquet",
    "a/%2E./../../../../outside/secret.parquet", "..\\..\\..\\outside\\secret.parquet",
    "s3://bucket/x.parquet", "http://127.0.0.1:9/x", "", ".", "..", "/", "\0", "x\0y", "a" * 5000,
    "%00", "%zz", "%", "?x", "#x", "é\U0001f40b.parquet", "\ud800", "_delta_log/_last_checkpoint",
)  # fmt: skip
RUNS = "reflect('java.lang.System', 'setProperty', 'kraftlake.canary', 'ran')"
NAMES = (
    "x", "", "a.b", "a`b", 'a"b', "a'b", "x\") FROM t; COPY (SELECT 1) TO 'canary'; --",
    "\n.shell x",
    "${env:HOME}", "\\", "offset", "OFFSET", "é", "a" * 300, "metadata", "value", "_change_type",
)  # fmt: skip
FEATURES = (
    "appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns",
    "columnMapping", "identityColumns", "deletionVectors", "rowTracking", "timestampNtz",
    "typeWidening",
    "domainMetadata", "v2Checkpoint", "icebergCompatV1", "icebergCompatV2", "clustering",
    "vacuumProtocolCheck", "variantType", "variantType-preview", "allowColumnDefaults",
    "catalogManaged",
    "inCommitTimestamp", "materializePartitionColumns", "coordinatedCommits-preview",
    "fromTomorrow", "",
)  # fmt: skip
PROPERTIES = (
    ("delta.appendOnly", "true"), ("delta.columnMapping.mode", "name"),
    ("delta.enableDeletionVectors", "true"),
    ("delta.constraints.c", f"{RUNS} IS NULL"), ("delta.checkpointPolicy", "v2"),
    ("delta.checkpointInterval", "0"), ("delta.checkpointInterval", "-1"),
    ("delta.checkpointInterval", "x"),
    ("delta.logRetentionDuration", "interval 0 seconds"), ("delta.deletedFileRetentionDuration",
    "interval -9 weeks"),
    ("delta.dataSkippingNumIndexedCols", "-1"), ("delta.dataSkippingStatsColumns", "x,`y"),
    ("delta.randomizeFilePrefixes", "true"),
    ("delta.coordinatedCommits.commitCoordinator-preview", "x"),
    ("delta.universalFormat.enabledFormats", "iceberg"), ("spark.x", "y"), ("", ""),
)  # fmt: skip
NUMBERS = (0, -1, 1, 2, 3, 4, 5, 6, 7, 8, 99, 2**31, 2**63 - 1, 2**63, 10**30, 1.5, "3", None)
_DEEP = 3000


def _log(table: Path) -> Path:
    return table / "_delta_log"


def _commits(table: Path) -> list[Path]:
    return sorted(_log(table).glob("[0-9]*.json"))


def actions_of(table: Path) -> list[dict[str, Any]]:
    """The actions of all commits."""
    found = []
    for file in _commits(table):
        for line in file.read_bytes().splitlines():
            try:
                found.append(json.loads(line))
            except (ValueError, RecursionError):
                continue  # an earlier fault made it
    return [one for one in found if isinstance(one, dict)]


def _last(table: Path, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = [
        one for one in actions_of(table) if isinstance(one.get(kind), dict) and one[kind]
    ][-1][kind]
    return json.loads(json.dumps(found))


def _write(table: Path, actions: Iterable[object]) -> None:
    number = int(_commits(table)[-1].name[:20]) + 1
    text = "".join(f"{json.dumps(action)}\n" for action in actions)
    (_log(table) / f"{number:020}.json").write_text(text)


def _path(rng: random.Random, table: Path) -> str:
    return rng.choice(ESCAPES).format(table.parents[2] / "outside")


def a_path_elsewhere(rng: random.Random, table: Path) -> str:
    add, path = _last(table, "add"), _path(rng, table)
    add["path"] = path
    _write(table, [{"add": add}])
    return path[:80]


def an_odd_file_action(rng: random.Random, table: Path) -> str:
    add = _last(table, "add")
    key = rng.choice((*add, "deletionVector", "baseRowId", "clusteringProvider", "tags"))
    value = rng.choice((*NUMBERS, "{", {}, [], {"x": "y"}, "\ud800", "x" * 10_000))
    add[key] = value
    _write(table, [{rng.choice(("add", "remove", "cdc", "add")): add}])
    return f"{key}={value!r:.60}"


def a_deletion_vector(rng: random.Random, table: Path) -> str:
    add, kind = _last(table, "add"), rng.choice("upix")
    place = rng.choice(
        ("{}/secret.txt", "ab^-aqEH.-t@S}K{vb[*k^", "../../../outside/^-aqEH.-t@S}K{vb[*k^", "x")
    )
    add["deletionVector"] = {
        "storageType": kind, "pathOrInlineDv": place.replace("{}",
        str(table.parents[2] / "outside")),
        "offset": rng.choice((0, 1, 2**31 - 1, -1)), "sizeInBytes": rng.choice((0, 40, 2**31 - 1,
        -5)),
        "cardinality": rng.choice((0, 6, 2**62)),
    }  # fmt: skip
    actions: list[object] = [{"add": add}]
    if rng.random() < 0.5:
        feature = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
        actions.insert(0, {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **feature}})
    _write(table, actions)
    return f"{kind} {place}"


def a_change_of_the_feed(rng: random.Random, table: Path) -> str:
    path = _path(rng, table)
    cdc = {"path": path, "partitionValues": {}, "size": 100, "dataChange": False}
    _write(table, [{"cdc": cdc}, {"commitInfo": {"operation": "MERGE", "timestamp": 1}}])
    return path[:80]


def a_protocol(rng: random.Random, table: Path) -> str:
    protocol: dict[str, Any] = {
        "minReaderVersion": rng.choice(NUMBERS), "minWriterVersion": rng.choice(NUMBERS),
    }  # fmt: skip
    for key in ("readerFeatures", "writerFeatures"):
        if rng.random() < 0.7:
            protocol[key] = rng.sample(FEATURES, rng.randrange(4))
    if rng.random() < 0.5:
        protocol |= {"minReaderVersion": 3, "minWriterVersion": 7}
    _write(table, [{"protocol": protocol}])
    return str(protocol)


def a_property(rng: random.Random, table: Path) -> str:
    metadata, (name, value) = _last(table, "metaData"), rng.choice(PROPERTIES)
    metadata["configuration"][name] = value
    _write(table, [{"metaData": metadata}])
    return f"{name}={value}"


def a_rule_of_a_column(rng: random.Random, table: Path) -> str:
    metadata = _last(table, "metaData")
    schema = json.loads(metadata["schemaString"])
    expression = json.dumps({"expression": {"expression": RUNS}})
    key, value = rng.choice(
        (("delta.generationExpression", RUNS), ("delta.invariants", expression),
         ("CURRENT_DEFAULT", RUNS), ("EXISTS_DEFAULT", RUNS), ("delta.identity.start", 1),
         ("delta.columnMapping.physicalName", "../x"), ("delta.columnMapping.id", -1),
         ("delta.typeChanges", [{"fromType": "x"}]), ("__CHAR_VARCHAR_TYPE_STRING", "varchar(1)"),
         ("comment", "\x1b[2J\n"), ("delta.constraints", "x"))
    )  # fmt: skip
    rng.choice(schema["fields"])["metadata"][key] = value
    metadata["schemaString"] = json.dumps(schema)
    writer = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 4}}
    _write(table, [*([writer] if rng.random() < 0.5 else []), {"metaData": metadata}])
    return key


def a_schema(rng: random.Random, table: Path) -> str:
    metadata = _last(table, "metaData")
    schema = json.loads(metadata["schemaString"])
    binary = [
        {"name": one, "type": "binary", "nullable": True, "metadata": {}}
        for one in ("metadata", "value")
    ]
    kind = rng.choice(
        ("string", "long", "variant", "void", "decimal(99,9)", "decimal(x", "interval",
        "geometry", 5,
         {"type": "struct", "fields": binary}, {"type": "array", "elementType": "x"},
         {"type": "map", "keyType": "string", "valueType": "string", "valueContainsNull": True},
         None)
    )  # fmt: skip
    name = rng.choice(NAMES)
    column = {"name": name, "type": kind, "nullable": rng.random() < 0.7, "metadata": {}}
    how = rng.choice(("add", "replace", "drop", "garbage", "twice"))
    if how == "add":
        schema["fields"].append(column)
    elif how == "replace":
        schema["fields"][rng.randrange(len(schema["fields"]))] = column
    elif how == "drop":
        schema["fields"].pop(rng.randrange(len(schema["fields"])))
    elif how == "twice":
        schema["fields"].append(schema["fields"][0])
    garbage = rng.choice(("", "{", "null", "[" * _DEEP, '{"type":"struct"}', "\ud800"))
    metadata["schemaString"] = garbage if how == "garbage" else json.dumps(schema)
    if rng.random() < 0.2:
        metadata["partitionColumns"] = [rng.choice(NAMES)]
    _write(table, [{"metaData": metadata}])
    return f"{how} {name!r:.60} {kind!s:.60}"


def a_commit_of_garbage(rng: random.Random, table: Path) -> str:
    texts = (
        b"", b"{", b"\xff\xfe", b"null\n", b"[]\n", b"1\n", b'{"add":1}\n', b'{"add":null}\n',
        b"[" * _DEEP,
        b'{"metaData":{}}\n', b'{"protocol":{}}\n', b'{"x":' * _DEEP, b'{"add":{"path":1e999}}\n',
        b'{"txn":{"appId":"x","version":9223372036854775808}}\n', b'{"sidecar":{"path":"x"}}\n',
        b'{"domainMetadata":{"domain":"delta.clustering","configuration":"{","removed":false}}\n',
        b'{"checkpointMetadata":{"version":1}}\n', b"\0" * 100, b" " * 1_000_000, b"\n" * 1000,
    )  # fmt: skip
    text = rng.choice(texts)
    number = int(_commits(table)[-1].name[:20]) + rng.choice((1, 1, 1, 2, 0))
    (_log(table) / f"{number:020}.json").write_bytes(text)
    return f"{number} {text[:40]!r}"


def a_name_twice(_: random.Random, table: Path) -> str:
    """JSON with one name twice, of which readers take the first or the last."""
    add = json.dumps({"add": _last(table, "add")})
    twice = add.replace('"path":', '"path": "../../../outside/secret.parquet", "path":', 1)
    number = int(_commits(table)[-1].name[:20]) + 1
    (_log(table) / f"{number:020}.json").write_text(twice + "\n")
    return "path"


def an_odd_version(rng: random.Random, table: Path) -> str:
    name = rng.choice(
        (f"{10**20 - 1}.json", f"{2**63 - 1:020}.json", f"{2**63:020}.json", f"{5:019}.json",
         f"{5:021}.json", f"{50:020}.json", f"-{5:019}.json", f"{0:020}.JSON")
    )  # fmt: skip
    shutil.copy(_commits(table)[0], _log(table) / name)
    if rng.random() < 0.3:
        _commits(table)[0].unlink()
    return name


def a_compacted_log(rng: random.Random, table: Path) -> str:
    actions = [one for one in actions_of(table) if "commitInfo" not in one]
    path = _path(rng, table)
    for one in actions:
        if "add" in one:
            one["add"]["path"] = path
    last = len(_commits(table)) - 1
    text = "".join(f"{json.dumps(one)}\n" for one in actions)
    (_log(table) / f"{0:020}.{last:020}.compacted.json").write_text(text)
    return path[:80]


def a_checkpoint(rng: random.Random, table: Path) -> str:
    """A checkpoint of version 2, in JSON, with sidecars; or a hint at a checkpoint; or a file that
    is no checkpoint."""
    last = int(_commits(table)[-1].name[:20])
    sidecar = {"path": _path(rng, table), "sizeInBytes": 100, "modificationTime": 0}
    actions: list[dict[str, Any]] = [
        {"checkpointMetadata": {"version": last}}, {"sidecar": sidecar},
        {"metaData": _last(table, "metaData")}, {"protocol": _last(table, "protocol")},
    ]  # fmt: skip
    how = rng.choice(("json", "hint", "parts", "empty", "truncated", "sidecars"))
    log = _log(table)
    if how == "json":
        text = "".join(f"{json.dumps(one)}\n" for one in actions)
        (log / f"{last:020}.checkpoint.{uuid.UUID(int=rng.getrandbits(128))}.json").write_text(text)
    elif how == "hint":
        hint = {"version": rng.choice(NUMBERS), "size": rng.choice(NUMBERS),
        "parts": rng.choice(NUMBERS),
                "v2Checkpoint": {"path": sidecar["path"], "sidecarFiles": [sidecar]}}  # fmt: skip
        (log / "_last_checkpoint").write_text(rng.choice((json.dumps(hint), "", "{", "[" * _DEEP)))
    elif how == "parts":
        for part in (1, 2):
            (log / f"{last:020}.checkpoint.{part:010}.{2:010}.parquet").write_bytes(b"PAR1")
    elif how == "sidecars":
        _real_checkpoint(table, sidecar)
    else:
        data = b"" if how == "empty" else b"PAR1" + os.urandom(50) + b"PAR1"
        (log / f"{last:020}.checkpoint.parquet").write_bytes(data)
    return how


def _real_checkpoint(table: Path, sidecar: dict[str, Any]) -> None:
    """Writes a plain checkpoint that names a sidecar."""
    import pyarrow as pa
    from pyarrow import parquet

    kinds = pa.struct(
        [("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64()),
         ("tags", pa.map_(pa.string(), pa.string()))]
    )  # fmt: skip
    protocol = pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())])
    named = {**sidecar, "path": sidecar["path"].encode(errors="replace").decode(), "tags": None}
    rows = [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"sidecar": named}]
    schema = pa.schema([("protocol", protocol), ("sidecar", kinds)])
    last = int(_commits(table)[-1].name[:20])
    place = _log(table) / f"{last:020}.checkpoint.parquet"
    parquet.write_table(pa.Table.from_pylist(rows, schema), place)


def a_version_checksum(rng: random.Random, table: Path) -> str:
    """A .crc file, from which Spark may take protocol and metadata without the log."""
    last = int(_commits(table)[-1].name[:20])
    metadata = _last(table, "metaData")
    metadata["configuration"][f"delta.constraints.c{rng.randrange(9)}"] = f"{RUNS} IS NULL"
    text = {"tableSizeBytes": 0, "numFiles": 0, "numMetadata": 1, "numProtocol": 1,
            "metadata": metadata, "protocol": _last(table, "protocol"), "allFiles": []}  # fmt: skip
    (_log(table) / f"{last:020}.crc").write_text(rng.choice((json.dumps(text), "{", "")))
    return "crc"


def an_odd_data_file(rng: random.Random, table: Path) -> str:
    files = sorted(table.glob("*.parquet"))
    place = rng.choice(files)
    data = bytearray(place.read_bytes())
    how = rng.choice(("cut", "flip", "footer", "length", "empty", "gone", "flip", "folder"))
    if how == "cut":
        data = data[: rng.randrange(len(data))]
    elif how == "flip":
        for _ in range(rng.randrange(1, 20)):
            data[rng.randrange(len(data))] = rng.randrange(256)
    elif how == "footer":
        for _ in range(rng.randrange(1, 5)):
            data[rng.randrange(max(len(data) - 2000, 0), len(data) - 8)] = rng.randrange(256)
    elif how == "length":
        data[-8:-4] = struct.pack("<I", rng.choice((0, 2**31 - 1, 2**32 - 1, 8, len(data))))
    elif how == "empty":
        data = bytearray()
    place.unlink()
    if how == "folder":
        place.mkdir()
    elif how != "gone":
        place.write_bytes(data)
    return how


def an_odd_end(rng: random.Random, table: Path) -> str:
    """An entry of the log with another size of a data file. In some lakes a false footer ends
    there."""
    adds = [one["add"] for one in actions_of(table) if isinstance(one.get("add"), dict)]
    add = rng.choice(adds)
    place = table / add["path"]
    data = place.read_bytes()
    end = rng.choice((rng.randrange(len(data)), len(data) - 8, 3, 0, -1, 2**40, 2**63 - 1))
    lies = 8 <= end <= len(data) and rng.random() < 0.7
    if lies:
        footer = struct.pack("<I", rng.choice((2**31 - 1, 2**32 - 1, end))) + b"PAR1"
        place.write_bytes(data[: end - 8] + footer + data[end:])
    _write(table, [{"add": {**add, "size": end}}])
    return f"{end} of {len(data)}{', a footer that lies' if lies else ''}"


def other_rows(rng: random.Random, table: Path) -> str:
    """A data file of kraftlake's with other values: names and ids that the stranger chose."""
    import pyarrow as pa
    from pyarrow import parquet

    place = rng.choice(sorted(table.glob("*.parquet")))
    rows = parquet.read_table(place)
    texts = [name for name in rows.schema.names if rows.schema.field(name).type == pa.string()]
    name, value = rng.choice(texts), rng.choice((*NAMES, "\0", "../x", "\x1b[2J", "</script>"))
    column = pa.array([value] * rows.num_rows, pa.string())
    rows = rows.set_column(rows.schema.names.index(name), rows.schema.field(name), column)
    parquet.write_table(rows, place)
    return f"{name}={value!r:.60}"


def an_odd_folder(rng: random.Random, table: Path) -> str:
    name = rng.choice((*NAMES, "x\" AS SELECT 1; COPY (SELECT 1) TO 'canary'; --", "findings "))
    place = table.parent / name.replace("/", "_")[:200]
    if name and not place.exists():
        shutil.copytree(table, place)
    return name[:80]


def an_odd_small_file(rng: random.Random, table: Path) -> str:
    lake = table.parents[1]
    name = rng.choice(
        ("_last_build", "_schema_version", "_forgetting.json", "_redaction.key", "_ingest.lock")
    )
    texts = (
        b"", b"{", b"\xff" * 40, b"9" * 5000, b"[" * _DEEP, b"null",
        b'{"captures":["x"],"clusters":["\'"]}',
    )  # fmt: skip
    (lake / name).write_bytes(rng.choice(texts))
    return name


FAULTS: tuple[Fault, ...] = (
    a_path_elsewhere, an_odd_file_action, a_deletion_vector, a_change_of_the_feed, a_protocol,
    a_property, a_rule_of_a_column, a_schema, a_commit_of_garbage, a_name_twice, an_odd_version,
    a_compacted_log, a_checkpoint, a_version_checksum, an_odd_data_file, an_odd_end, other_rows,
    an_odd_folder, an_odd_small_file,
)  # fmt: skip

"""Targets: files that an administrator writes, or gets from other people."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from pipelines.feeds.files import ProgressFile
from replica.admin.records import batch_of, record_of_json
from replica.doctor.preflight.reassignment_file import assignments_in
from replica.doctor.rehearsal.captured import CapturedQuorum, endpoints_of
from replica.doctor.rehearsal.scenario_file import scenario_in
from replica.errors import DataError, KraftlakeError, UsageError
from replica.format.batch import decode_header
from replica.format.java_properties import ENCODING, escape, properties_in
from replica.format.record import records_of
from replica.history.commitment import classify
from replica.model.keys import ReplicaKey
from replica.model.voters import Voter, voter_set
from replica.node.properties import read_properties
from replica.node.security.scram_file import read_credentials
from replica.node.settings import settings_in
from tests.fuzz.guided.target import TESTS, FoundError, Target, one_line, refused, require

_REPOSITORY = TESTS.parent
_OPTION = re.compile(r'"([a-z]+(?:\.[a-z]+)+)"')


@cache
def _path() -> str:
    """The path of the file to which inputs are written, one after another."""
    shared = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108
    return os.path.join(tempfile.mkdtemp(prefix="kraftlake-fuzz-", dir=shared), "file")


def _as_file(read: Callable[[str], object], data: bytes, *expected: type[KraftlakeError]) -> None:
    """Reads the input as a file. An error must be of an expected class, have one line, and name the
    file."""
    path = _path()
    Path(path).write_bytes(data)
    try:
        read(path)
    except KraftlakeError as error:
        one_line(error)
        require(isinstance(error, expected), f"{error!r}")
        require(path in str(error), f"an error without its file: {error}")


def _properties(data: bytes) -> None:
    text = data.decode(ENCODING)
    try:
        found = {key: value for _, key, value in properties_in(text)}
    except DataError as error:
        refused(error, len(data))
        return
    # Java escapes each blank of a key, but only a leading blank of a value
    lines = "".join(
        f"{''.join(map(escape, key))}={escape(value)}\n" for key, value in found.items()
    )
    again = {key: value for _, key, value in properties_in(lines)}
    if "" not in found:
        require(again == found, f"{found} is read back as {again}")


def _settings(data: bytes) -> None:
    _as_file(lambda path: settings_in(read_properties(path)), data, UsageError)


def _scram(data: bytes) -> None:
    _as_file(read_credentials, data, UsageError)


def _progress(data: bytes) -> None:
    def read(path: str) -> None:
        file = ProgressFile(Path(path))
        found = file.read()
        if found is not None:
            file.write(found)
            require(file.read() == found, f"{found} is read back as {file.read()}")

    _as_file(read, data, DataError)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _reassignment(data: bytes) -> None:
    try:
        found = assignments_in(_text(data), "file.json")
    except UsageError as error:
        one_line(error)
        require(str(error).startswith("file.json"), f"an error without its file: {error}")
        return
    require(len({each[:2] for each in found}) == len(found), "a partition twice")


@cache
def _captured() -> CapturedQuorum:
    keys = [ReplicaKey(number, "AAAAAAAAAAAAAAAAAAAAA" + "ABC"[number - 1]) for number in (1, 2, 3)]
    voters = voter_set(Voter(key, endpoints_of(key)) for key in keys)
    return CapturedQuorum("cluster", {}, voters, False, classify(()), classify(()), 0)


def _scenario(data: bytes) -> None:
    try:
        scenario_in(_text(data), "file.toml", _captured())
    except UsageError as error:
        one_line(error)
        require(str(error).startswith("file.toml"), f"an error without its file: {error}")


def _json_record(data: bytes) -> None:
    try:
        record = record_of_json(data)
    except UsageError as error:
        one_line(error)
        return
    batch = batch_of([record], 1_700_000_000_000)
    (again,) = records_of(decode_header(batch), batch)
    if (again.key, again.value, again.headers) != (record.key, record.value, record.headers):
        raise FoundError(f"{record} is read back as {again}")


def _conf() -> Iterable[bytes]:
    yield (
        b"process.roles=controller\nnode.id=1\nlog.dirs=/var/lib/node1\n"
        b"listeners=CONTROLLER://127.0.0.1:9093\ncontroller.listener.names=CONTROLLER\n"
        b"controller.quorum.bootstrap.servers=127.0.0.1:9093\n"
    )
    for path in sorted((_REPOSITORY / "conf").rglob("*.properties")):
        yield path.read_bytes()


@cache
def _options() -> tuple[str, ...]:
    """The names of options, from the code that reads them."""
    sources = (_REPOSITORY / "replica" / "node").rglob("*.py")
    found = {name for path in sources for name in _OPTION.findall(path.read_text())}
    return tuple(f"{name}=" for name in sorted(found))


_SCRAM = (
    b'{"name":"a","mechanism":"SCRAM-SHA-256","salt":"c2FsdA==","iterations":4096,"storedKey":'
    b'"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","serverKey":'
    b'"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}\n'
)
_STEPS = b"""[[step]]
cut = [[1, 2]]
dead = [3]
wait_ms = 1000
[[step]]
heal = true
start = [3]
remove_voter = 2
"""

TARGETS = (
    Target(
        "java-properties",
        "properties files",
        "keys and values, which come back from what is written of them, or the byte",
        _conf,
        _properties,
        words=("\\u0041", "\\\n", "\\\r\n", "\\=", "\\:"),
    ),
    Target(
        "server-properties",
        "server.properties, with the sections for security",
        "settings, or a line that names the file",
        _conf,
        _settings,
        words=_options(),
    ),
    Target(
        "scram-file",
        "files of SCRAM credentials",
        "credentials, or a line that names the file",
        lambda: [_SCRAM, b"# nobody\n" + _SCRAM * 2],
        _scram,
        words=('"name"', '"mechanism"', '"SCRAM-SHA-512"', '"iterations"', '"salt"', "1e9"),
    ),
    Target(
        "publish-progress",
        "the progress of `kraftlake publish`",
        "progress, which comes back, or a line that names the file",
        lambda: [
            b'{"table":"a","table_id":"b","version":3,"ordinal":0,"is_snapshot":false}',
        ],
        _progress,
        words=('"version"', '"ordinal"', '"is_snapshot"', "1e999", "NaN", '"1"'),
    ),
    Target(
        "reassignment-json",
        "the file of `plan --reassignment`",
        "assignments, each partition once, or a line that names the file",
        lambda: [b'{"version":1,"partitions":[{"topic":"a","partition":0,"replicas":[1,2]}]}'],
        _reassignment,
        words=('"version"', '"partitions"', '"topic"', '"replicas"', '"log_dirs"', "1e9"),
    ),
    Target(
        "scenario-toml",
        "scenario files of `rehearse`",
        "a scenario, or a line that names the file",
        lambda: [_STEPS, b"[[step]]\nempty = [1]\nadd_voter = 3\n"],
        _scenario,
        words=("[[step]]", "cut = ", "dead = ", "empty = ", "wait_ms = ", "add_voter = ", "inf"),
    ),
    Target(
        "json-record",
        "lines of `replica append --json`, as `consume --json` prints them",
        "a record, which comes back from its batch, or a line",
        lambda: [
            b'{"key":"a","value":"b","headers":[["h","v"]]}',
            b'{"value":{"base64":"AAE="},"offset":1}',
        ],
        _json_record,
        words=('"key"', '"value"', '"headers"', '"base64"', "\\ud800", "null"),
    ),
)

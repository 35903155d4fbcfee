"""The options that several commands share, and the functions that check or convert their values."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

from jobs.cli.commands.parameters import Number, Text, Texts, shared_argument, shared_option
from pipelines import lake as lakes
from pipelines.object_store import check_lake_place, check_local, check_place
from replica.errors import UsageError

if TYPE_CHECKING:
    from replica.metadata.passed_over import PassedOver


def each_by(check: Callable[[str], str]) -> Callable[[list[str] | None], list[str]]:
    """A callback for an argument with several paths. `check` returns a path, or refuses it."""
    return lambda paths: [check(path) for path in paths or []]


def on_disk(option: str) -> Callable[[str | None], str | None]:
    """A callback for an option whose file or folder can't be standard output. It raises UsageError
    for `-`."""

    def check(path: str | None) -> str | None:
        if path == "-":
            raise UsageError(
                f"{option} -: this can't be written to standard output: name a file or folder; "
                "./- is one of that name"
            )
        return None if path is None else check_place(path)

    return check


def html_file(
    option: str, then: Callable[[str | None], str | None] = lambda path: path
) -> Callable[[str | None], str | None]:
    """A callback for an option whose file gets a page of HTML. It raises UsageError for another
    suffix. A name without a suffix is allowed: pipes and devices have such names. then: a further
    check of the file's name, which gives the name that the option gets."""

    def check(path: str | None) -> str | None:
        suffix = os.path.splitext(path or "")[1]
        if suffix.lower() not in ("", ".html", ".htm"):
            raise UsageError(
                f"{option} {path}: the page is written as HTML, not as {suffix}: name a file that "
                "ends in .html"
            )
        return then(path)

    return check


def uuid_of(run_id: str | None) -> str | None:
    """The value of --run-id in the form of OpenLineage and of the tables; None where it is not
    given. Raises UsageError where it is no UUID."""
    try:
        return None if run_id is None else str(UUID(run_id))
    except ValueError as error:
        raise UsageError(f"--run-id {run_id}: expected a UUID") from error


def known_release(option: str) -> Callable[[str | None], str | None]:
    """A callback for an option whose value is a Kafka release. It raises UsageError for an unknown
    one."""

    def check(release: str | None) -> str | None:
        from replica.metadata.changes.releases import NEWEST_LEVELS

        if release is not None and release not in NEWEST_LEVELS:
            raise UsageError(f"{option} {release}: expected one of {', '.join(NEWEST_LEVELS)}")
        return release

    return check


WHAT_IS_READ = (
    "A segment, a snapshot, a metadata directory, a node's log directory, any folder above such "
    "directories, or a .tar.gz, .tar.zst or .zip of them"
)
Paths = Annotated[
    list[str], shared_argument("PATH...", f"{WHAT_IS_READ}.", callback=each_by(check_local))
]
PathsOrUris = Annotated[
    list[str],
    shared_argument(
        "PATH...",
        f"{WHAT_IS_READ}; also as a URI such as s3://bucket/captures.",
        callback=each_by(check_place),
    ),
]


def lake_of(place: str) -> lakes.Lake:
    """The lake at the place that --lake names. Raises UsageError where the place is a misspelt URI,
    or a URI with credentials or options."""
    return lakes.Lake(check_lake_place(place))


LAKE_VARIABLE = "KRAFTLAKE_LAKE"
"""This variable names the lake for each command without --lake, except `demo`, which makes its own
lake."""
_NAMED_LAKE = shared_option(
    "--lake L",
    "The lake: a folder, or a URI such as s3://...",
    parser=lake_of,
    envvar=LAKE_VARIABLE,
)
Lake = Annotated[lakes.Lake, _NAMED_LAKE]
OptionalLake = Annotated[lakes.Lake | None, _NAMED_LAKE]
LakeOrPaths = Annotated[
    lakes.Lake | None,
    shared_option(
        "--lake L",
        "The lake: a folder, or a URI such as s3://... Without it and without PATH, the one "
        f"that {LAKE_VARIABLE} names.",
        parser=lake_of,
    ),
]
"""The option --lake of a command that also reads directories. The lake that the environment names
is used only where no directories are named."""


def lake_unless(
    paths: Sequence[str] | None, lake: lakes.Lake | None, command: str
) -> lakes.Lake | None:
    """The lake that a command reads; None where it reads the paths.

    lake: the value of LakeOrPaths. Where it is None and there are no paths, the environment names
    the lake. Raises UsageError where the environment names no lake, or a malformed place. command:
    the command's name, for the message.
    """
    if lake is not None or paths:
        return lake
    named = os.environ.get(LAKE_VARIABLE)
    if not named:
        raise UsageError(f"{command}: name directories, or a lake by --lake or {LAKE_VARIABLE}")
    try:
        return lake_of(named)
    except UsageError as error:
        raise UsageError(f"{LAKE_VARIABLE}: {error}") from error


NodePaths = Annotated[
    list[str],
    shared_argument(
        "LOGDIR...",
        "A metadata directory, a node's log directory, a folder above them, or a .tar.gz, .tar.zst "
        "or .zip of them.",
        callback=each_by(check_place),
    ),
]
CaptureOutput = Annotated[
    str,
    shared_option(
        "-o, --output FOLDER|URI",
        "The capture to write: an empty or new folder, or a URI such as s3://bucket/name.",
        callback=on_disk("-o"),
    ),
]
CopyOutput = Annotated[
    str,
    shared_option(
        "-o, --output NAME.tar.gz|FOLDER|URI",
        "The archive to send; or an empty or new folder, or a URI such as s3://bucket/name.",
        callback=on_disk("-o"),
    ),
]
Json = Annotated[bool, shared_option("--json", "Print a JSON object per line.")]
KeepSecrets = Annotated[
    bool, shared_option("--keep-secrets", "Don't redact credentials and secret config values.")
]
ShowConfig = Annotated[
    Texts,
    shared_option(
        "--show-config NAME",
        "Show the value of this config, which Kafka doesn't know and which is no secret. May be "
        "repeated.",
    ),
]

Engine = Annotated[
    Text,
    shared_option(
        "--engine spark|local",
        "Which engine runs the stages: Spark's executors, or processes of this machine. By default "
        "what KRAFTLAKE_ENGINE says; else spark where spark-submit starts the job, else local.",
    ),
]
RunId = Annotated[
    Text,
    shared_option(
        "--run-id UUID",
        "The scheduler's id of this run, the same for each attempt; by default a new one.",
        callback=uuid_of,
    ),
]

FromTime = Annotated[
    Text,
    shared_option("--from-time T", "Only times at T or later: ISO-8601 (UTC), or ms since 1970."),
]
ToTime = Annotated[Text, shared_option("--to-time T", "Only times before T, in the same form.")]
RedactKey = Annotated[
    Text,
    shared_option(
        "--redact-key FILE",
        "A file with the key of the fingerprints that stand for secrets; by default the key is "
        "random. With one key, equal secrets of two runs have equal fingerprints.",
    ),
]

HashedNames = Annotated[
    bool, shared_option("--names", "Also hash the names of topics, users, groups and clients.")
]


Order = Annotated[
    Text,
    shared_option(
        "--order F1,F2,...",
        "Folders below PATH that hold captures of the same replicas, oldest first.",
    ),
]


def _check_passed_over(text: str | None) -> str | None:
    passed_over_in(text)
    return text


PASS_OVER_NONE = "none"  # noqa: S105 - no password
"""The value of `build --pass-over` by which later builds pass over nothing again."""


def check_passed_over_by_builds(text: str | None) -> str | None:
    """The value of `build --pass-over`; None where it is not given. Raises UsageError for a value
    that names no types."""
    return text if text == PASS_OVER_NONE else _check_passed_over(text)


PassOver = Annotated[
    Text,
    shared_option(
        "--pass-over TYPE,...",
        "Replay the log without the records of these unknown types, which another product wrote "
        "and which change none of Kafka's own state: numbers, or `vendors` for all from 500 on.",
        callback=_check_passed_over,
    ),
]
Csv = Annotated[
    bool,
    shared_option(
        "--csv",
        "Print CSV with a header line. Texts that a spreadsheet or terminal would execute are made "
        "harmless.",
    ),
]
PlainCsv = Annotated[
    bool, shared_option("--plain-csv", "Print CSV with every text as it is, for programs.")
]
Memory = Annotated[
    Text,
    shared_option(
        "--memory SIZE",
        "End the command where it takes more memory than SIZE, such as 512m or 8g. Default: 4g, or "
        "half of the machine's memory where that is less.",
    ),
]
Cluster = Annotated[
    Text, shared_option("--cluster C", "The id of the cluster, where there are several.")
]
DryRun = Annotated[bool, shared_option("--dry-run", "Change nothing; say what would be done.")]
AtOffset = Annotated[
    Number,
    shared_option(
        "--at-offset N",
        "The state before the record at offset N; by default at the log's end.",
        min=0,
    ),
]
AtTime = Annotated[
    Text, shared_option("--at-time T", "The state at time T: ISO-8601 (UTC), or ms since 1970.")
]
CommittedOnly = Annotated[
    bool, shared_option("--committed-only", "Only records that are proven committed.")
]
Own = Annotated[
    Text,
    shared_option(
        "--own FOLDER",
        "A folder of .sql files with tables of your own: NAME.sql is own.NAME. By default the one "
        "that KRAFTLAKE_OWN names.",
    ),
]
DemoLake = Annotated[
    lakes.Lake | None,
    shared_option("--lake L", "The lake to make; by default in .demo/.", parser=lakes.Lake),
]


def names_in(order: str | None) -> tuple[str, ...]:
    """The folders that --order names."""
    return tuple(name for name in (order or "").split(",") if name)


def passed_over_in(text: str | None) -> PassedOver:
    """The types that --pass-over names; NOTHING where `text` is None. Raises UsageError."""
    from replica.metadata.passed_over import NOTHING, parse  # not every command needs the records

    try:
        return NOTHING if text is None else parse(text)
    except UsageError as error:
        raise UsageError(f"--pass-over {text}: {error}") from error


PathsOfAState = Annotated[
    Texts,
    shared_argument(
        "[PATH...]",
        "Directories, as for check, to read instead of a lake.",
        callback=each_by(check_local),
    ),
]
OfTopic = Annotated[
    Text,
    shared_option(
        "--topic NAME",
        "Only this topic, its partitions, its configs, and ACLs on exactly its name.",
    ),
]
NeedsChecked = Annotated[
    bool,
    shared_option(
        "--needs-checked",
        "Exit with 0 instead of 4: you have checked what the lines `needs` name.",
    ),
]
BrokerConfig = Annotated[
    Text,
    shared_option(
        "--broker-config FILE",
        "A broker's server.properties, for a default that no log holds: min.insync.replicas.",
    ),
]


ServerProperties = Annotated[
    str, shared_option("-c, --config FILE", "The node's server.properties, in Kafka's format.")
]

LogFormat = Annotated[
    str,
    shared_option(
        "--log-format text|json",
        "The form of events on stderr: lines for people, or JSON with stable fields.",
    ),
]

Bootstrap = Annotated[
    str,
    shared_option(
        "-b, --bootstrap HOST:PORT", "The nodes to connect to first, separated by commas."
    ),
]
CommandConfig = Annotated[
    Text,
    shared_option(
        "--command-config FILE",
        "The properties of a Kafka client, for the connection: security.protocol, sasl.mechanism, "
        "sasl.jaas.config, ssl.* (PEM), client.id, request.timeout.ms.",
    ),
]
Topic = Annotated[str, shared_option("--topic T", "The topic's name.")]

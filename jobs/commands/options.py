"""The options of the `kraftlake` command as typer reads them, apart from the commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Annotated
from uuid import UUID

from jobs.commands.parameters import Number, Text, Texts, argument, option
from pipelines import lake as lakes
from pipelines.object_store import check_lake_place, check_local, check_place
from replica.errors import UsageError


def each_by(check: Callable[[str], str]) -> Callable[[list[str] | None], list[str]]:
    """The callback of an argument with several paths, which `check` returns or refuses."""
    return lambda paths: [check(path) for path in paths or []]


def on_disk(option: str) -> Callable[[str | None], str | None]:
    """A callback for an option whose file or folder can't be standard output."""

    def check(path: str | None) -> str | None:
        if path == "-":
            raise UsageError(
                f"{option} -: this can't be written to standard output: name a file or folder; "
                "./- is one of that name"
            )
        return None if path is None else check_place(path)

    return check


def uuid_of(run_id: str | None) -> str | None:
    """--run-id in the form of OpenLineage and of the tables. Raises UsageError where it is no
    UUID."""
    try:
        return None if run_id is None else str(UUID(run_id))
    except ValueError as error:
        raise UsageError(f"--run-id {run_id}: expected a UUID") from error


def known_release(option: str) -> Callable[[str | None], str | None]:
    """A callback for an option whose value is a Kafka release."""

    def check(release: str | None) -> str | None:
        from replica.metadata.changes.releases import NEWEST_LEVELS

        if release is not None and release not in NEWEST_LEVELS:
            raise UsageError(f"{option} {release}: expected one of {', '.join(NEWEST_LEVELS)}")
        return release

    return check


_WHAT_IS_READ = (
    "A segment, a snapshot, a metadata directory, a node's log directory, any folder above such "
    "directories, or a .tar.gz, .tar.zst or .zip of them"
)
Paths = Annotated[
    list[str], argument("PATH...", f"{_WHAT_IS_READ}.", callback=each_by(check_local))
]
PathsOrUris = Annotated[
    list[str],
    argument(
        "PATH...",
        f"{_WHAT_IS_READ}; also as a URI such as s3://bucket/captures.",
        callback=each_by(check_place),
    ),
]


def lake_of(place: str) -> lakes.Lake:
    """The lake at the place that --lake names. Raises UsageError where the place is a misspelt URI,
    or a URI with credentials or options."""
    return lakes.Lake(check_lake_place(place))


LAKE_VARIABLE = "KRAFTLAKE_LAKE"
"""The variable that names the lake of each command that isn't told one. `demo` makes its own
lake."""
_NAMED_LAKE = option(
    "--lake L",
    "The lake: a folder, or a URI such as s3://...",
    parser=lake_of,
    envvar=LAKE_VARIABLE,
)
Lake = Annotated[lakes.Lake, _NAMED_LAKE]
OptionalLake = Annotated[lakes.Lake | None, _NAMED_LAKE]
LakeOrPaths = Annotated[
    lakes.Lake | None,
    option(
        "--lake L",
        "The lake: a folder, or a URI such as s3://... Without it and without PATH, the one "
        f"that {LAKE_VARIABLE} names.",
        parser=lake_of,
    ),
]
"""For a command that also reads directories: the environment's lake doesn't exclude them."""


def lake_unless(
    paths: Sequence[str] | None, lake: lakes.Lake | None, command: str
) -> lakes.Lake | None:
    """The lake that a command reads, None where it reads the paths.

    lake: the value of LakeOrPaths. Where it is None and there are no paths, the environment names
    the lake. Raises UsageError where the environment names none, or a malformed one. command: its
    name, for the message.
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
    argument(
        "LOGDIR...",
        "A metadata directory, a node's log directory, or any folder above such directories.",
        callback=each_by(check_place),
    ),
]
CaptureOutput = Annotated[
    str,
    option(
        "-o, --output FOLDER|URI",
        "The capture to write: an empty or new folder, or a URI such as s3://bucket/name.",
        callback=on_disk("-o"),
    ),
]
CapturesFolder = Annotated[str, argument("FOLDER", "The folder that holds the captures' folders.")]
OlderThan = Annotated[
    str, option("--older-than AGE", "Delete captures older than AGE, such as 90m, 36h, 7d or 2w.")
]
PruneDryRun = Annotated[
    bool, option("--dry-run", "Delete nothing; name the captures that would go.")
]
Json = Annotated[bool, option("--json", "Print a JSON object per line.")]
KeepSecrets = Annotated[
    bool, option("--keep-secrets", "Don't redact credentials and secret config values.")
]
ShowConfig = Annotated[
    Texts,
    option(
        "--show-config NAME",
        "Show the value of this config, which Kafka doesn't know and which is no secret. May be "
        "repeated.",
    ),
]
Verify = Annotated[
    bool, option("--verify", "Read all bytes, also those that the lake has already.")
]
Follow = Annotated[
    float | None,
    option(
        "--follow SECONDS",
        "Run until stopped: look every SECONDS, and ingest the logs that have grown.",
        min=0.1,
    ),
]
FollowBronze = Annotated[
    float | None,
    option(
        "--follow SECONDS",
        "Run until stopped: look every SECONDS, and build after each ingest.",
        min=0.1,
    ),
]
AvailableNow = Annotated[
    bool,
    option("--available-now", "As --follow, but look once: ingest what is there now, and end."),
]

ThenBuild = Annotated[
    bool, option("--build", "Then build the silver and gold tables, in the same process.")
]
AcceptDamage = Annotated[
    bool, option("--accept-damage", "Exit with 0 even when bronze.damage got a row.")
]
RunId = Annotated[
    Text,
    option(
        "--run-id UUID",
        "The scheduler's id of this run, the same for each attempt; by default a new one.",
        callback=uuid_of,
    ),
]

Batches = Annotated[bool, option("--batches", "Print batches, not records: position, size, CRC.")]
LogsOnly = Annotated[
    bool, option("--logs-only", "In directories, read the log, not the snapshots.")
]
SnapshotsOnly = Annotated[
    bool, option("--snapshots-only", "In directories, read the snapshots, not the log.")
]
AllFiles = Annotated[
    bool, option("--all", "In directories, read *.deleted, *.part, bootstrap.checkpoint too.")
]
FromOffset = Annotated[Number, option("--from-offset N", "Only records from offset N on.", min=0)]
ToOffset = Annotated[Number, option("--to-offset N", "Only records below offset N.", min=0)]
Epoch = Annotated[Number, option("--epoch E", "Only records of leader epoch E.", min=0)]
Types = Annotated[
    Texts,
    option(
        "--type T",
        "Only records of this type, such as TOPIC_RECORD, 'partition*' or leader_change: in any "
        "case, with wildcards * and ?; _RECORD may be left out. May be repeated.",
    ),
]
FromTime = Annotated[
    Text, option("--from-time T", "Only times at T or later: ISO-8601 (UTC), or ms since 1970.")
]
ToTime = Annotated[Text, option("--to-time T", "Only times before T, in the same form.")]
RedactKey = Annotated[
    Text,
    option(
        "--redact-key FILE",
        "A file with the key of the fingerprints that stand for secrets; by default the key is "
        "random. With one key, equal secrets of two runs have equal fingerprints.",
    ),
]

Redacted = Annotated[bool, option("--redacted", "Leave secrets out, as `kraftlake redact` does.")]
HashedNames = Annotated[
    bool, option("--names", "Also hash the names of topics, users, groups and clients.")
]

ReplicaA = Annotated[str, argument("A", "The directory of a replica.", callback=check_local)]
ReplicaB = Annotated[
    str,
    argument("B", "The directory of another replica, or a later copy of A.", callback=check_local),
]

LeastSeverity = Annotated[
    str, option("--severity S", "The least severity shown: note, warning or error.")
]
FailOn = Annotated[
    Text,
    option(
        "--fail-on S",
        "The least severity that gives exit code 1: note, warning or error. By default warning; "
        "with --severity error, error.",
    ),
]
NoReplay = Annotated[
    bool,
    option(
        "--no-replay",
        "Skip the slowest checks: the content of snapshots, records that can't be applied.",
    ),
]
RuleId = Annotated[Text, argument("[RULE]", "A rule's name, such as torn-tail.")]

CapturedAt = Annotated[
    Text,
    option(
        "--captured-at T",
        "The time at which the directories were copied: ISO-8601 (UTC) or ms. The time in a "
        "capture.json is used instead where there is one.",
    ),
]
Order = Annotated[
    Text,
    option(
        "--order F1,F2,...",
        "Folders below PATH that hold captures of the same replicas, oldest first.",
    ),
]
AsReplica = Annotated[
    Text, option("--as CLUSTER:NODE[:DIR]", "For a single file: the replica that wrote it.")
]

Csv = Annotated[
    bool,
    option(
        "--csv",
        "Print CSV with a header line. Texts that a spreadsheet or terminal would execute are made "
        "harmless.",
    ),
]
PlainCsv = Annotated[
    bool, option("--plain-csv", "Print CSV with every text as it is, for programs.")
]
Cluster = Annotated[Text, option("--cluster C", "The id of the cluster, where there are several.")]
ForgottenCaptures = Annotated[
    Texts,
    option(
        "--capture ID",
        "The id of a capture or capture group, which `kraftlake lake` shows. May be repeated.",
    ),
]
ForgottenClusters = Annotated[
    Texts, option("--cluster C", "All captures of cluster C. May be repeated.")
]
Yes = Annotated[bool, option("--yes", "Take the captures out. Without it, only show which.")]
Vacuum = Annotated[
    bool,
    option(
        "--vacuum",
        "Also build, and delete from disk the files of all earlier versions of the tables.",
    ),
]
RetainDays = Annotated[
    int,
    option(
        "--retain-days DAYS",
        "Keep files of earlier versions for so many days at least; 0 for what each table asks for.",
        min=0,
    ),
]
DryRun = Annotated[bool, option("--dry-run", "Change nothing; say what would be done.")]
AtOffset = Annotated[
    Number,
    option(
        "--at-offset N",
        "The state before the record at offset N; by default at the log's end.",
        min=0,
    ),
]
AtTime = Annotated[
    Text, option("--at-time T", "The state at time T: ISO-8601 (UTC), or ms since 1970.")
]
Diff = Annotated[
    tuple[str, str] | None, option("--diff A B", "Show the changes from A to B: offsets or times.")
]
CommittedOnly = Annotated[
    bool, option("--committed-only", "Only records that are proven committed.")
]
ReportOutput = Annotated[
    str, option("-o, --output FILE", "The HTML file to write; - for standard output.")
]
DemoLake = Annotated[
    lakes.Lake | None,
    option("--lake L", "The lake to make; by default in .demo/.", parser=lakes.Lake),
]
PlanOnly = Annotated[
    bool, option("--plan", "Print a plan, and change nothing. The command needs this option.")
]


def names_in(order: str | None) -> tuple[str, ...]:
    """The folders that --order names."""
    return tuple(name for name in (order or "").split(",") if name)

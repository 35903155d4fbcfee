"""The options of the `kraftlake` command as typer reads them, apart from the commands."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated, Optional
from uuid import UUID

import typer

from pipelines import lake as lakes
from pipelines.object_store import check_lake, check_local, check_place
from replica.errors import UsageError

# Typer reads Optional[...] at run time, and some of its releases know no other spelling.
Texts = Optional[list[str]]  # noqa: UP045
Text = Optional[str]  # noqa: UP045
Number = Optional[int]  # noqa: UP045


def _each(check: Callable[[str], str]) -> Callable[[list[str]], list[str]]:
    return lambda paths: [check(path) for path in paths]


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


_WHAT_IS_READ = (
    "A segment, a snapshot, a metadata directory, a node's log directory, any folder above such "
    "directories, or a .tar.gz, .tar.zst or .zip of them"
)
Paths = Annotated[
    list[str],
    typer.Argument(
        callback=_each(check_local),
        metavar="PATH...",
        help=f"{_WHAT_IS_READ}.",
        show_default=False,
    ),
]
PathsOrUris = Annotated[
    list[str],
    typer.Argument(
        callback=_each(check_place),
        metavar="PATH...",
        help=f"{_WHAT_IS_READ}; also as a URI such as s3://bucket/captures.",
        show_default=False,
    ),
]


def lake_of(place: str) -> lakes.Lake:
    """--lake as every job takes it. Raises UsageError where it is almost a URI, or holds more than
    the place."""
    return lakes.Lake(check_lake(place))


LAKE_VARIABLE = "KRAFTLAKE_LAKE"
"""The variable that names the lake of each command that isn't told one. `demo` makes its own
lake."""
_NAMED_LAKE = typer.Option(
    "--lake",
    metavar="L",
    help="The lake: a folder, or a URI such as s3://...",
    parser=lake_of,
    envvar=LAKE_VARIABLE,
)
Lake = Annotated[lakes.Lake, _NAMED_LAKE]
OptionalLake = Annotated[Optional[lakes.Lake], _NAMED_LAKE]  # noqa: UP045
LakeOrPaths = Annotated[
    Optional[lakes.Lake],  # noqa: UP045
    typer.Option(
        "--lake",
        metavar="L",
        help="The lake: a folder, or a URI such as s3://... Without it and without PATH, the one "
        f"that {LAKE_VARIABLE} names.",
        parser=lake_of,
        show_default=False,
    ),
]
"""For a command that also reads directories: the environment's lake doesn't exclude them."""


def lake_unless(paths: list[str] | None, lake: lakes.Lake | None) -> lakes.Lake | None:
    """The lake of LakeOrPaths; the environment's, where neither a lake nor a path is given. Raises
    UsageError where the environment's lake is malformed."""
    named = os.environ.get(LAKE_VARIABLE)
    if lake is not None or paths or not named:
        return lake
    try:
        return lake_of(named)
    except UsageError as error:
        raise UsageError(f"{LAKE_VARIABLE}: {error}") from error


NodePaths = Annotated[
    list[str],
    typer.Argument(
        callback=_each(check_place),
        metavar="LOGDIR...",
        help="A metadata directory, a node's log directory, or any folder above such directories.",
        show_default=False,
    ),
]
CaptureOutput = Annotated[
    str,
    typer.Option(
        "-o",
        "--output",
        callback=on_disk("-o"),
        metavar="FOLDER|URI",
        help="The capture to write: an empty or new folder, or a URI such as s3://bucket/name.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print a JSON object per line.")]
KeepSecrets = Annotated[
    bool,
    typer.Option("--keep-secrets", help="Don't redact credentials and secret config values."),
]
ShowConfig = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--show-config",
        metavar="NAME",
        help="Show the value of this config, which Kafka doesn't know and which is no secret. "
        "May be repeated.",
        show_default=False,
    ),
]
Verify = Annotated[
    bool,
    typer.Option("--verify", help="Read all bytes, also those that the lake has already."),
]
Follow = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option(
        "--follow",
        min=0.1,
        metavar="SECONDS",
        help="Run until stopped: look every SECONDS, and ingest the logs that have grown.",
    ),
]
FollowBronze = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option(
        "--follow",
        min=0.1,
        metavar="SECONDS",
        help="Run until stopped: look every SECONDS, and build after each ingest.",
    ),
]
AvailableNow = Annotated[
    bool,
    typer.Option("--available-now", help="Ingest what is there now, and end, as without --follow."),
]

ThenBuild = Annotated[
    bool,
    typer.Option(
        "--build",
        help="Then build the silver and gold tables, in the same process.",
    ),
]
AcceptDamage = Annotated[
    bool,
    typer.Option("--accept-damage", help="Exit with 0 even when bronze.damage got a row."),
]
RunId = Annotated[
    Text,
    typer.Option(
        "--run-id",
        metavar="UUID",
        help="The scheduler's id of this run; use the same one for each attempt.",
    ),
]

Batches = Annotated[
    bool, typer.Option("--batches", help="Print batches, not records: position, size, CRC.")
]
LogsOnly = Annotated[
    bool, typer.Option("--logs-only", help="In directories, read the log, not the snapshots.")
]
SnapshotsOnly = Annotated[
    bool, typer.Option("--snapshots-only", help="In directories, read the snapshots, not the log.")
]
AllFiles = Annotated[
    bool,
    typer.Option("--all", help="In directories, read *.deleted, *.part, bootstrap.checkpoint too."),
]
FromOffset = Annotated[
    Number, typer.Option("--from-offset", min=0, metavar="N", help="Only offset N and later.")
]
ToOffset = Annotated[
    Number, typer.Option("--to-offset", min=0, metavar="N", help="Only offsets below N.")
]
Epoch = Annotated[Number, typer.Option("--epoch", min=0, metavar="E", help="Only leader epoch E.")]
Types = Annotated[
    Texts,
    typer.Option(
        "--type",
        metavar="T",
        help="Only records of this type, such as TOPIC_RECORD, 'partition*' or leader_change: in "
        "any case, with wildcards * and ?; _RECORD may be left out. May be repeated.",
    ),
]
FromTime = Annotated[
    Text,
    typer.Option("--from-time", metavar="T", help="Only times at T or later: ISO-8601 (UTC), ms."),
]
ToTime = Annotated[Text, typer.Option("--to-time", metavar="T", help="Only times before T.")]
RedactKey = Annotated[
    Text,
    typer.Option(
        "--redact-key",
        metavar="FILE",
        help="The key of the fingerprints of secrets. With one key, equal secrets of two runs "
        "have equal fingerprints.",
    ),
]

Redacted = Annotated[
    bool,
    typer.Option("--redacted", help="Leave secrets out, as `kraftlake redact` does."),
]
HashedNames = Annotated[
    bool,
    typer.Option("--names", help="Also hash the names of topics, users, groups and clients."),
]

ReplicaA = Annotated[
    str, typer.Argument(metavar="A", help="The directory of a replica.", callback=check_local)
]
ReplicaB = Annotated[
    str,
    typer.Argument(
        metavar="B",
        help="The directory of another replica, or a later copy of A.",
        callback=check_local,
    ),
]

LeastSeverity = Annotated[
    str,
    typer.Option("--severity", metavar="S", help="The least severity shown: note, warning, error."),
]
FailOn = Annotated[
    Text,
    typer.Option(
        "--fail-on",
        metavar="S",
        help="The least severity that gives exit code 1: note, warning or error. By default "
        "warning; with --severity error, error.",
        show_default=False,
    ),
]
NoReplay = Annotated[
    bool,
    typer.Option(
        "--no-replay",
        help="Skip the slowest checks: the content of snapshots, records that can't be applied.",
    ),
]
RuleId = Annotated[
    Text,
    typer.Argument(metavar="[RULE]", help="A rule's name, such as torn-tail.", show_default=False),
]

CapturedAt = Annotated[
    Text,
    typer.Option(
        "--captured-at",
        metavar="T",
        help="The time at which the directories were copied: ISO-8601 (UTC) or ms. The time in a "
        "capture.json is used instead where there is one.",
    ),
]
Order = Annotated[
    Text,
    typer.Option(
        "--order",
        metavar="F1,F2,...",
        help="Folders below PATH that hold captures of the same replicas, oldest first.",
    ),
]
AsReplica = Annotated[
    Text,
    typer.Option(
        "--as", metavar="CLUSTER:NODE[:DIR]", help="For a single file: the replica that wrote it."
    ),
]

Csv = Annotated[
    bool,
    typer.Option(
        "--csv",
        help="Print CSV with a header line. Texts that a spreadsheet or terminal would execute are "
        "made harmless.",
    ),
]
PlainCsv = Annotated[
    bool, typer.Option("--plain-csv", help="Print CSV with every text as it is, for programs.")
]
Cluster = Annotated[
    Text,
    typer.Option("--cluster", metavar="C", help="The id of the cluster, where there are several."),
]
ForgottenCaptures = Annotated[
    Texts,
    typer.Option(
        "--capture",
        metavar="ID",
        help="The id of a capture or capture group, which `kraftlake lake` shows. May be repeated.",
    ),
]
ForgottenClusters = Annotated[
    Texts,
    typer.Option("--cluster", metavar="C", help="All captures of cluster C. May be repeated."),
]
Yes = Annotated[
    bool, typer.Option("--yes", help="Take the captures out. Without it, only show which.")
]
Vacuum = Annotated[
    bool,
    typer.Option(
        "--vacuum",
        help="Also build, and delete from disk the files of all earlier versions of the tables.",
    ),
]
RetainDays = Annotated[
    int,
    typer.Option(
        "--retain-days",
        min=0,
        metavar="DAYS",
        help="Keep files of earlier versions for DAYS at least.",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing; say what would be done.")]
AtOffset = Annotated[
    Number, typer.Option("--at-offset", min=0, metavar="N", help="The state before offset N.")
]
AtTime = Annotated[
    Text,
    typer.Option("--at-time", metavar="T", help="The state at time T: ISO-8601 (UTC) or ms."),
]
Diff = Annotated[
    tuple[str, str] | None,
    typer.Option("--diff", metavar="A B", help="Show the changes from A to B: offsets or times."),
]
CommittedOnly = Annotated[
    bool, typer.Option("--committed-only", help="Only records that are proven committed.")
]
ReportOutput = Annotated[
    str,
    typer.Option(
        "-o", "--output", metavar="FILE", help="The HTML file to write; - for standard output."
    ),
]
DemoLake = Annotated[
    Optional[lakes.Lake],  # noqa: UP045
    typer.Option(
        "--lake", metavar="L", help="The lake to make; by default in .demo/.", parser=lakes.Lake
    ),
]
PlanOnly = Annotated[
    bool,
    typer.Option("--plan", help="Print a plan, and change nothing. The command needs this option."),
]


def names_in(order: str | None) -> tuple[str, ...]:
    """The folders that --order names."""
    return tuple(name for name in (order or "").split(",") if name)


def uuid_of(run_id: str | None) -> str | None:
    """--run-id in the form of OpenLineage and of the tables. Raises UsageError where it is no
    UUID."""
    try:
        return None if run_id is None else str(UUID(run_id))
    except ValueError as error:
        raise UsageError(f"--run-id {run_id}: expected a UUID") from error

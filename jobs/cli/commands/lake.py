"""The commands that fill a lake, check it, show it and maintain it."""

from jobs.cli.commands import options
from jobs.cli.commands.combinations import alone, exclusive, given_options
from jobs.cli.commands.parameters import Text, Texts, command, option
from replica.errors import UsageError


@command("ingest:run", "Copy metadata directories into bronze tables.")
class IngestOptions:
    """Copy metadata directories and captures of them into the lake's bronze tables.

    The lake keeps what Kafka truncates and deletes, of any number of replicas, clusters and
    captures. Nothing is stored twice, so running ingest again is safe. Secrets are redacted before
    anything is written. Partitions of other topics than __cluster_metadata are left out; where
    there are only such partitions, ingest refuses them.

    A new lake needs an empty or new folder: ingest refuses a folder that holds other things.

    From a file that the lake knows, ingest reads only the new bytes. It treats a file as known if
    batches at several known places have the known offset, epoch and CRC. --verify reads all bytes.

    A running node may write to its directory, so ingest copies what it reads. --shared copies
    nothing: Spark's executors list, hash and read the directories, even thousands of them. A
    capture whose files change meanwhile is left out, with a row in bronze.damage.

    --dry-run lists the replicas, files, bytes and offsets that are new, and decodes no records.

    --follow ingests again whenever a log has changed, and with --build then builds. After a stop or
    kill, run the same command again: it continues. With --engine spark, --follow runs as a stream
    of Spark, whose checkpoint lies in the lake. --available-now is such a stream, too, and ends
    after one check.

    \b
    Examples:
      kraftlake ingest --lake lake /var/kafka/metadata
      kraftlake ingest --lake lake --build incident.tar.gz
      kraftlake ingest --lake lake --dry-run incident.tar.gz
      kraftlake ingest --lake lake --follow 10 /var/kafka/metadata
      kraftlake ingest --lake lake --captured-at 2026-11-21T05:00Z nodes/
      kraftlake ingest --lake lake --order live,split,final incident/

    --json: table and rows, a line per table; with --dry-run a line per capture. Exit codes: 0, 1
    when bronze.damage got a row (--dry-run: when a file is damaged), 2 usage, 75 another writer
    wrote at the same time: run the command again.
    """

    paths: options.PathsOrUris
    lake: options.Lake
    captured_at: Text = option(
        "--captured-at T",
        "The time at which the directories were copied: ISO-8601 (UTC) or ms. The time in a "
        "capture.json is used instead where there is one.",
        default=None,
    )
    order: options.Order = None
    as_replica: Text = option(
        "--as CLUSTER:NODE[:DIR]", "For a single file: the replica that wrote it.", default=None
    )
    keep_secrets: options.KeepSecrets = False
    show_config: options.ShowConfig = None
    verify: bool = option(
        "--verify", "Read all bytes, also those that the lake has already.", default=False
    )
    shared: bool = option(
        "--shared",
        "Read directories in their place, without a copy. Every executor must reach the paths and "
        "URIs, and nobody may write there meanwhile.",
        default=False,
    )
    follow_s: float | None = option(
        "--follow SECONDS",
        "Run until stopped: look every SECONDS, and ingest the logs that have grown.",
        default=None,
        min=0.1,
    )
    available_now: bool = option(
        "--available-now",
        "As --follow, but look once: ingest what is there now, and end.",
        default=False,
    )
    accept_damage: bool = option(
        "--accept-damage", "Exit with 0 even when bronze.damage got a row.", default=False
    )
    dry_run: options.DryRun = False
    then_build: bool = option(
        "--build", "Then build the silver and gold tables, in the same process.", default=False
    )
    engine: options.Engine = None
    run_id: options.RunId = None
    json_output: options.Json = False

    def __post_init__(self) -> None:
        streams = given_options(self, "follow_s", "available_now")
        exclusive(streams)
        alone("--dry-run", self.dry_run, {**streams, **given_options(self, "then_build", "run_id")})
        if not self.is_stream:
            return
        if self.captured_at is not None or self.order:
            raise UsageError("--captured-at and --order are for captures, not for what is followed")
        if self.run_id is not None:
            raise UsageError("--run-id is the id of one run, and what follows logs makes many runs")

    @property
    def is_stream(self) -> bool:
        """Whether the paths are followed, by one check or by many."""
        return self.follow_s is not None or self.available_now


@command("build:run", "Derive the silver and gold tables from bronze.")
class BuildOptions:
    """Derive the silver and gold tables from bronze: epochs, divergence, history, validity.

    SQL queries, the report and other commands read these tables. Building again without an ingest
    gives the same rows; after an ingest it brings the tables up to date. Before a layer is derived
    from another, build checks each table against its expectations: it moves rows from which nothing
    right can be derived to gold.quarantined_rows, and it ends if a table breaks its contract.
    `kraftlake quality` runs these checks alone.

    With --pass-over the build continues after records of another product, and the lake remembers
    this: later builds do the same. The verdict, state, history and plan of the lake say which
    records were passed over.

    --own names a folder with tables of your own (docs/how-to/your-own-table.md). They are derived
    after gold, where their inputs have changed. If such a table breaks its contract, build names
    it, and still derives the other tables.

    --follow builds whenever an ingest has changed the lake, until it is stopped. While another
    process writes to the lake, build waits, and tries again after SECONDS.

    \b
    Examples:
      kraftlake build --lake lake
      kraftlake build --lake lake --pass-over vendors
      kraftlake build --lake lake --own tables/
      kraftlake build --lake lake --follow 60

    --json: table and rows, a line per table. Exit codes: 0, 1 when a table breaks its contract, 2
    usage, 75 another writer wrote at the same time: run the command again.
    """

    lake: options.Lake
    own: options.Own = None
    follow_s: float | None = option(
        "--follow SECONDS",
        "Run until stopped: look every SECONDS, and build after each ingest.",
        default=None,
        min=0.1,
    )
    pass_over: Text = option(
        "--pass-over TYPE,...",
        "Replay the log without the records of these unknown types, in later builds too: numbers, "
        "or `vendors` for all from 500 on. `none` ends this for later builds.",
        default=None,
        callback=options.check_passed_over_by_builds,
    )
    engine: options.Engine = None
    run_id: options.RunId = None
    json_output: options.Json = False

    def __post_init__(self) -> None:
        alone("--follow", self.follow_s is not None, given_options(self, "run_id"))


@command("quality:run", "Check every table against its expectations.")
class QualityOptions:
    """Check every table of the lake against its expectations, with Great Expectations.

    `build` runs the same checks between its layers. The results go to gold.quality_results, and to
    HTML pages in LAKE/_quality. --own names the folder with your own tables, as for `build`.

    \b
    Examples:
      kraftlake quality --lake lake
      kraftlake quality --lake lake --own tables/

    --json: table, version, expectation, meaning, columns, action (what a build does if it fails:
    warn, quarantine or stop), success, evaluated_rows, unexpected_rows, sample_keys, a line per
    expectation. Exit codes: 0, 1 when an expectation fails, 2 usage.
    """

    lake: options.Lake
    own: options.Own = None
    engine: options.Engine = None
    run_id: options.RunId = None
    json_output: options.Json = False


@command("cli.lake.contents:run", "Show what a lake holds: captures, offsets, gaps, sizes.")
class LakeOptions:
    """Show what a lake holds: clusters, replicas, rounds, captures, the tables with their sizes,
    and which releases of kraftlake wrote it; and the Java on which Spark would run here.

    For each cluster and replica the command shows the log start and log end in the newest captures;
    the offsets that some capture holds undamaged; and the gaps, which are offsets between the
    lowest log start and the highest log end that no capture holds. Ends are exclusive. A round is
    the captures that were taken together. Where neither capture.json nor --captured-at gave a
    round's time, the command shows its name in `ingest --order` and the time of its newest record.

    \b
    Examples:
      kraftlake lake --lake lake

    --json: kind (cluster, replica, round, capture, table, version, java) and its fields, sizes in
    bytes, captured_at of a round null where its time is unknown. Exit codes: 0, 1 when a table
    can't be read, 2 usage.
    """

    lake: options.Lake
    json_output: options.Json = False


@command("maintain:run", "Compact the tables, delete files of expired versions.")
class MaintainOptions:
    """Compact the lake's tables, and delete files that no kept version needs.

    Run it about once a day for a lake that grows for months. It merges small files into large ones
    (OPTIMIZE). It deletes data files that no version of the last 7 days needs (VACUUM), or of the
    last 30 days for tables with a change data feed, and entries of Delta's log after 30
    days. A table's own properties may ask for more days, and --retain-days asks for more days for
    the files of all tables.

    The rows of the tables stay as they are. For those days earlier versions can be read, and
    `publish` can continue.

    \b
    Examples:
      kraftlake maintain --lake lake --dry-run
      kraftlake maintain --lake lake --retain-days 90

    --json: table, retention_days, files, files_after, deleted_files, deleted_log_entries, a line
    per table; null where --dry-run can't know. Exit codes: 0, 2 usage, 75 another writer wrote at
    the same time: run the command again.
    """

    lake: options.Lake
    retain_days: int = option(
        "--retain-days DAYS",
        "Keep files of earlier versions for DAYS days at least; 0: for as long as each table's "
        "retention says.",
        default=0,
        min=0,
    )
    dry_run: options.DryRun = False
    run_id: options.RunId = None
    json_output: options.Json = False


@command("cli.lake.forget:run", "Remove captures from a lake, as if never ingested.")
class ForgetOptions:
    """Remove captures from a lake, as if they had never been ingested.

    Use it for captures that were ingested by mistake. Without --yes the command only shows which
    captures would be removed. --yes removes them from the bronze tables: rows that no other capture
    has are deleted, and the other rows get the times of the captures that remain. `kraftlake build`
    then brings the other tables up to date. After an interruption run the same command again.

    Removed rows stay on disk in earlier versions of the tables. If they must not, because they hold
    secrets, use --vacuum: it builds, and then deletes every file of an earlier version, so that no
    earlier version can be read. --vacuum may also be used alone, later. For 30 days more, the
    tables' transaction logs keep statistics of the deleted files. These have the first 32
    characters of the least and of the greatest text in each column. forget removes nothing from
    backups, or from messages that were published.

    \b
    Examples:
      kraftlake lake --lake lake
      kraftlake forget --lake lake --capture 3aeede71f9c6f14c3454e28b02e36bbe
      kraftlake forget --lake lake --cluster Lr3UIdBxT-GFPYE5uprmrg --yes --vacuum

    --json: the captures, or with --yes each table and its removed rows, a line each. Exit codes: 0,
    2 usage.
    """

    lake: options.Lake
    captures: Texts = option(
        "--capture ID",
        "The id of a capture or capture group, which `kraftlake lake` shows. May be repeated.",
        default=None,
    )
    clusters: Texts = option(
        "--cluster C", "All captures of cluster C. May be repeated.", default=None
    )
    confirmed: bool = option(
        "--yes",
        "Take the captures out. Without it, only show which captures would be taken out.",
        default=False,
    )
    vacuum: bool = option(
        "--vacuum",
        "Also build, and delete from disk the files of all earlier versions of the tables.",
        default=False,
    )
    json_output: options.Json = False

    def __post_init__(self) -> None:
        if self.vacuum and not self.confirmed:
            raise UsageError("--vacuum can't be undone: add --yes")


@command("cli.lake.demo:run", "Ingest recorded logs, build the tables, ask some questions.")
class DemoOptions:
    """Try kraftlake on metadata logs recorded from real Kafka: ingest them, build, ask questions.

    With --engine spark, Spark runs both jobs on this machine, and the demo shows its stages. Then
    the local engine makes a second lake of the same logs, and the demo says whether the tables are
    equal. The local engine needs no Java. The logs come with kraftlake. The lakes and, outside a
    checkout, the logs stay in .demo.

    Exit codes: 0, 1 when a log can't be read, or when the tables of the two lakes differ, 2 usage.
    """

    engine: options.Engine = None
    lake: options.DemoLake = None

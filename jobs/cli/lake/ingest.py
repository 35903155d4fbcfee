"""`kraftlake ingest`: metadata directories, captures and bundles into a lake's bronze tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.cli.commands.lake import IngestOptions
from jobs.cli.commands.options import names_in
from jobs.cli.interrupts import interruptible, told_to_stop
from jobs.cli.lake import build
from jobs.cli.lake.engines import runner_of
from jobs.cli.lake.progress import CommandProgress, DecodedBytes
from jobs.cli.lake.waiting import check_whole, waiting
from jobs.cli.moments import capture_moment_of
from jobs.cli.option_files import check_there
from jobs.cli.output import complain, write_counts
from jobs.cli.redacting import check_shown
from pipelines.capture.grouping import parse_replica
from pipelines.capture.known import NOTHING_KNOWN, KnownCaptures, seal_of
from pipelines.capture.look import CaptureOptions
from pipelines.capture.looks import Looks, look_at
from pipelines.capture.spool import Spool
from pipelines.lake import Lake
from pipelines.lake.folder import check_writable, refuse_foreign
from pipelines.lake.lock import locked
from pipelines.lake.redaction import Redaction, keep_to_owner, lake_key, lake_key_file
from pipelines.lake.schema_version import VERSION, schema_version, write_schema_version
from pipelines.lake.seal import OPEN, Seal
from replica.format.damage import Damage
from replica.metadata.redact import Redactor

if TYPE_CHECKING:
    from pipelines.capture.shared import Sharing
    from pipelines.runners.runner import Runner

_AGAIN = (
    "what was committed stays: run the same command again, which goes on and stores nothing twice"
)


@dataclass(frozen=True, slots=True)
class Hiding:
    """How an ingest hides secrets.

    keeps_secrets: whether secrets go into the lake as they are. shown_configs: names of configs
    that Kafka doesn't know and whose values are shown. key: the lake's redaction key, empty before
    `of_lake` has read it. seal: how the lake shows hashes; it is read with the key.
    """

    keeps_secrets: bool = False
    shown_configs: frozenset[str] = frozenset()
    key: bytes = field(default=b"", repr=False)
    seal: Seal = OPEN

    def of_lake(self, lake: Lake) -> Hiding:
        """A copy with the lake's key and seal. A lake without a key gets a new one.

        Raises UsageError where the lake hides secrets and this ingest would keep them.
        """
        key = lake_key(lake)
        seal = seal_of(lake, key, keeps_secrets=self.keeps_secrets)
        if not self.keeps_secrets and seal == OPEN:
            complain(
                f"ingest: {lake}: --keep-secrets began it: by the CRCs and "
                "hashes in it guesses of secrets can be checked; in a new lake they can't"
            )
        return replace(self, key=key, seal=seal)

    def redactor(self) -> Redactor | None:
        """The redactor with the lake's key, which may not be written yet. None where secrets are
        kept."""
        if self.keeps_secrets:
            return None
        return Redactor(self.key, self.shown_configs, keeps_crcs=self.seal == OPEN)

    def redaction(self, lake: Lake, spool: Path) -> Redaction | None:
        """What Spark's tasks need to redact. None where secrets are kept.

        This writes the lake's key file where the lake has none, and a copy of a remote lake's key
        into the spool."""
        key_file = lake_key_file(lake, self.key, spool)
        if self.keeps_secrets:
            return None
        return Redaction(key_file, self.shown_configs, keeps_crcs=self.seal == OPEN)


def run(options: IngestOptions) -> int:
    """Ingest the paths. Returns 0 where everything was read, 1 where a row of bronze.damage was
    written, or where a dry run finds a damaged place without decoding. Raises KraftlakeError."""
    paths, lake = options.paths, options.lake
    hiding = Hiding(options.keep_secrets, frozenset(options.show_config or ()))
    check_shown(hiding.keeps_secrets, hiding.shown_configs)
    progress = CommandProgress("ingest", is_shown=not options.json_output)
    captures = _capture_options(options)
    about = captures, hiding, progress, options.verify, options.run_id, options.engine
    work = _Work(tuple(paths), lake, *about, options.then_build, options.shared)
    refuse_foreign(lake)
    check_there(paths)
    if options.dry_run:
        is_damaged = work.tell_plan(json_output=options.json_output)
        return 1 if is_damaged and not options.accept_damage else 0
    check_writable(lake, ("bronze",))
    total: Counter[str] = Counter()
    with interruptible("ingest", lambda: _AGAIN):
        if options.follow_s is None:
            total.update(work.run())
        else:
            from jobs.cli.lake.following import follow

            with told_to_stop() as stop:
                follow(paths, lambda: total.update(work.run()), options.follow_s, stop)
            complain("ingest: stopped: run the same command again, which goes on")
    counts = dict(total) or work.no_rows()
    of_build = CommandProgress("build", is_shown=not options.json_output)
    if options.then_build:
        counts |= build.run_build(lake, progress=of_build, engine=options.engine)
    write_counts(counts, json_output=options.json_output)
    if options.then_build:
        build.tell_next(of_build, lake)
    elif not options.is_stream:
        progress.end(lake.command("build"))
    return 1 if total["bronze.damage"] and not options.accept_damage else 0


def _capture_options(options: IngestOptions) -> CaptureOptions:
    """What the user says about the captures. Raises UsageError."""
    return CaptureOptions(
        captured_at=capture_moment_of("--captured-at", options.captured_at),
        order=names_in(options.order),
        replica=None if options.as_replica is None else parse_replica(options.as_replica),
    )


def fill(paths: Sequence[str], lake: Lake, order: Sequence[str] = ()) -> None:
    """Ingest the paths and build the tables, for a command that asks the lake next. Lines on
    stderr say what was done. Raises KraftlakeError."""
    progress = CommandProgress("ingest", is_shown=False)
    work = _Work(tuple(paths), lake, CaptureOptions(order=tuple(order)), Hiding(), progress)
    refuse_foreign(lake)
    check_there(paths)
    check_writable(lake, ("bronze",))
    with interruptible("ingest", lambda: _AGAIN):
        work.run()
    build.run_build(lake)


@dataclass(frozen=True)
class _Work:
    """One ingest of some paths, which may be repeated."""

    paths: tuple[str, ...]
    lake: Lake
    options: CaptureOptions
    hiding: Hiding
    progress: CommandProgress
    verify: bool = False
    run_id: str | None = None
    engine: str | None = None
    then_build: bool = False
    shared: bool = False

    def run(self) -> dict[str, int]:
        """Rows added or changed, by table."""
        from pipelines.bronze.captured import holds_all
        from pipelines.lineage.job_events import job_events
        from pipelines.quality.data_docs import start_great_expectations

        with locked(self.lake, waiting("ingest", self.lake)):
            check_whole(self.lake)
            hiding = self.hiding.of_lake(self.lake)
            with Spool.below(self.lake) as spool, ExitStack() as stack:
                early = stack.enter_context(self._runner()) if self.shared else None
                looks = self._look(hiding, spool, early)
                with job_events(
                    "ingest", self.lake, complain, paths=self.paths, run_id=self.run_id
                ):
                    if holds_all(self.lake, looks):
                        complain("ingest: nothing new: the lake has all of it")
                        counts = self.no_rows()
                    else:
                        if self.then_build:
                            start_great_expectations()
                        # The runner comes first: where Spark can't start, the lake stays as it was.
                        runner = early or stack.enter_context(self._runner())
                        with self.progress.shown():
                            about = hiding, spool.root, runner
                            counts = _write(looks, self.lake, *about, self.progress)
                read = spool.bytes_read
                complain(f"ingest: read {_shown(read.read)} of {_shown(read.held)}")
        return counts

    def _runner(self) -> AbstractContextManager[Runner]:
        return runner_of("ingest", self.lake, self.engine)

    def tell_plan(self, *, json_output: bool) -> bool:
        """Print what `run` would bring in. Returns whether there is known damage."""
        from jobs.cli.lake.ingest_plan import planned

        check_whole(self.lake)
        hiding = self.hiding.of_lake(self.lake)
        with ExitStack() as stack:
            runner = stack.enter_context(self._runner()) if self.shared else None
            plan = planned(
                self.lake,
                lambda spool: self._look(hiding, spool, runner),
                hiding.redactor(),
                json_output=json_output,
            )
        return bool(plan.damages or any(capture.damages for capture in plan.captures))

    def _look(self, hiding: Hiding, spool: Spool, runner: Runner | None) -> Looks:
        """What lies below the paths. A line on stderr names each thing that can't be read. runner:
        looks at directories in their place; None where they are copied."""
        known = NOTHING_KNOWN if self.verify else KnownCaptures(self.lake, hiding.seal)
        options = replace(self.options, known=known, seal=hiding.seal)
        looks = look_at(self.paths, options, spool, _sharing(runner))
        for left_out in looks.left_out:
            complain(f"ingest: left out: {left_out}")
        for damage in _all_damages(looks):
            complain(str(damage))
        return looks

    def no_rows(self) -> dict[str, int]:
        """The counts of an ingest that found nothing new."""
        from pipelines.tables.bronze import BRONZE

        return {contract.name: 0 for contract in BRONZE}


def _sharing(runner: Runner | None) -> Sharing | None:
    from pipelines.bronze.findings import judge_look
    from pipelines.capture.shared import Sharing

    return None if runner is None else Sharing(runner, judge_look)


def _shown(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def _all_damages(looks: Looks) -> list[Damage]:
    of_replicas = [
        damage.in_file(look.shown_file(damage.file))
        for groups in looks.rounds
        for group in groups
        for look in group.looks
        for damage in look.directory.damages
    ]
    return [*looks.damages, *of_replicas]


def _write(
    looks: Looks, lake: Lake, hiding: Hiding, spool: Path, runner: Runner, progress: CommandProgress
) -> dict[str, int]:
    """Rows added or changed, by table."""
    from pipelines.bronze.files import new_bytes
    from pipelines.bronze.ingest import Ingest
    from pipelines.delta.failures import told
    from pipelines.lake.versions import note_written
    from pipelines.tables.bronze import BRONZE

    redaction = hiding.redaction(lake, spool)
    is_new = schema_version(lake) is None
    write_schema_version(lake)
    note_written(lake, VERSION, is_new=is_new)
    if hiding.keeps_secrets and keep_to_owner(lake):
        complain(f"ingest: {lake}: its owner's only from here on, as it will hold secrets")
    ingest = Ingest(runner, lake, redaction, lambda damage: complain(str(damage)))
    counts = Counter({contract.name: 0 for contract in BRONZE})
    now = datetime.now(UTC)
    with told(lake):
        ingest.create_tables()
        decoded = DecodedBytes(progress, [new_bytes(groups) for groups in looks.rounds])
        for number, groups in enumerate(looks.rounds, start=1):
            name = groups[0].looks[0].round_name
            tell = _teller(progress, number, len(looks.rounds), name)
            counts.update(ingest.run_round(groups, now, tell, decoded.more))
            decoded.end_round()
        counts.update(ingest.add_damage(looks.damages))
    return counts


def _teller(
    progress: CommandProgress, number: int, of: int, name: str | None
) -> Callable[[str], None]:
    head = "ingest" if of == 1 else f"ingest: round {number} of {of}"
    if name is not None:
        head = f"{head} ({name})" if of > 1 else f"{head}: {name}"
    return lambda text: progress.line(f"{head}: {text}")

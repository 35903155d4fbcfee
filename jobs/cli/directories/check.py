"""`kraftlake check`: what is wrong with a cluster, by the metadata directories of its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, NamedTuple

from jobs.cli.commands.directories import CheckOptions
from jobs.cli.commands.options import names_in, passed_over_in
from jobs.cli.directories.broker_defaults import defaults_in
from jobs.cli.directories.check_families import families_of
from jobs.cli.directories.check_inputs import examine_all, find_inputs
from jobs.cli.directories.check_rows import (
    counted_by,
    file_row,
    health_row,
    health_summary,
    member_summary,
    quorum_summary,
    summary,
)
from jobs.cli.directories.check_starts import (
    start_lines,
    start_rows,
    with_starts,
)
from jobs.cli.directories.check_text import (
    MEMBER_COLUMNS,
    LocatedFinding,
    brokers_not_given,
    describe_counts,
    describe_findings,
    first_election_lines,
    first_election_rows,
    member_cells,
    reaches,
    severity_of,
)
from jobs.cli.directories.partition_folders import (
    gaps_of,
    judged_with,
    log_directories_in,
    log_directory_lines,
    log_directory_row,
    not_asked_for,
    of_cluster,
)
from jobs.cli.directories.several_verdicts import ClusterVerdict, nodes_of_cluster, one_verdict
from jobs.cli.directories.starting_nodes import (
    log_paths,
    login_entries_in,
    nodes_of,
    starting_nodes,
)
from jobs.cli.directories.verdict_text import describe_verdict, only_line, verdict_row
from jobs.cli.output import (
    ProgressLine,
    complain,
    table_lines,
    write_either,
    write_json,
    write_line,
)
from pipelines.cyclic_garbage import no_search_for_cycles
from replica.doctor.check.damaged import bundle_damage
from replica.doctor.check.examined import Examined
from replica.doctor.check.first_election import formatted_nodes
from replica.doctor.check.group import judge_group
from replica.doctor.check.known_quorum import EarlierRounds, with_round
from replica.doctor.check.readable import judged_for
from replica.doctor.check.rule import Finding
from replica.doctor.startup.judging import Starts, judge_starts
from replica.doctor.verdict.evidence import ClusterEvidence, no_log
from replica.doctor.verdict.evidence_of_directories import (
    JudgedCluster,
    clusters_of,
    evidence_of,
    names_file_of,
)
from replica.doctor.verdict.facts import verdict_on
from replica.doctor.verdict.verdict import Verdict
from replica.format.directory import MAX_READS
from replica.format.discovery import DiscoveredPath
from replica.format.formatted import FormattedDirectory
from replica.format.partition_folders import BrokerLogDirectory
from replica.metadata.changes.readers import reader_of
from replica.severity import Severity


def run(options: CheckOptions) -> int:
    """Prints the verdict on each cluster and the findings. Returns 1 where a finding has the
    severity fail_on or worse, or where --family asks for health and a state is unknown; else 0."""
    checking = _Checking(options)
    with ExitStack() as stack:
        stack.enter_context(no_search_for_cycles())
        paths = log_paths(checking.nodes, options.paths or ())
        inputs = find_inputs(paths, names_in(options.order), stack, for_check=True)
        unread, checking.captures = inputs.unread(), inputs.captures
        for sentence in inputs.left_out_copies():
            complain(sentence)
        checking.earlier = {} if len(inputs.groups) > 1 else None
        is_one = len(inputs.groups) == 1
        for number, group in enumerate(inputs.groups, start=1):
            is_capture = 1 < inputs.captures >= number
            checking.group(
                group,
                unread if is_one else (),
                inputs.formatted if is_one else (),
                capture=number if is_capture else None,
            )
        if not is_one:  # with several clusters, nothing shows to which of them it belongs
            checking.unread(unread)
        checking.write()
        checking.write_formatted(inputs.formatted)
        found = [one for group in inputs.groups for one in group]
        is_asked = options.partitions or options.quiet
        hints = () if is_asked else (*not_asked_for(found),)
    exit_code = checking.end()
    for hint in hints:
        complain(f"check: {hint}")
    return exit_code


class _Answer(NamedTuple):
    """The output about one cluster: the verdict with the lines below it, or rows of --json. nodes:
    the ids of its nodes with a directory. capture: the capture's name, where there are several."""

    verdict: Verdict
    below: tuple[str, ...]
    rows: tuple[dict[str, Any], ...] = ()
    nodes: tuple[int, ...] = ()
    capture: str = ""


class _Checking:
    """One run of `check`, with everything that it has found so far."""

    def __init__(self, options: CheckOptions) -> None:
        self.options = options
        self.captures = 0
        """The number of groups that are captures of directories. These groups come first."""
        self.passed_over = passed_over_in(options.pass_over)
        self.log_directories = log_directories_in(options.paths or ()) if options.partitions else ()
        release = options.readable_by
        self.reader = None if release is None else reader_of(release)
        self.replay = not options.no_replay
        self.families = families_of(options.family, replay=self.replay)
        self.broker_defaults = defaults_in(options.broker_config)
        self.fail_on = severity_of("--fail-on", options.fail_on)
        shows_notes = options.verbose or options.json_output
        self.least = Severity.INFO if shows_notes else Severity.WARNING
        if options.severity is not None:
            self.least = severity_of("--severity", options.severity)
        self.progress = ProgressLine()
        self.counts = dict.fromkeys(Severity, 0)
        self.answers: list[list[_Answer]] = []
        """The answers about each group, in the order of the groups."""
        self.verdicts: list[Verdict] = []
        """The verdicts, in the order in which they are printed."""
        self.members: list[dict[str, Any]] = []
        self.health: list[dict[str, Any]] = []
        self.quorums: list[dict[str, Any]] = []
        self.earlier: EarlierRounds | None = None
        self.nodes = nodes_of(options.config or (), options.paths or ())
        """The nodes whose start is to be judged."""
        self.is_start_judged = not self.nodes
        self.members_of_newest: tuple[Examined, ...] = ()
        """The directories of the newest capture."""

    def unread(self, findings: Iterable[Finding]) -> None:
        """Judges archives and folders that could not be read, and the start of nodes that have no
        log yet."""
        self.answers.append([*self._of_unread(tuple(findings), self._starts(()))])

    def _of_unread(self, found: Sequence[Finding], starts: Starts | None) -> Iterator[_Answer]:
        if (found or starts) and self.families.files:
            evidence = ClusterEvidence(gaps=(no_log(found),)).with_unread(found)
            yield self._answer(evidence, [LocatedFinding("", one) for one in found], starts=starts)

    def _starts(self, clusters: Sequence[JudgedCluster]) -> Starts | None:
        """The starts of the nodes whose settings were given, by the logs of these clusters; None
        where the starts were judged before, or no settings were given."""
        if self.is_start_judged:
            return None
        self.is_start_judged = True
        members = [member for cluster in clusters for member in cluster.members]
        entries = login_entries_in(self.options.login_config)
        return judge_starts(starting_nodes(self.nodes, self.options.release, members, entries))

    def group(
        self,
        found: Iterable[DiscoveredPath],
        unread: Sequence[Finding],
        formatted: Sequence[FormattedDirectory],
        *,
        capture: int | None,
    ) -> None:
        """Reads the directories of a group and judges them together. unread: findings about other
        files that could not be read. formatted: log directories without a metadata log. capture:
        the number of the group's capture, 1 for the oldest; None where there is only one capture,
        or where the group is of single files."""
        found = tuple(found)
        for _ in range(MAX_READS):
            examined, damages = examine_all(found, self.progress.show, self.passed_over)
            judged = judge_group(
                examined,
                self.progress.show,
                replay=self.replay,
                newest=self.families.health,
                earlier=self.earlier,
                formatted=formatted,
            )
            if not any(one.changed for one in examined):
                break
        if self.earlier is not None:
            self.earlier = with_round(self.earlier, judged.compared)
        self.progress.clear()
        unread = (*unread, *bundle_damage(damages))
        of_files = self.families.health_of_files
        clusters = [
            self._read_by(judged_with(one, self.log_directories))
            for one in clusters_of(judged, self.broker_defaults, of_files=of_files)
        ]
        starts = None
        if capture in (None, self.captures):
            starts = self._starts(clusters)
            self.members_of_newest = tuple(examined)
        beside, starting = (unread, starts) if len(clusters) == 1 else ((), None)
        answers = [self._cluster(cluster, beside, starting, capture) for cluster in clusters]
        if len(clusters) != 1:
            answers += self._of_unread(unread, starts)
        self.answers.append(answers)

    def _read_by(self, cluster: JudgedCluster) -> JudgedCluster:
        """The cluster with the findings of --readable-by."""
        if self.reader is None:
            return cluster
        return replace(
            cluster, members=tuple(judged_for(self.reader, one) for one in cluster.members)
        )

    def _cluster(
        self,
        cluster: JudgedCluster,
        unread: Sequence[Finding],
        starts: Starts | None,
        capture: int | None,
    ) -> _Answer:
        """The verdict on a cluster, its nodes and its findings. unread: findings about directories
        that could not be read, whatever their cluster is."""
        families = self.families
        evidence = evidence_of(
            cluster, files=families.files, health=families.health, replay=self.replay
        )
        located: list[LocatedFinding] = []
        if families.files:
            evidence = evidence.with_unread(unread)
            gaps = gaps_of(cluster, self.log_directories)
            evidence = replace(evidence, gaps=(*evidence.gaps, *gaps))
            located = [*_located(cluster), *(LocatedFinding("", one) for one in unread)]
        if families.health:
            located += [LocatedFinding("", one, health=cluster) for one in cluster.health or ()]
            if cluster.state is not None and (
                cluster.state.examined.is_directory or families.health_of_files
            ):
                self.health.append(health_summary(cluster))
        self.members += (
            member_summary(cluster, one, behind)
            for one, behind in zip(cluster.members, cluster.behind, strict=True)
        )
        if cluster.quorum is not None:
            self.quorums.append(quorum_summary(cluster.quorum))
        return self._answer(evidence, located, cluster, capture, starts)

    def _answer(
        self,
        evidence: ClusterEvidence,
        located: Sequence[LocatedFinding],
        cluster: JudgedCluster | None = None,
        capture: int | None = None,
        starts: Starts | None = None,
    ) -> _Answer:
        if starts is not None:
            evidence, located = with_starts(starts, evidence, located)
        verdict = verdict_on(evidence)
        for severity, count in counted_by([one.finding for one in located]).items():
            self.counts[severity] += count
        shown = [one for one in located if one.finding.severity.rank <= self.least.rank]
        directories: Sequence[BrokerLogDirectory] = ()
        if cluster is not None:
            directories = [*of_cluster(cluster, self.log_directories)]
        if self.options.json_output:
            of_directories = map(log_directory_row, directories)
            rows = (
                verdict_row(verdict), *map(_row, shown), *of_directories, *start_rows(starts),
            )  # fmt: skip
            return _Answer(verdict, (), rows)
        of_capture = self._of_captures(capture)
        if self.options.quiet:
            line = only_line(verdict) + (f" ({of_capture})" if of_capture else "")
            return _Answer(verdict, (line,))
        table: Iterable[str] = ()
        if cluster is not None and self.families.files:
            table = (
                "",
                *table_lines(
                    MEMBER_COLUMNS,
                    (
                        member_cells(cluster, one, behind)
                        for one, behind in zip(cluster.members, cluster.behind, strict=True)
                    ),
                ),
                *brokers_not_given(cluster),
            )
        table = (*table, *log_directory_lines(cluster, directories))
        below = (*table, *start_lines(starts), *describe_findings(shown, self.options.limit))
        nodes = () if cluster is None else nodes_of_cluster(cluster)
        return _Answer(verdict, below, (), nodes, of_capture)

    def _of_captures(self, number: int | None) -> str:
        if number is None:
            return ""
        return f"capture {number} of {self.captures}{', the newest' * (number == self.captures)}"

    def write(self) -> None:
        """Prints the answers: the newest capture first, and in each capture the worst cluster
        first."""
        for answers in self._ordered():
            whole = one_verdict([ClusterVerdict(one.verdict, one.nodes) for one in answers])
            for number, (answer, left) in enumerate(zip(answers, whole.verdicts, strict=True)):
                lines: tuple[str, ...] = answer.below
                if not self.options.quiet:
                    lines = (
                        *([""] if self.verdicts else []),
                        *(() if number else whole.lines),
                        *describe_verdict(left, capture=answer.capture),
                        *answer.below,
                    )
                self.verdicts.append(answer.verdict)
                write_either(answer.rows, lines, json_output=self.options.json_output)

    def write_formatted(self, formatted: Sequence[FormattedDirectory]) -> None:
        """Prints how the nodes were formatted, where no log holds a record. formatted: log
        directories without a metadata log."""
        nodes = formatted_nodes(self.members_of_newest, formatted)
        configured = frozenset(voter for one in self.nodes for voter in one.config.static_voters)
        if self.families.files and not self.options.quiet:
            write_either(
                first_election_rows(nodes),
                first_election_lines(nodes, configured),
                json_output=self.options.json_output,
            )

    def _ordered(self) -> Iterator[list[_Answer]]:
        for group in (*reversed(self.answers[: self.captures]), *self.answers[self.captures :]):
            yield sorted(group, key=lambda one: one.verdict.level.rank)

    def end(self) -> int:
        """Prints the last line: the counts, or with --json the summary. Returns the exit code."""
        exit_code = 1 if reaches(self.counts, self.fail_on) or self._is_health_unknown() else 0
        if self.options.json_output:
            rows = (self.members, self.health, self.quorums)
            write_json(summary(self.verdicts, rows, self.counts, exit_code))
        elif not self.options.quiet:
            write_line("")
            write_line(describe_counts(len(self.members), self.counts, self.least))
        return exit_code

    def _is_health_unknown(self) -> bool:
        """Whether --family asks for health, but the state of a cluster, or of all clusters, is
        unknown."""
        told = [one["verdict"] for one in self.health]
        return self.families.needs_health and (not told or None in told)


def _located(cluster: JudgedCluster) -> list[LocatedFinding]:
    """The findings about files, each with the node that it is about, and with the file's name as
    the user would write it."""
    found = [
        LocatedFinding(
            cluster.name_of(member),
            finding.in_file(member.examined.shown_file(finding.file)),
            member,
        )
        for member in cluster.members
        for finding in member.findings
    ]
    for finding in cluster.findings:
        member = next((one for one in cluster.members if names_file_of(finding, one)), None)
        where = "" if member is None else cluster.name_of(member)
        found.append(LocatedFinding(where, finding, member))
    return found


def _row(located: LocatedFinding) -> dict[str, Any]:
    if located.health is not None:
        return health_row(located.health, located.finding)
    return file_row(located.finding)

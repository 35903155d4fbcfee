"""`kraftlake check`: what is wrong with a cluster, by the metadata directories of its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any

from jobs.cli.commands.directories import CheckOptions
from jobs.cli.commands.options import names_in
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
from jobs.cli.directories.check_text import (
    MEMBER_COLUMNS,
    LocatedFinding,
    describe_counts,
    describe_findings,
    member_cells,
    reaches,
    severity_of,
)
from jobs.cli.directories.verdict_text import describe_verdict, verdict_line, verdict_row
from jobs.cli.output import ProgressLine, write_json, write_line, write_table
from pipelines.cyclic_garbage import no_search_for_cycles
from replica.check.damaged import bundle_damage
from replica.check.group import judge_group
from replica.check.known_quorum import EarlierRounds, with_round
from replica.check.rule import Finding
from replica.format.directory import MAX_READS
from replica.format.discovery import DiscoveredPath
from replica.severity import Severity
from replica.verdict.evidence import ClusterEvidence
from replica.verdict.facts import verdict_on
from replica.verdict.of_group import JudgedCluster, clusters_of, evidence_of, names_file_of, node_of
from replica.verdict.verdict import Gap, Verdict

_NO_LOG = Gap(
    "a cluster's state and logs",
    "nothing here has a metadata log that can be read",
    "Name the directories of nodes that have started.",
)


def run(options: CheckOptions) -> int:
    """Print the verdict on each cluster and the findings. Returns 1 where one has the severity
    fail_on or worse, else 0."""
    checking = _Checking(options)
    with ExitStack() as stack:
        stack.enter_context(no_search_for_cycles())
        inputs = find_inputs(options.paths, names_in(options.order), stack, for_check=True)
        unread = inputs.unread()
        checking.earlier = {} if len(inputs.groups) > 1 else None
        if len(inputs.groups) != 1:  # nobody knows to which of them it belongs
            checking.unread(unread)
            unread = ()
        for group in inputs.groups:
            checking.group(group, unread)
    return checking.end()


class _Checking:
    """One run of `check`, with everything that it has found so far."""

    def __init__(self, options: CheckOptions) -> None:
        self.options = options
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
        self.verdicts: list[Verdict] = []
        self.members: list[dict[str, Any]] = []
        self.health: list[dict[str, Any]] = []
        self.quorums: list[dict[str, Any]] = []
        self.earlier: EarlierRounds | None = None

    def unread(self, findings: Iterable[Finding]) -> None:
        """Tell of archives and folders that could not be read."""
        found = tuple(findings)
        if found and self.families.files:
            evidence = ClusterEvidence(gaps=(_NO_LOG,)).with_unread(found)
            self._tell(evidence, [LocatedFinding("", one) for one in found])

    def group(self, found: Iterable[DiscoveredPath], unread: Sequence[Finding]) -> None:
        """Read and judge the directories of a group together, and print what was found. unread:
        what could not be read beside them."""
        found = tuple(found)
        for _ in range(MAX_READS):
            examined, damages = examine_all(found, self.progress.show)
            judged = judge_group(
                examined,
                self.progress.show,
                replay=self.replay,
                newest=self.families.health,
                earlier=self.earlier,
            )
            if not any(one.changed for one in examined):
                break
        if self.earlier is not None:
            self.earlier = with_round(self.earlier, judged.compared)
        self.progress.clear()
        unread = (*unread, *bundle_damage(damages))
        of_files = self.families.health_of_files
        clusters = [*clusters_of(judged, self.broker_defaults, of_files=of_files)]
        if len(clusters) != 1:
            self.unread(unread)
            unread = ()
        for cluster in clusters:
            self._cluster(cluster, unread)

    def _cluster(self, cluster: JudgedCluster, unread: Sequence[Finding]) -> None:
        """Print the verdict on a cluster, its nodes and its findings. unread: those about
        directories that could not be read, of whatever cluster they are."""
        families = self.families
        evidence = evidence_of(
            cluster, files=families.files, health=families.health, replay=self.replay
        )
        located: list[LocatedFinding] = []
        if families.files:
            evidence = evidence.with_unread(unread)
            located = [*_located(cluster), *(LocatedFinding("", one) for one in unread)]
        if families.health:
            located += [LocatedFinding("", one, health=cluster) for one in cluster.health or ()]
            if cluster.told is not None and (
                cluster.told.examined.is_directory or families.health_of_files
            ):
                self.health.append(health_summary(cluster))
        self.members += map(member_summary, cluster.members)
        if cluster.quorum is not None:
            self.quorums.append(quorum_summary(cluster.quorum))
        self._tell(evidence, located, cluster)

    def _tell(
        self,
        evidence: ClusterEvidence,
        located: Sequence[LocatedFinding],
        cluster: JudgedCluster | None = None,
    ) -> None:
        verdict = verdict_on(evidence)
        for severity, count in counted_by([one.finding for one in located]).items():
            self.counts[severity] += count
        shown = [one for one in located if one.finding.severity.rank <= self.least.rank]
        is_first = not self.verdicts
        self.verdicts.append(verdict)
        if self.options.json_output:
            write_json(verdict_row(verdict))
            for one in shown:
                write_json(_row(one))
        elif self.options.quiet:
            write_line(verdict_line(verdict))
        else:
            if not is_first:
                write_line("")
            for line in describe_verdict(verdict):
                write_line(line)
            if cluster is not None and self.families.files:
                write_line("")
                write_table(MEMBER_COLUMNS, map(member_cells, cluster.members))
            for line in describe_findings(shown, self.options.limit):
                write_line(line)

    def end(self) -> int:
        """Print the last line. Returns the exit code."""
        exit_code = 1 if reaches(self.counts, self.fail_on) or self._is_health_unknown() else 0
        if self.options.json_output:
            rows = (self.members, self.health, self.quorums)
            write_json(summary(self.verdicts, rows, self.counts, exit_code))
        elif not self.options.quiet:
            write_line("")
            write_line(describe_counts(len(self.members), self.counts, self.least))
        return exit_code

    def _is_health_unknown(self) -> bool:
        """Whether --family asks for health, but the state of a cluster, or of all, is unknown."""
        told = [one["verdict"] for one in self.health]
        return self.families.needs_health and (not told or None in told)


def _located(cluster: JudgedCluster) -> list[LocatedFinding]:
    """The findings about files, each with the node that it is about, and with the file's name as
    the user would write it."""
    found = [
        LocatedFinding(
            node_of(member), finding.in_file(member.examined.shown_file(finding.file)), member
        )
        for member in cluster.members
        for finding in member.findings
    ]
    for finding in cluster.findings:
        member = next((one for one in cluster.members if names_file_of(finding, one)), None)
        where = "" if member is None else node_of(member)
        found.append(LocatedFinding(where, finding, member))
    return found


def _row(located: LocatedFinding) -> dict[str, Any]:
    if located.health is not None:
        return health_row(located.health, located.finding)
    return file_row(located.finding)

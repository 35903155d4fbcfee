"""`kraftlake check`: whether the metadata directories of a replica, or of a whole cluster, are
sound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any

from jobs.cli.commands.directories import CheckOptions
from jobs.cli.commands.options import names_in
from jobs.cli.directories.broker_defaults import defaults_in
from jobs.cli.directories.check_health import (
    ClusterHealth,
    describe_health,
    families_of,
    health_of,
    health_row,
    health_summary,
)
from jobs.cli.directories.check_inputs import examine_all, find_inputs
from jobs.cli.directories.check_text import (
    describe_counts,
    describe_group,
    describe_member,
    describe_missing_voters,
    finding_row,
    member_summary,
    quorum_summary,
    reaches,
    severity_of,
    summary,
)
from jobs.cli.output import ProgressLine, write_either, write_json, write_line
from pipelines.cyclic_garbage import no_search_for_cycles
from replica.check.damaged import bundle_damage
from replica.check.formatted import judge_formatted
from replica.check.group import JudgedGroup, judge_group
from replica.check.rule import Finding, by_severity
from replica.format.directory import LOOKS
from replica.format.discovery import Found
from replica.format.file_names import FileKind
from replica.format.formatted import FormattedDirectory
from replica.model.keys import ReplicaId
from replica.severity import Severity


def run(options: CheckOptions) -> int:
    """Print the findings. Returns 1 where one has the severity fail_on or worse, else 0."""
    checking = _Checking(options)
    with ExitStack() as stack:
        stack.enter_context(no_search_for_cycles())
        inputs = find_inputs(options.paths, names_in(options.order), stack, for_check=True)
        checking.between("", bundle_damage(inputs.damages))
        for group in inputs.groups:
            checking.group(group)
        checking.formatted(inputs.formatted)
    return checking.end()


class _Checking:
    """One run of `check`, with everything that it has found so far."""

    def __init__(self, options: CheckOptions) -> None:
        self.options = options
        self.replay = not options.no_replay
        self.families = families_of(options.family, replay=self.replay)
        self.broker_defaults = defaults_in(options.broker_config)
        self.least = severity_of("--severity", options.severity)
        self.fail_on = min(self.least, Severity.WARNING, key=lambda severity: severity.rank)
        if options.fail_on is not None:
            self.fail_on = severity_of("--fail-on", options.fail_on)
        self.progress = ProgressLine()
        self.counts = dict.fromkeys(Severity, 0)
        self.members: list[dict[str, Any]] = []
        self.health: list[dict[str, Any]] = []
        self.quorums: list[dict[str, Any]] = []
        self.judged: list[tuple[ReplicaId, str]] = []

    def formatted(self, found: Sequence[FormattedDirectory]) -> None:
        """Judge log directories without a metadata log beside those that were judged."""
        title = "log directories without a metadata log"
        self.between(title, judge_formatted(found, self.judged))

    def group(self, found: Iterable[Found]) -> None:
        """Read and judge the directories of a group together, and print the findings."""
        found = tuple(found)
        for _ in range(LOOKS):
            examined, damages = examine_all(found, self.progress.show)
            judged = judge_group(
                examined,
                self.progress.show,
                replay=self.replay,
                newest=self.families.health,
            )
            if not any(one.changed for one in examined):
                break
        self.progress.clear()
        self.between("", bundle_damage(damages))
        self._members(judged)
        self.between("between the directories", judged.findings)
        for health in health_of(judged, self.families, self.broker_defaults):
            self._cluster(health)
        self._quorums(judged)

    def _members(self, judged: JudgedGroup) -> None:
        for member in judged.members:
            self.members.append(member_summary(member))
            if member.examined.replica is not None:
                path = member.examined.path_of(FileKind.META_PROPERTIES)
                self.judged.append((member.examined.replica, member.examined.shown_file(path)))
            shown_file = member.examined.shown_file
            named = [finding.in_file(shown_file(finding.file)) for finding in member.findings]
            shown = self._counted(named)
            lines = describe_member(member, shown, self.least) if self.families.files else ()
            write_either(map(finding_row, shown), lines, json_output=self.options.json_output)

    def _quorums(self, judged: JudgedGroup) -> None:
        """Print which voters were not checked. It doesn't change the exit code."""
        for quorum in judged.quorums:
            self.quorums.append(quorum_summary(quorum))
            if quorum.missing and not self.options.json_output:
                write_line(describe_missing_voters(quorum))

    def between(self, title: str, findings: Iterable[Finding]) -> None:
        """Print findings that belong to no directory."""
        found = sorted(findings, key=by_severity)
        shown = self._counted(found)
        lines = describe_group(title, shown)
        write_either(map(finding_row, shown), lines, json_output=self.options.json_output)

    def _cluster(self, health: ClusterHealth) -> None:
        """Print the health of one cluster. Its findings count for the exit code only with
        --family health or all."""
        self.health.append(health_summary(health))
        if self.families.health_counts:
            for finding in health.findings:
                self.counts[finding.severity] += 1
        least = self.least
        if not self.families.health_counts:
            least = min(least, Severity.WARNING, key=lambda severity: severity.rank)
        shown = [one for one in health.findings if one.severity.rank <= least.rank]
        rows = (health_row(health, finding) for finding in shown)
        lines = describe_health(health, shown, self.options.limit)
        write_either(rows, lines, json_output=self.options.json_output)

    def _counted(self, findings: Iterable[Finding]) -> list[Finding]:
        """Count findings about files. Returns those to show."""
        if not self.families.files:
            return []
        shown = []
        for finding in findings:
            self.counts[finding.severity] += 1
            if finding.severity.rank <= self.least.rank:
                shown.append(finding)
        return shown

    def end(self) -> int:
        """Print the last line. Returns the exit code."""
        exit_code = 1 if reaches(self.counts, self.fail_on) or self._is_health_unknown() else 0
        if self.options.json_output:
            write_json(summary(self.members, self.counts, self.health, self.quorums, exit_code))
        else:
            if self.families.health_counts and not self.health:
                write_line("health: unknown, because no log or snapshot here gives a state")
            write_line(describe_counts(len(self.members), self.counts, self.least))
        return exit_code

    def _is_health_unknown(self) -> bool:
        """Whether health was asked for, but the state of a cluster, or of all, is unknown."""
        told = [one["verdict"] for one in self.health]
        return self.families.health_counts and (not told or None in told)

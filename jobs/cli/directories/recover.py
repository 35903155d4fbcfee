"""`kraftlake recover --plan`: the remaining directory with which a quorum should continue."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from jobs.cli.commands.directories import RecoverOptions
from jobs.cli.commands.options import names_in
from jobs.cli.directories.check_inputs import (
    CheckInputs,
    examine_all,
    find_newest_inputs,
    read_earlier,
)
from jobs.cli.directories.judged_clusters import judged_clusters
from jobs.cli.directories.notices import damage_lines, printed_at_the_end
from jobs.cli.directories.offsets_text import pairs
from jobs.cli.directories.recover_brokers import BrokerSteps, steps_of_brokers
from jobs.cli.directories.recover_not_read import (
    NoPlan,
    in_a_plan,
    not_read,
    why_mixed,
    why_not_read,
)
from jobs.cli.directories.recover_steps import NO_BROKERS
from jobs.cli.directories.recover_text import answer_line, describe, needs_of
from jobs.cli.directories.several_verdicts import ClusterVerdict, nodes_of_cluster, one_verdict
from jobs.cli.directories.verdict_text import labelled, verdict_in_short, verdict_row
from jobs.cli.option_values import MAX_REHEARSED, seeds_in
from jobs.cli.output import ProgressLine, write_either
from replica.doctor.check.damaged import bundle_damage
from replica.doctor.check.examined import Examined, by_cluster
from replica.doctor.check.history_log import replica_log
from replica.doctor.check.known_quorum import EarlierRounds, quorum_files, went_back_since
from replica.doctor.check.membership import mixture_in
from replica.doctor.check.mixture import NO_MIXTURE, ClusterMixture
from replica.doctor.check.partition import by_partition, partition_of
from replica.doctor.check.rule import Finding
from replica.doctor.health.hosted import HostedReplicas, hosted_replicas
from replica.doctor.quorum.recovery import RecoveryDecision, RecoveryPlan, plan_compared
from replica.doctor.quorum.went_back import ComparedRound
from replica.doctor.verdict.evidence_of_directories import JudgedCluster
from replica.doctor.verdict.verdict import Verdict
from replica.errors import UnreadableFileError, UsageError
from replica.format import meta_properties
from replica.format.damage import Damage
from replica.format.discovery import DirectoryPath
from replica.format.formatted import FormattedDirectory
from replica.history.commitment import compare_group
from replica.model.keys import ReplicaKey
from replica.words import sentence

if TYPE_CHECKING:
    from jobs.cli.directories.recover_rehearsed import RehearsedPlan


def run(options: RecoverOptions) -> int:
    """Prints a plan for each cluster. Returns 0 where all plans are safe, else 1. It never changes
    anything."""
    seeds = seeds_in(options.seeds or "0:20", most=MAX_REHEARSED) if options.rehearse else None
    with ExitStack() as stack:
        notices = stack.enter_context(printed_at_the_end())
        order, in_json = names_in(options.order), options.json_output
        given = given_nodes(options.paths, stack, notices, order, all_damages=in_json)
        judged = given.judged()
        parts = by_partition(given.usable, partition_of)
        clusters = [members for part in parts for members in by_cluster(part)]
        whole, left = _verdicts(judged, [members[0].owner.cluster_id for members in clusters])
        codes, said = [], set[NoPlan]()
        for members in clusters:
            cluster_id = members[0].owner.cluster_id
            made = _made(members, given, judged[cluster_id], seeds)
            if cluster_id in left:  # the first plan of a cluster has its verdict above it
                row = verdict_row(judged[cluster_id].verdict)
                answer = labelled("recover", made.answer_line)
                lines = [*whole, *verdict_in_short(left.pop(cluster_id), [answer]), ""]
                shown = map(in_a_plan, lines if made.no_plan not in said else ())
                write_either([row], shown, json_output=in_json)
                whole = ()
            _write(made, given, is_said=made.no_plan in said, json_output=in_json)
            said.update(filter(None, [made.no_plan]))
            codes.append(made.code)
        return max(codes)


def _verdicts(
    judged: Mapping[str | None, Judged], clusters: Sequence[str]
) -> tuple[Sequence[str], dict[str, Verdict]]:
    """(the verdict on all clusters, as the lines above all plans; the verdict of each cluster,
    which is printed above its first plan). clusters: their ids, in the order of their plans."""
    ids = [*dict.fromkeys(clusters)]
    worst = sorted(ids, key=lambda one: judged[one].verdict.level.rank)
    whole = one_verdict(
        [
            ClusterVerdict(judged[one].verdict, nodes_of_cluster(judged[one].cluster))
            for one in worst
        ]
    )
    return tuple(whole.lines), dict(zip(worst, whole.verdicts, strict=True))


class _Made(NamedTuple):
    """The plan of one cluster. by_key: the cluster's directories. hosted, brokers: see steps_of.
    no_plan: why there is no plan; None where there is one. rehearsed: the plan's rehearsal; None
    where the user wants none."""

    plan: RecoveryPlan
    by_key: Mapping[ReplicaKey, Examined]
    hosted: HostedReplicas
    brokers: BrokerSteps
    no_plan: NoPlan | None
    rehearsed: RehearsedPlan | None

    @property
    def code(self) -> int:
        is_safe = self.plan.answer is RecoveryDecision.SAFE
        return 0 if is_safe and (self.rehearsed is None or self.rehearsed.is_safe) else 1

    @property
    def answer_line(self) -> str:
        """The answer in one line, which is printed below the cluster's verdict."""
        if self.no_plan is not None:
            return sentence(f"no plan: {self.no_plan.why}")
        return answer_line(self.plan, self.by_key, self.hosted, self.brokers)


def _made(
    members: Sequence[Examined], given: GivenNodes, judged: Judged, seeds: range | None
) -> _Made:
    """The plan of one cluster. given: all directories. seeds: the seeds of the runs in which the
    plan's steps are rehearsed; None for no rehearsal."""
    _refuse_copies(members)
    plan, by_key = plan_of(members, given.earlier, given.mixture)
    of_metadata = partition_of(members[0]).is_metadata
    hosted, brokers = NO_BROKERS, BrokerSteps()
    if of_metadata and judged.cluster.cluster is not None:
        hosted = hosted_replicas(judged.cluster.cluster)
        brokers = steps_of_brokers(judged.cluster.cluster, judged.verdict)
    refused = (*not_read(damage for one in members for damage in one.damages), *given.not_read)
    no_plan = why_not_read(refused) if refused else why_mixed(judged.verdict, plan)
    if no_plan is not None:
        plan = no_plan.refused(plan)
    rehearsed = None
    if seeds is not None:
        # loads the simulator
        from jobs.cli.directories.recover_rehearsed import rehearse_plan

        rehearsed = rehearse_plan(plan, by_key, seeds, given.earlier, given.formatted)
    return _Made(plan, by_key, hosted, brokers, no_plan, rehearsed)


def _write(made: _Made, given: GivenNodes, *, is_said: bool, json_output: bool) -> None:
    """Prints a plan. is_said: whether there is no plan for a reason that was printed for another
    cluster already."""
    plan, by_key = made.plan, made.by_key
    cluster_id = by_key[plan.winner.key].owner.cluster_id
    if is_said:
        lines: Iterable[str] = (f"cluster {cluster_id}: no plan either, for the same reason",)
    elif made.no_plan is not None:
        lines = made.no_plan.describe(cluster_id, given.paths)
    else:
        others = given.of_other_clusters(cluster_id)
        lines = describe(plan, by_key, others, made.hosted, made.brokers)
    if made.rehearsed is not None and not is_said:
        lines = chain(lines, made.rehearsed.lines())
    write_either(_rows(plan, by_key, made.rehearsed), lines, json_output=json_output)


def plan_of(
    members: Sequence[Examined],
    earlier: EarlierRounds | None = None,
    mixture: ClusterMixture = NO_MIXTURE,
) -> tuple[RecoveryPlan, dict[ReplicaKey, Examined]]:
    """(the plan for the replicas of one cluster, each directory by its replica). earlier: what
    earlier captures of these replicas proved. mixture: which nodes, by all directories, have disks
    of another cluster."""
    by_key = {one.owner.key: one for one in members}
    logs = [replica_log(one, one.shown) for one in by_key.values()]
    now = ComparedRound.of(compare_group(logs))
    back = went_back_since(earlier or {}, members[0].owner.cluster_id, now)
    files = quorum_files(list(zip(by_key.values(), logs, strict=True)), back)
    plan = plan_compared(now, files)
    quorum = mixture.doubted(plan.quorum, members[0].owner.cluster_id)
    return replace(plan, quorum=quorum), by_key


class Judged(NamedTuple):
    """A cluster as `check` judges it, with its verdict."""

    cluster: JudgedCluster
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class GivenNodes:
    """The directories that the user named."""

    paths: tuple[str, ...]
    """The paths as they were named."""
    examined: tuple[Examined, ...]
    """All of the directories."""
    usable: tuple[Examined, ...]
    """The directories with which a quorum can continue."""
    unread: tuple[Finding, ...]
    """The findings about files that could not be read, and about nodes that never started."""
    not_read: tuple[Damage, ...]
    """The damages of files and directories that the operating system refused to read, and whose
    node is unknown."""
    earlier: EarlierRounds
    """Earlier captures of the directories."""
    formatted: tuple[FormattedDirectory, ...] = ()
    """Log directories without a metadata log."""

    @property
    def mixture(self) -> ClusterMixture:
        """Which nodes have disks of another cluster."""
        return mixture_in(self.usable, self.formatted)

    def of_other_clusters(self, cluster_id: str) -> dict[int, str]:
        """The directories of other clusters, by node id, as the user would name them."""
        return {
            one.owner.node_id: one.shown
            for one in self.usable
            if one.owner.cluster_id != cluster_id
        }

    def judged(self) -> dict[str | None, Judged]:
        """What `check` says of each cluster, by cluster id."""
        progress = ProgressLine()
        judged = judged_clusters(
            self.examined,
            self.unread,
            progress.show,
            earlier=self.earlier or None,
            formatted=self.formatted,
        )
        found = {one.cluster_id: Judged(one, verdict) for one, verdict in judged}
        progress.clear()
        return found


def given_nodes(
    paths: Sequence[str],
    stack: ExitStack,
    notices: list[str],
    order: Sequence[str] = (),
    *,
    all_damages: bool = False,
) -> GivenNodes:
    """The directories of all paths, each read once. Raises what find_newest_inputs raises,
    UnreadableFileError where no directory can be read, and UsageError where no plan can use any.

    stack: bundles stay unpacked until this stack closes.
    notices: gets a line for each directory that no plan can use, and for each damage.
    order: see find_newest_inputs.
    all_damages: see damage_lines.
    """
    progress = ProgressLine()
    inputs = find_newest_inputs(paths, stack, order)
    notices += _of_inputs(inputs)
    directories: list[DirectoryPath] = []
    for named in (each for group in inputs.groups for each in group):
        if isinstance(named, DirectoryPath):
            directories.append(named)
        else:
            notices.append(
                f"{named.shown}: left out: a quorum can continue only from a whole directory"
            )
    examined, unread = examine_all(directories, progress.show)
    earlier = read_earlier(inputs, progress.show)
    progress.clear()
    damages = (*inputs.damages, *unread)
    reasons = [_why_left_out(one) for one in examined]
    found = [one for one, reason in zip(examined, reasons, strict=True) if reason is None]
    if not found and damages and not examined:
        raise UnreadableFileError(damages[0].file, _what_to_do(damages[0]))
    for damage in damages:
        notices.append(f"{damage.file}: {damage.kind}: {_what_to_do(damage)}")
    for one, reason in zip(examined, reasons, strict=True):
        if reason is not None:
            notices.append(f"{one.shown}: left out: {reason}")
    if not found:
        raise UsageError(f"{', '.join(paths)}: no node's directory; name those that are left")
    notices += damage_lines(found, all_of_them=all_damages)
    findings = (*inputs.unread(), *bundle_damage(unread))
    nobodys = [damage for one in examined if _is_nobodys(one) for damage in one.damages]
    refused = not_read((*damages, *nobodys))
    return GivenNodes(
        tuple(paths), tuple(examined), tuple(found), findings, refused, earlier, inputs.formatted
    )


def _is_nobodys(examined: Examined) -> bool:
    """Whether a directory is of a partition that a quorum replicates, and no file names the
    node."""
    return examined.replica is None and partition_of(examined).is_of_a_quorum


def _what_to_do(damage: Damage) -> str:
    """The advice of `check` for an archive or a directory that could not be read."""
    (finding,) = bundle_damage([damage])
    return f"{finding.message}. {finding.rule.next_step}"


def _why_left_out(examined: Examined) -> str | None:
    """The reason for which no quorum can continue with a directory; None where it can."""
    partition = partition_of(examined)
    if not partition.is_of_a_quorum:
        return f"{partition.what}, which no quorum keeps"
    if examined.replica is not None:
        return None
    for damage in examined.directory.damages:
        if os.path.basename(damage.file) == meta_properties.FILE_NAME:
            return f"{examined.shown_file(damage.file)}: {damage.detail}"
    return "no meta.properties says whose it is"


def _of_inputs(inputs: CheckInputs) -> Iterator[str]:
    """Lines about the directories that are left out, and about several captures that one plan uses
    together."""
    yield from inputs.left_out()
    directories = [group for group in inputs.groups if isinstance(group[0], DirectoryPath)]
    if len(directories) > 1:
        yield (
            f"{len(directories)} captures: a plan holds only where no log grew after the first "
            "of them was taken"
        )


def _refuse_copies(members: Sequence[Examined]) -> None:
    seen: dict[ReplicaKey, Examined] = {}
    for one in members:
        other = seen.setdefault(one.owner.key, one)
        if other is not one:
            raise UsageError(
                f"{other.shown} and {one.shown} are two copies of node {one.owner.node_id}: name "
                "the newest"
            )


def _rows(
    plan: RecoveryPlan, by_key: Mapping[ReplicaKey, Examined], rehearsed: RehearsedPlan | None
) -> Iterator[dict[str, Any]]:
    doubts = {
        standing.log.key: voter.doubt
        for voter in (*plan.quorum.voters, *plan.quorum.leaving)
        for standing in plan.ranking
        if voter.key.matches(standing.log.key)
    }
    for rank, standing in enumerate(plan.ranking, start=1):
        log, lost = standing.log, standing.lost
        examined, position = by_key[log.key], log.position()
        row: dict[str, Any] = {
            "kind": "replica",
            "rank": rank,
            "directory": examined.shown,
            "cluster_id": examined.owner.cluster_id,
            "node_id": log.key.node_id,
            "directory_id": log.key.directory_id,
            "is_voter": standing.is_voter,
            "last_epoch": position.epoch,
            "log_end_offset": position.offset,
            "relation": None if standing.relation is None else standing.relation.value,
            "at_risk": pairs(standing.at_risk),
            "committed_lost": lost.committed,
            "unproven_lost": lost.unproven,
            "superseded_lost": lost.superseded,
            "answer": plan.answer.value,
            "has_majority": plan.has_majority,
            "missing": sorted([v.node_id, v.directory_id] for v in plan.missing),
            "reasons": list(plan.reasons),
            "partition": partition_of(examined).shown,
            "wins_election": plan.electable == (log.key,),
            "truncates_to": standing.truncates_to,
            "on_no_voter": pairs(plan.on_no_voter),
            "may_win": log.key in plan.electable,
            "may_lose": pairs(standing.may_lose),
            "doubt": doubts.get(log.key),
            "needs": list(needs_of(plan)),
        }
        if rehearsed is not None:
            row["rehearsed"] = rehearsed.row(log.key)
        yield row

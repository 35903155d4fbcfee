"""What the rules find in the files of nodes."""

from __future__ import annotations

from pathlib import Path

from jobs.cli.directories.starting_nodes import log_paths, nodes_of, starting_nodes
from replica.doctor.check.examined import examine
from replica.doctor.check.group import judge_group
from replica.doctor.startup.judging import Starts, judge_starts
from replica.doctor.startup.known_settings import Release
from replica.format.discovery import discover


def judged(*properties: Path, release: Release = (4, 4)) -> Starts:
    """The nodes of these settings files, judged. The log directories of each node are those in its
    file."""
    nodes = nodes_of([str(one) for one in properties], ())
    with_logs = [
        one for one in log_paths(nodes, ()) if (Path(one) / "__cluster_metadata-0").exists()
    ]
    group = judge_group([examine(one) for one in discover(with_logs)], newest=True)
    named = ".".join(map(str, release))
    return judge_starts(starting_nodes(nodes, named, group.members))


def rules(starts: Starts) -> list[str]:
    """The ids of the rules with findings, those about single lines last."""
    return [one.finding.rule.id for node in starts.nodes for one in node.obstacles]

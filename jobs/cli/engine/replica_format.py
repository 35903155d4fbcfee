"""`kraftlake replica format`: writes the ids of a directory, as kafka-storage format does."""

from __future__ import annotations

from jobs.cli.commands.engine import FormatOptions
from jobs.cli.output import write_either
from replica.node.formatting import Formatted, format_node
from replica.node.properties import read_properties
from replica.node.settings import NodeSettings, settings_in
from replica.storage.filesystem import LocalDisk


def run(options: FormatOptions) -> int:
    """Formats the node's log directory by format_node, and prints what was done. Returns 0."""
    settings = settings_in(read_properties(options.config))
    formatted = format_node(
        LocalDisk(),
        settings,
        options.cluster_id,
        standalone=options.standalone,
        initial_controllers=options.initial_controllers,
        ignore_formatted=options.ignore_formatted,
    )
    row, line = _row(settings, formatted), _text(settings, formatted)
    write_either([row], [line], json_output=options.json_output)
    return 0


def _row(settings: NodeSettings, formatted: Formatted) -> dict[str, object]:
    replica = formatted.replica
    return {
        "directory": settings.log_dir,
        "cluster_id": replica.cluster_id,
        "node_id": replica.node_id,
        "directory_id": replica.directory_id,
        "voters": list(formatted.voters.ids),
        "formatted": not formatted.was_there,
    }


def _text(settings: NodeSettings, formatted: Formatted) -> str:
    replica = formatted.replica
    who = (
        f"node {replica.node_id} of cluster {replica.cluster_id}, directory {replica.directory_id}"
    )
    if formatted.was_there:
        return f"{settings.log_dir}: formatted already for {who}; nothing was changed"
    voters = ", ".join(str(node_id) for node_id in formatted.voters.ids)
    begins = f"first voters: {voters}" if voters else _joins(settings)
    return f"{settings.log_dir}: formatted for {who}; {begins}"


def _joins(settings: NodeSettings) -> str:
    if settings.static_voters.voter(settings.node_id) is not None:
        return "a voter, by controller.quorum.voters"
    return "an observer, until it is added to the voters"

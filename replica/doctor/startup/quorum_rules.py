"""Judges whether a node that starts takes part in its quorum: the rules compare its settings with
the voters in its own log and in the other nodes' files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replica.doctor.check.catalogue import files, groups, startup
from replica.doctor.startup.node_config import Address
from replica.doctor.startup.obstacle import NodeLog, Obstacle, Start, StartingNode, of_setting
from replica.words import listed

_VOTERS, _SERVERS = "controller.quorum.voters", "controller.quorum.bootstrap.servers"


def judge_static_voters(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles: missing or different voters in the settings of a static quorum."""
    config, log = node.config, node.own_log
    if not config.is_controller or log.dynamic_voters is not None or not log.static_voters:
        return
    by_log, configured = log.static_voters, frozenset(config.static_voters)
    shown = _ids(by_log)
    if not configured:
        finding = startup.STATIC_VOTERS_NOT_NAMED.at(config.path, f"by the log voters {shown}")
        yield Obstacle(Start.NEVER_JOINS, finding, "voters=[]")
    elif configured != by_log:
        message = f"voters {_ids(configured)}; by the log {shown}"
        finding = of_setting(startup.CONFIGURED_VOTERS_DIFFER, config, _VOTERS, message)
        yield Obstacle(Start.STARTS, finding)


def judge_own_disk(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles: a disk that the voters record of a dynamic quorum doesn't name."""
    voters, own, mine = node.own_log.dynamic_voters, node.config.node_id, node.directory_id
    if voters is None or own is None or mine is None or not node.config.is_controller:
        return
    voter, found = voters.voter(own), node.metadata_dir
    if voter is None or found is None or voter.key.directory_id == mine:
        return
    message = f"directory.id {mine}; voter {own} is {voter.key.directory_id}"
    finding = files.VOTER_DIRECTORY_ID.at(found.meta_properties, message)
    yield Obstacle(Start.NEVER_JOINS, finding)


def judge_own_address(node: StartingNode) -> Iterator[Obstacle]:
    """Obstacles: a static voter that listens at another port than its settings name for it."""
    config = node.config
    told = config.static_voters.get(-1 if config.node_id is None else config.node_id)
    if told is None or node.address is None or node.own_log.dynamic_voters is not None:
        return
    if told.port != node.address.port:
        message = f"{told}; the node's listener is at {node.address}"
        finding = of_setting(startup.VOTER_ADDRESS_DIFFERS, config, _VOTERS, message)
        yield Obstacle(Start.NEVER_JOINS, finding)


def judge_among(node: StartingNode, nodes: Sequence[StartingNode]) -> Iterator[Obstacle]:
    """Obstacles that the other nodes' settings and disks show. nodes: all given nodes."""
    yield from _judge_voters_anywhere(node, nodes)
    yield from _judge_servers(node, nodes)
    home = home_cluster(nodes)
    found = node.metadata_dir
    if found is not None and home is not None and node.cluster_id not in (None, home):
        message = f"cluster {node.cluster_id}; the others are of {home}"
        finding = groups.DISK_OF_ANOTHER_CLUSTER.at(found.meta_properties, message)
        yield Obstacle(Start.NEVER_JOINS, finding, "INCONSISTENT_CLUSTER_ID")
    twins = [one.config.path for one in nodes if one is not node and _is_twin(one, node)]
    if twins:
        message = f"node.id {node.config.node_id} is that of {listed(twins)} too"
        finding = of_setting(groups.DUPLICATE_IDENTITY, node.config, "node.id", message)
        yield Obstacle(Start.STARTS, finding)


def _is_twin(one: StartingNode, other: StartingNode) -> bool:
    return one.config.node_id is not None and one.config.node_id == other.config.node_id


def _judge_voters_anywhere(node: StartingNode, nodes: Sequence[StartingNode]) -> Iterator[Obstacle]:
    """Obstacles: a controller that knows no voter, and no address of a node that knows the
    voters."""
    config = node.config
    if not config.is_controller or node.log is None or knows_voters(node):
        return
    ports = {one.address.port for one in nodes if one.address is not None}
    ask_others = any(one.port not in ports for one in config.bootstrap_servers)
    if not ask_others and not any(map(knows_voters, nodes)):
        message = "no file that was given names a voter"
        finding = of_setting(startup.NO_VOTERS_ANYWHERE, config, _SERVERS, message)
        yield Obstacle(Start.NEVER_JOINS, finding, "voters=[]")


def knows_voters(node: StartingNode) -> bool:
    """Whether a node's settings, its log or its quorum-state name voters."""
    log: NodeLog = node.own_log
    dynamic = log.dynamic_voters is not None and len(log.dynamic_voters) > 0
    return bool(node.config.static_voters or log.static_voters or dynamic)


def _judge_servers(node: StartingNode, nodes: Sequence[StartingNode]) -> Iterator[Obstacle]:
    """Obstacles: addresses at which a node that is not a voter can't find the quorum."""
    config = node.config
    name = _SERVERS if config.bootstrap_servers else _VOTERS
    asked = config.bootstrap_servers or tuple(config.static_voters.values())
    others = [one.address for one in nodes if one.config.is_controller and one.address is not None]
    if not asked or not others or _is_voter(node):
        return
    if not {one.port for one in asked} & {one.port for one in others}:
        message = f"{name}: {_addresses(asked)}; controllers that were given: {_addresses(others)}"
        finding = of_setting(startup.NO_CONTROLLER_AT_ADDRESS, config, name, message)
        yield Obstacle(Start.NEVER_JOINS, finding)


def _is_voter(node: StartingNode) -> bool:
    own, dynamic = node.config.node_id, node.own_log.dynamic_voters
    return own in node.config.static_voters or (own is not None and dynamic is not None
                                                and dynamic.voter(own) is not None)  # fmt: skip


def _addresses(found: Sequence[Address]) -> str:
    return listed([str(one) for one in found], limit=3)


def home_cluster(nodes: Sequence[StartingNode]) -> str | None:
    """The cluster to which the nodes belong: the cluster that most controllers name. Among several
    clusters that equally many name, one with records is preferred, then the first. None if none is
    named. Without a controller, all nodes count."""
    controllers = [one for one in nodes if one.config.is_controller] or list(nodes)
    ids = [one.cluster_id for one in controllers if one.cluster_id is not None]
    with_records = {one.cluster_id for one in controllers if one.own_log.has_records}
    return max(ids, key=lambda one: (ids.count(one), one in with_records), default=None)


def _ids(voters: frozenset[int]) -> str:
    return listed([str(one) for one in sorted(voters)])

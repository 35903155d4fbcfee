"""Controllers and voters: their registrations, votes and addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from replica.doctor.check.catalogue import health
from replica.doctor.check.rule import Finding, Subject
from replica.doctor.health.cluster import Cluster, listed
from replica.model.control import KRAFT_VERSION
from replica.model.voters import Voter, majority
from replica.shell_text import line
from replica.words import number

REGISTRATION_LEVEL = 15
"""metadata.version 3.7-IV0, from which on controllers register (KIP-919)."""
UNREGISTRATION_LEVEL = 33
"""metadata.version 4.4-IV2, from which on a controller can be unregistered (KIP-1312)."""
_ENOUGH = 3


def judge_quorum(cluster: Cluster) -> Iterator[Finding]:
    """Findings of the rules about controllers and voters; none if the voters are unknown."""
    if not cluster.voters:
        return
    yield from _without_vote(cluster)
    yield from _not_registered(cluster)
    yield from _other_endpoints(cluster)
    yield from _down(cluster)
    yield from _numbers(cluster)


def controllers_without_vote(cluster: Cluster) -> list[int]:
    """The registered controllers that aren't voters; empty if the voters are unknown."""
    if not cluster.voters:
        return []
    return sorted(set(cluster.values("controllers")) - cluster.voters)


def how_to_remove(cluster: Cluster, controller_id: int) -> str:
    """How to remove, in this cluster, the registration of a controller whose node is gone."""
    level = cluster.metadata_version or 0
    if level >= UNREGISTRATION_LEVEL:
        words = ("unregister-controller", "--bootstrap-controller", "HOST:PORT")
        removing = line("kafka-cluster.sh", *words, "--id", str(controller_id))
        return f"if its node is gone: {removing}"
    return (
        "if its node is gone: before metadata.version 4.4-IV2 nothing removes the registration; "
        f"start a controller with node.id={controller_id} of the newer release, formatted with "
        "--no-initial-controllers, which replaces it"
    )


def _without_vote(cluster: Cluster) -> Iterator[Finding]:
    offsets = cluster.offsets("controllers")
    subjects = [
        Subject(f"controller {one}", how_to_remove(cluster, one), offsets[one])
        for one in controllers_without_vote(cluster)
    ]
    message = f"{len(subjects)} registered, but the voters are {listed(sorted(cluster.voters))}"
    yield from cluster.about(health.CONTROLLER_WITHOUT_VOTE, message, subjects)


def _not_registered(cluster: Cluster) -> Iterator[Finding]:
    if (cluster.metadata_version or 0) < REGISTRATION_LEVEL:
        return
    registered = cluster.values("controllers")
    missing = sorted(cluster.voters - set(registered))
    subjects = [
        Subject(f"voter {one}", f"no registration in the log; {_how_to_replace(cluster, one)}")
        for one in missing
    ]
    message = f"{len(missing)} of {len(cluster.voters)} voters"
    yield from cluster.about(health.VOTER_NOT_REGISTERED, message, subjects)


def _how_to_replace(cluster: Cluster, voter_id: int) -> str:
    """A clause that says what can be done if the voter's node is gone: in a static quorum another
    node with the same id takes its place; in a dynamic quorum the voter can be removed."""
    if not cluster.level(KRAFT_VERSION):
        return (
            "the quorum is static, so no voter can be removed: if its node is gone, another node "
            f"with node.id={voter_id} takes its place, once the other voters have a leader"
        )
    ids = [one.key.directory_id for one in cluster.voter_set if one.key.node_id == voter_id]
    words = ("remove-controller", "--controller-id", str(voter_id), "--controller-directory-id")
    bootstrap = ("kafka-metadata-quorum.sh", "--bootstrap-controller", "HOST:PORT")
    return f"if its node is gone: {line(*bootstrap, *words, *(ids or ['DIRECTORY_ID']))}"


def _other_endpoints(cluster: Cluster) -> Iterator[Finding]:
    controllers = cluster.values("controllers")
    at = cluster.offsets("voters").get("")
    subjects = [
        Subject(f"voter {voter.key.node_id}", told, at)
        for voter in cluster.voter_set
        if voter.key.node_id in controllers
        for told in _differences(voter, controllers[voter.key.node_id])
    ]
    message = f"{len(subjects)} of the listeners of {len(cluster.voter_set)} voters"
    yield from cluster.about(health.VOTER_ENDPOINTS_DIFFER, message, subjects)


def _differences(voter: Voter, registration: Mapping[str, Any]) -> Iterator[str]:
    """The listeners whose addresses differ between the voter set and the registration. A listener
    that only one of them names is no difference."""
    registered = {one["name"]: (one["host"], one["port"]) for one in registration["endPoints"]}
    for endpoint in voter.endpoints:
        other = registered.get(endpoint.name)
        if other is not None and other != (endpoint.host, endpoint.port):
            yield (
                f"{endpoint.name} at {endpoint.host}:{endpoint.port} in the voter set, "
                f"{other[0]}:{other[1]} in its registration"
            )


def _down(cluster: Cluster) -> Iterator[Finding]:
    offsets, count = cluster.offsets("brokers"), len(cluster.voters)
    down = sorted(cluster.voters_down)
    subjects = [Subject(f"voter {one}", f"broker {one} is fenced", offsets[one]) for one in down]
    left = len(cluster.voters_up)
    message = (
        f"{len(down)} of {count} voters: {number(left)} are left, {majority(count)} are needed"
    )
    yield from cluster.about(health.VOTER_ON_FENCED_BROKER, message, subjects)


def _numbers(cluster: Cluster) -> Iterator[Finding]:
    count = len(cluster.voters)
    named = listed(sorted(cluster.voters))
    told = f"voters {named}: {number(count - majority(count))} may fail"
    if count < _ENOUGH:
        yield health.FEW_VOTERS.at(cluster.file, told)
    if count % 2 == 0:
        yield health.EVEN_VOTERS.at(cluster.file, told)

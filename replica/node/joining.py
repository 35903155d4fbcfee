"""An observer adds itself to the voters (KIP-1186: controller.quorum.auto.join.enable).

It asks the leader as an administrator would, so its principal has to be one. Once it is a voter it
asks no more while it runs: who removes it then means it.
"""

from __future__ import annotations

import asyncio

from replica.errors import PeerError
from replica.node.driver import Driver
from replica.node.leader import ask_leader, leader_address
from replica.node.notice import Notice, Report
from replica.node.translate.membership import write_add, write_remove
from replica.node.translate.partition import Partition
from replica.raft.messages import AddVoterRequest, RemoveVoterRequest
from replica.raft.roles.follower import Follower
from replica.raft.voters import Voter
from replica.wire.apis.membership import ADD_RAFT_VOTER, REMOVE_RAFT_VOTER
from replica.wire.client import ClientConfig
from replica.wire.error_codes import ErrorCode, error_name
from replica.wire.schema import Message


async def join_voters(
    driver: Driver, partition: Partition, config: ClientConfig, report: Report
) -> None:
    """Ask once in a fetch timeout, until this replica is a voter. Each new answer is reported."""
    host, said = driver.host, ""
    local = host.config.local
    assert local is not None, "who has no id can't be a voter"
    while not host.raft.log.voters.is_voter(local.key):
        await asyncio.sleep(host.config.fetch_timeout_ms / 1000)
        text = await _ask(driver, local, partition, config)
        if text and text != said:
            said = text
            report(Notice("auto-join", f"joining the voters: {text}"))


async def _ask(driver: Driver, local: Voter, partition: Partition, config: ClientConfig) -> str:
    """One request, if it is time for one; what came of it, empty for nothing."""
    raft, leader = driver.host.raft, leader_address(driver)
    role = raft.role
    is_following = isinstance(role, Follower) and role.has_fetched
    if leader is None or not is_following or raft.log.voters.is_voter(local.key):
        return ""
    cluster_id, timeout_ms = driver.host.config.cluster_id, driver.host.config.request_timeout_ms
    former = raft.log.voters.voter(local.key.node_id)
    message: Message
    if former is not None:
        # our own node on a disk that is gone; it takes no part any more
        api, what = REMOVE_RAFT_VOTER, f"remove directory {former.key.directory_id}"
        removal = RemoveVoterRequest(cluster_id=cluster_id, voter=former.key)
        message = write_remove(partition, removal, 0)
    else:
        api, what = ADD_RAFT_VOTER, f"add directory {local.key.directory_id}"
        addition = AddVoterRequest(
            cluster_id=cluster_id,
            voter=local.key,
            endpoints=local.endpoints,
            timeout_ms=timeout_ms,
        )
        message = write_add(partition, addition, 0)
    try:
        answer = await ask_leader(leader, config, api, message, 0)
    except PeerError as error:
        return f"{what}: {error}"
    code = answer["errorCode"]
    why = answer["errorMessage"]
    return f"{what}: {error_name(code)}" + (f" ({why})" if why and code != ErrorCode.NONE else "")

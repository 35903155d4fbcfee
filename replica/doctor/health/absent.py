"""Why brokers that hold replicas aren't live, by their registrations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from enum import Enum

from replica.doctor.health.cluster import Cluster, is_live
from replica.doctor.health.rewound import VisibleChange
from replica.metadata.changes.brokers_seen import is_fencing

_SHUTDOWNS_SINCE = 7
"""The metadata.version 3.3-IV3. From this version on, the log has a record of a broker's request
for its shutdown, if the broker leads partitions then (Kafka:
MetadataVersion.isInControlledShutdownStateSupported)."""


class Absence(Enum):
    """Why a broker isn't live. The values are texts about the broker."""

    STOPPING = "shutting down"
    ASKED = "fenced after it asked for its shutdown"
    """The broker was stopped by a controlled shutdown."""
    VANISHED = "fenced without a shutdown"
    """The broker was live and led partitions, and had not asked for its shutdown when the
    controller missed its heartbeats: it crashed, or was cut off."""
    IDLE = "fenced while it led no partition"
    """The broker was live and led no partition. Kafka fences such a broker at once when it asks for
    its shutdown, without a record of the request (BrokerHeartbeatManager.calculateNextBrokerState).
    So the log doesn't show whether the broker was stopped, crashed or was cut off."""
    FENCED = "fenced"
    """The broker was not unfenced since it registered, or the log doesn't show how it came to be
    fenced."""


MAY_RUN = (Absence.VANISHED, Absence.IDLE)
"""The ways of being absent of brokers whose process may run: the process hangs, or can't reach the
controllers."""


def find_out_why(brokers: Collection[object]) -> str:
    """What to do about these brokers if they run, as a clause."""
    return f"find out why {'it' if len(brokers) == 1 else 'they'} can't reach the controllers"


def absent_brokers(cluster: Cluster) -> Mapping[int, Absence]:
    """The registered brokers that hold replicas and aren't live, by id, each with the reason."""
    brokers, found = cluster.values("brokers"), {}
    for one in sorted(cluster.replicas_by_broker):
        if one not in brokers or is_live(brokers[one]):
            continue
        if not brokers[one]["fenced"]:
            found[one] = Absence.STOPPING
        elif brokers[one]["inControlledShutdown"]:
            found[one] = Absence.ASKED
        else:
            is_idle = one in cluster.idle_when_fenced
            how = Absence.IDLE if is_idle else Absence.VANISHED
            found[one] = how if one in cluster.vanished else Absence.FENCED
    return found


def may_have_vanished(cluster: Cluster) -> Mapping[int, int]:
    """The fenced brokers whose registration doesn't show how they came to be fenced. The value is
    the offset of the record that last changed the broker's registration. Empty below
    _SHUTDOWNS_SINCE."""
    level, offsets = cluster.metadata_version, cluster.offsets("brokers")
    if level is None or level < _SHUTDOWNS_SINCE:
        return {}
    absent = absent_brokers(cluster).items()
    return {one: offsets[one] for one, how in absent if how is Absence.FENCED}


def vanished(cluster: Cluster, steps: Callable[[], Iterable[VisibleChange]]) -> frozenset[int]:
    """The brokers of Cluster.vanished: a record fenced them though they had asked for no shutdown.
    steps: gives the changes that led to the state, newest first. It is called only if needed, and
    read back to the oldest of the records that last changed these brokers."""
    asked, brokers, found = dict(may_have_vanished(cluster)), cluster.values("brokers"), set()
    if not asked:
        return frozenset()
    first = min(asked.values())
    for step in steps():
        if step.offset < first:
            break
        for table, key, before in step.before:
            # the newest change of a broker made it what it is, in a transaction at its end
            if table == "brokers" and asked.pop(key, None) is not None and before is not None:
                is_same = before["brokerEpoch"] == brokers[key]["brokerEpoch"]
                if is_same and is_fencing(before, brokers[key]):
                    found.add(key)
        if not asked:
            break
    return frozenset(found)


def idle_when_fenced(
    cluster: Cluster, steps: Callable[[], Iterable[VisibleChange]]
) -> frozenset[int]:
    """The brokers of Cluster.vanished that led no partition when they were fenced. Kafka appends
    the changes of their partitions with the fencing, at the same time. steps: as for `vanished`."""
    waiting, fenced_at, found = set(cluster.vanished), dict[int, int | None](), set()
    for step in steps() if waiting else ():
        for table, key, _ in step.before:
            if table == "brokers" and key in waiting:
                fenced_at.setdefault(key, step.at)
        led = {
            before.leader
            for table, _, before in step.before
            if table == "partitions" and before is not None
        }
        over = {one for one in waiting & fenced_at.keys() if fenced_at[one] != step.at}
        found |= over
        waiting -= over | (led & fenced_at.keys())
        if not waiting:
            break
    return frozenset(found | (waiting & fenced_at.keys()))

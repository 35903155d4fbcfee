"""Directories of a quorum in which voters' disks were restored from a backup, as the engine writes
them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from replica.simulate.metadata_records import create_topic, topic_config
from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture


def restored_quorum(
    folder: Path, voters: int = 1, restored: Sequence[int] = (1,), *, is_static: bool = False
) -> Path:
    """The directories of all nodes. The backup is of before an election, after which a topic was
    created; no restored node was started since. Two observers, which are brokers, have all."""
    layout = Layout(voters=voters, observers=2, is_static=is_static)
    quorum = ScriptedQuorum(f"{voters} voters, restored {restored}", layout)
    lead(quorum)
    quorum.populate(1, "orders")
    quorum.commit(1, topic_config("orders", "min.insync.replicas", "1"))
    quorum.settle()
    backup = quorum.capture().files
    quorum.run_ms(10_000)
    quorum.restart(1)
    lead(quorum)
    quorum.commit(1, create_topic("later", quorum.brokers[:1]))
    quorum.run_ms(20_000)
    quorum.settle()
    last = quorum.capture()
    files = {**last.files, **{node: backup[node] for node in restored}}
    write_capture(replace(last, files=files), str(folder))
    return folder


def lead(quorum: ScriptedQuorum) -> None:
    """Let node 1 lead. The only voter elects itself with its start."""
    if len(quorum.voters) > 1:
        quorum.elect(1)
    else:
        quorum.run_until(lambda: quorum.simulation.leader() is not None)

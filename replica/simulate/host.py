"""The replica that runs in the simulator: the real host on a simulated disk, whose power can go in
any call to the disk and before any effect."""

from __future__ import annotations

from collections.abc import Callable

from replica.host.host import Host, Place
from replica.machines.opaque import OpaqueMachine
from replica.raft.config import Config
from replica.raft.effects import Effects
from replica.simulate.disk import PowerLossError, SimulatedDisk
from replica.storage.segment import LogConfig

FOLDER = "node/__cluster_metadata-0"
LOG_CONFIG = LogConfig(segment_bytes=4096, index_interval_bytes=512)

Stepped = Callable[["SimulatedHost", Effects], None]
"""Told what a host has done, before anybody hears of it."""


class SimulatedHost(Host):
    """effects_left: how many effects are still carried out before the power goes, None for all."""

    machine: OpaqueMachine

    def __init__(
        self,
        config: Config,
        disk: SimulatedDisk,
        draw: Callable[[int], int],
        now_ms: int,
        watch: Stepped,
    ) -> None:
        self.effects_left: int | None = None
        self._disk = disk
        self._watch = watch
        place = Place(disk, FOLDER, LOG_CONFIG)
        super().__init__(config, place, OpaqueMachine(), draw, now_ms)

    def before_effect(self) -> None:
        if self.effects_left is None:
            return
        self.effects_left -= 1
        if self.effects_left < 0:
            self._disk.crash()
            raise PowerLossError("between two effects")

    def stepped(self, effects: Effects) -> None:
        self._watch(self, effects)

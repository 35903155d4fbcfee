"""Made cases of a broker beside its controller, which is the only voter: what the broker makes of
its settings and its disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.replica.doctor.startup.laid_out import ANOTHER, Place

LayPair = Callable[[Place, Place], None]
"""Writes the files of a controller and of a broker. The broker's `other` is the controller's
port."""


def pair(folder: Path, controller: int = 19093, broker: int = 19094) -> tuple[Place, Place]:
    """The places of both, by their ports."""
    places = Place(folder / "1", controller, broker), Place(folder / "2", broker, controller)
    for place in places:
        place.folder.mkdir(parents=True)
    return places


def _static(controller: Place, broker: Place) -> None:
    controller.configure()
    controller.format(controller.data)
    broker.broker()
    broker.format(broker.data, node_id=2, directory=1)


def _dynamic(controller: Place, broker: Place) -> None:
    controller.dynamic()
    controller.stand_alone(controller.format(controller.data))
    servers = f"127.0.0.1:{broker.other}"
    broker.broker(controller_quorum_voters="", controller_quorum_bootstrap_servers=servers)
    broker.format(broker.data, node_id=2, directory=1)


def _of_another_cluster(controller: Place, broker: Place) -> None:
    _static(controller, broker)
    meta = broker.data / "meta.properties"
    own = (controller.data / "meta.properties").read_text()
    cluster = next(line for line in own.splitlines() if line.startswith("cluster.id="))
    meta.write_text(meta.read_text().replace(cluster, f"cluster.id={ANOTHER}"))


def _at_another_port(controller: Place, broker: Place) -> None:
    _dynamic(controller, broker)
    servers = f"127.0.0.1:{broker.port + 1}"
    broker.broker(controller_quorum_voters="", controller_quorum_bootstrap_servers=servers)


PAIRS: dict[str, LayPair] = {
    "a broker beside its static voter": _static,
    "a broker beside its dynamic voter": _dynamic,
    "a broker whose disk was formatted for another cluster": _of_another_cluster,
    "a broker that looks for the controller at another port": _at_another_port,
}

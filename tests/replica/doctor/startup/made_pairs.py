"""Invented cases of a broker with a controller, which is the only voter: the result of the broker's
settings and disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.replica.doctor.startup.laid_out import ANOTHER, Place
from tests.replica.doctor.startup.made_security import LOGIN, MODULE, SCRAM

MODULE_OF_SCRAM = MODULE.replace(".plain.", ".scram-sha-256.")
LayPair = Callable[[Place, Place], None]
"""Writes the files of a controller and of a broker. The broker's `other` is the controller's
port."""


def pair(folder: Path, controller: int = 19093, broker: int = 19094) -> tuple[Place, Place]:
    """The places of a controller and of a broker. controller, broker: their ports."""
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


def _by_tls_and_not(controller: Place, broker: Place) -> None:
    _static(controller, broker)
    broker.broker(listener_security_protocol_map="CONTROLLER:SSL,PLAINTEXT:PLAINTEXT")


def _with_sasl(controller: Place, broker: Place, mechanism: str) -> None:
    """Both nodes use SASL; the controller enables PLAIN. mechanism: the broker's mechanism."""
    _static(controller, broker)
    protocols = "CONTROLLER:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT"
    modules = f"{MODULE}={LOGIN}\n{MODULE_OF_SCRAM}={SCRAM} required username=a password=b;\n"
    for place, way in ((controller, "PLAIN"), (broker, mechanism)):
        configure = place.configure if place is controller else place.broker
        configure(
            listener_security_protocol_map=protocols,
            listener_name_controller_sasl_enabled_mechanisms="PLAIN",
            sasl_mechanism_controller_protocol=way,
            more=modules,
        )


def _by_the_mechanism_of_the_controller(controller: Place, broker: Place) -> None:
    _with_sasl(controller, broker, "PLAIN")


def _by_another_mechanism(controller: Place, broker: Place) -> None:
    _with_sasl(controller, broker, "SCRAM-SHA-256")


PAIRS: dict[str, LayPair] = {
    "a broker beside its static voter": _static,
    "a broker beside its dynamic voter": _dynamic,
    "a broker whose disk was formatted for another cluster": _of_another_cluster,
    "a broker that looks for the controller at another port": _at_another_port,
    "a broker that speaks TLS to a controller without it": _by_tls_and_not,
    "a broker that logs in by the controller's mechanism": _by_the_mechanism_of_the_controller,
    "a broker that logs in by a mechanism that isn't enabled": _by_another_mechanism,
}

"""Invented cases of settings alone: the directory is right, and the file isn't."""

from __future__ import annotations

from tests.replica.doctor.startup.laid_out import Place
from tests.replica.doctor.startup.made_cases import case


def _formatted(place: Place, node_id: int = 1) -> None:
    place.format(place.data, node_id=node_id)


@case("process.roles is missing")
def _(place: Place) -> None:
    place.configure(without=("process.roles",))
    _formatted(place)


@case("an unknown role")
def _(place: Place) -> None:
    place.configure(process_roles="controler")
    _formatted(place)


@case("a role twice")
def _(place: Place) -> None:
    place.configure(process_roles="controller,controller")
    _formatted(place)


@case("node.id is missing")
def _(place: Place) -> None:
    place.configure(without=("node.id",))
    _formatted(place)


@case("node.id is no number")
def _(place: Place) -> None:
    place.configure(node_id="one")
    _formatted(place)


@case("broker.id is another than node.id")
def _(place: Place) -> None:
    place.configure(broker_id=2)
    _formatted(place)


@case("broker.id instead of node.id")
def _(place: Place) -> None:
    place.configure(without=("node.id",), broker_id=1)
    _formatted(place)


@case("neither voters nor bootstrap servers")
def _(place: Place) -> None:
    place.configure(without=("controller.quorum.voters",))
    _formatted(place)


@case("a controller that is none of the voters")
def _(place: Place) -> None:
    place.configure(controller_quorum_voters=f"2@127.0.0.1:{place.port}")
    _formatted(place)


@case("a broker that is one of the voters")
def _(place: Place) -> None:
    place.broker(controller_quorum_voters=f"2@127.0.0.1:{place.port}")
    _formatted(place, 2)


@case("a voter without a port")
def _(place: Place) -> None:
    place.configure(controller_quorum_voters="1@127.0.0.1")
    _formatted(place)


@case("a voter without an id")
def _(place: Place) -> None:
    place.configure(controller_quorum_voters=f"127.0.0.1:{place.port}")
    _formatted(place)


@case("a voter at 0.0.0.0")
def _(place: Place) -> None:
    place.configure(controller_quorum_voters=f"1@0.0.0.0:{place.port}")
    _formatted(place)


@case("a bootstrap server without a port")
def _(place: Place) -> None:
    place.dynamic(controller_quorum_bootstrap_servers="127.0.0.1")
    place.stand_alone(place.format(place.data))


@case("controller.listener.names is missing")
def _(place: Place) -> None:
    place.configure(without=("controller.listener.names",))
    _formatted(place)


@case("controller.listener.names names none of the listeners")
def _(place: Place) -> None:
    place.configure(controller_listener_names="CONTROL")
    _formatted(place)


@case("a controller with a listener that is none of the controllers'")
def _(place: Place) -> None:
    both = f"CONTROLLER://127.0.0.1:{place.port},PLAINTEXT://127.0.0.1:{place.other}"
    place.configure(listeners=both)
    _formatted(place)


@case("a broker with a listener of the controllers")
def _(place: Place) -> None:
    both = f"PLAINTEXT://127.0.0.1:{place.port},CONTROLLER://127.0.0.1:{place.other}"
    place.broker(listeners=both)
    _formatted(place, 2)


@case("a combined node without a listener for clients")
def _(place: Place) -> None:
    place.combined(listeners=f"CONTROLLER://127.0.0.1:{place.port}")
    _formatted(place)


@case("a listener without a security protocol")
def _(place: Place) -> None:
    place.configure(listener_security_protocol_map="PLAINTEXT:PLAINTEXT")
    _formatted(place)


@case("a listener that is no address")
def _(place: Place) -> None:
    place.configure(listeners=f"CONTROLLER:127.0.0.1:{place.port}")
    _formatted(place)


@case("two listeners at one port")
def _(place: Place) -> None:
    both = f"CONTROLLER://127.0.0.1:{place.port},PLAINTEXT://127.0.0.1:{place.port}"
    place.combined(listeners=both)
    _formatted(place)


@case("two listeners of one name")
def _(place: Place) -> None:
    both = f"CONTROLLER://127.0.0.1:{place.port},CONTROLLER://127.0.0.1:{place.other}"
    place.configure(listeners=both)
    _formatted(place)


@case("clients are told 0.0.0.0")
def _(place: Place) -> None:
    place.combined(advertised_listeners=f"PLAINTEXT://0.0.0.0:{place.other}")
    _formatted(place)


@case("clients are told of a listener that is not there")
def _(place: Place) -> None:
    names = ("CONTROLLER", "PLAINTEXT", "OUTSIDE")
    place.combined(
        advertised_listeners=f"OUTSIDE://127.0.0.1:{place.other}",
        listener_security_protocol_map=",".join(f"{name}:PLAINTEXT" for name in names),
    )
    _formatted(place)


@case("inter.broker.listener.name is none of the listeners")
def _(place: Place) -> None:
    place.combined(inter_broker_listener_name="INSIDE")
    _formatted(place)


@case("a number that is none")
def _(place: Place) -> None:
    place.configure(num_io_threads="eight")
    _formatted(place)


@case("a number that is too small")
def _(place: Place) -> None:
    place.configure(num_io_threads=0)
    _formatted(place)


@case("a flag that is neither true nor false")
def _(place: Place) -> None:
    place.configure(auto_create_topics_enable="yes")
    _formatted(place)


@case("metadata.log.segment.bytes of 1 MiB")
def _(place: Place) -> None:
    place.configure(metadata_log_segment_bytes=1048576)
    _formatted(place)


@case("log.dirs is empty")
def _(place: Place) -> None:
    place.configure(log_dirs="")
    _formatted(place)


@case("a line that is no property")
def _(place: Place) -> None:
    place.configure(more="this is no property\n")
    _formatted(place)


@case("an empty file")
def _(place: Place) -> None:
    place.properties.write_text("")
    _formatted(place)


@case("a byte order mark before the first line")
def _(place: Place) -> None:
    place.configure()
    place.properties.write_bytes(b"\xef\xbb\xbf" + place.properties.read_bytes())
    _formatted(place)


@case("a file in UTF-16")
def _(place: Place) -> None:
    place.configure()
    place.properties.write_bytes(place.properties.read_text().encode("utf-16"))
    _formatted(place)


@case("lines that end with CR and LF")
def _(place: Place) -> None:
    place.configure(more="num.io.\\\n  threads=8\n")
    place.properties.write_bytes(place.properties.read_bytes().replace(b"\n", b"\r\n"))
    _formatted(place)


@case("an escape that is half of a surrogate pair")
def _(place: Place) -> None:
    place.configure(broker_rack="\\ud83d")
    _formatted(place)


@case("a comment behind a value")
def _(place: Place) -> None:
    place.configure(num_io_threads="8 # threads")
    _formatted(place)


@case("compression.type is none that Kafka knows")
def _(place: Place) -> None:
    place.configure(compression_type="zip")
    _formatted(place)


@case("log.message.timestamp.type is none that Kafka knows")
def _(place: Place) -> None:
    place.configure(log_message_timestamp_type="logappendtime")
    _formatted(place)


@case("security.inter.broker.protocol is none that Kafka knows")
def _(place: Place) -> None:
    place.configure(security_inter_broker_protocol="TLS")
    _formatted(place)


@case("a broken escape")
def _(place: Place) -> None:
    place.configure(more="broker.rack=\\u12\n")
    _formatted(place)


@case("a config provider that is not there")
def _(place: Place) -> None:
    place.configure(num_io_threads="${file:/secrets:threads}")
    _formatted(place)


@case("a key twice")
def _(place: Place) -> None:
    place.configure(more="num.io.threads=eight\nnum.io.threads=8\n")
    _formatted(place)


@case("auto join with static voters")
def _(place: Place) -> None:
    place.configure(controller_quorum_auto_join_enable="true")
    _formatted(place)

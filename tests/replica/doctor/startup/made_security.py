"""Invented cases of TLS and SASL: settings, key stores and login modules."""

from __future__ import annotations

from pathlib import Path

from tests.replica.doctor.startup.laid_out import Place
from tests.replica.doctor.startup.made_cases import case
from tests.replica.wire.certificates import make_authority, make_certificate, openssl

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
LOGIN = f'{PLAIN} required username="a" password="b" user_a="b";'
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
MODULE = "listener.name.controller.plain.sasl.jaas.config"
BY_PLAIN = {"sasl.enabled.mechanisms": "PLAIN", "sasl.mechanism.controller.protocol": "PLAIN"}
GONE = "/nowhere/node.p12"
WORD = "hunter2"
"""The password of the key stores."""


def tls(place: Place, **settings: object) -> None:
    """Writes a controller with a TLS listener. In the name of a setting, _ stands for a dot."""
    place.configure(listener_security_protocol_map="CONTROLLER:SSL", **settings)
    place.format(place.data)


def sasl(place: Place, **settings: object) -> None:
    """Writes a controller with a SASL listener."""
    place.configure(listener_security_protocol_map="CONTROLLER:SASL_PLAINTEXT", **settings)
    place.format(place.data)


def keys(place: Place) -> Path:
    """Makes node.both.pem and node.p12, with a key, and ca.pem, which has signed it."""
    make_authority(place.folder, "ca")
    both = make_certificate(place.folder, "node", "/CN=node")
    to_file = ("-inkey", "node.key", "-out", "node.p12", "-passout", f"pass:{WORD}")
    openssl(place.folder, "pkcs12", "-export", "-in", "node.pem", *to_file)
    return both


def trusted(place: Place) -> dict[str, object]:
    """The settings of the authority that signed the certificate."""
    return {"ssl_truststore_type": "PEM", "ssl_truststore_location": place.folder / "ca.pem"}


# TLS.


@case("TLS with PEM stores")
def _(place: Place) -> None:
    both = keys(place)
    tls(place, ssl_keystore_type="PEM", ssl_keystore_location=both, **trusted(place))


@case("TLS with a PKCS12 key store")
def _(place: Place) -> None:
    own = keys(place).with_name("node.p12")
    tls(place, ssl_keystore_location=own, ssl_keystore_password=WORD, **trusted(place))


@case("TLS without a key store")
def _(place: Place) -> None:
    tls(place)


@case("a key store that is not there")
def _(place: Place) -> None:
    tls(place, ssl_keystore_location=GONE, ssl_keystore_password=WORD)


@case("a key store that is not there, of one listener")
def _(place: Place) -> None:
    both, own = keys(place), "listener.name.controller.ssl.keystore.location"
    tls(place, ssl_keystore_type="PEM", ssl_keystore_location=both, **{own: GONE})


@case("a key store that is not there, and no listener with TLS")
def _(place: Place) -> None:
    place.configure(ssl_keystore_location=GONE, ssl_keystore_password=WORD)
    place.format(place.data)


@case("a trust store that is not there")
def _(place: Place) -> None:
    tls(place, ssl_truststore_location=GONE, ssl_truststore_password=WORD)


@case("a key store that is a folder")
def _(place: Place) -> None:
    tls(place, ssl_keystore_location=place.folder, ssl_keystore_password=WORD)


@case("a PEM key store with a password")
def _(place: Place) -> None:
    both = keys(place)
    tls(place, ssl_keystore_type="PEM", ssl_keystore_location=both, ssl_keystore_password=WORD)


@case("a PEM trust store with a password")
def _(place: Place) -> None:
    keys(place)
    tls(place, **trusted(place), ssl_truststore_password=WORD)


@case("a key store without its password")
def _(place: Place) -> None:
    tls(place, ssl_keystore_location=keys(place).with_name("node.p12"))


@case("the password of a key store alone")
def _(place: Place) -> None:
    tls(place, ssl_keystore_password=WORD)


@case("a PEM file as a key store without a type")
def _(place: Place) -> None:
    tls(place, ssl_keystore_location=keys(place), ssl_keystore_password=WORD)


@case("a PEM key store without a private key")
def _(place: Place) -> None:
    own = keys(place).with_name("node.pem")
    tls(place, ssl_keystore_type="PEM", ssl_keystore_location=own)


@case("a certificate as text without its key")
def _(place: Place) -> None:
    tls(place, ssl_keystore_type="PEM", ssl_keystore_certificate_chain="-----BEGIN")


@case("ssl.client.auth is neither required, requested nor none")
def _(place: Place) -> None:
    place.configure(ssl_client_auth="yes")
    place.format(place.data)


@case("brokers speak TLS to each other without a key store")
def _(place: Place) -> None:
    place.combined(listener_security_protocol_map="CONTROLLER:PLAINTEXT,PLAINTEXT:SSL")
    place.format(place.data)


# Security protocols.


@case("a security protocol that Kafka doesn't know")
def _(place: Place) -> None:
    place.configure(listener_security_protocol_map="CONTROLLER:PLAINTEXT,OUTSIDE:TLS")
    place.format(place.data)


@case("a listener without a colon in the map of protocols")
def _(place: Place) -> None:
    place.configure(listener_security_protocol_map="CONTROLLER:PLAINTEXT,PLAINTEXT")
    place.format(place.data)


@case("the listener of brokers is named by name and by protocol")
def _(place: Place) -> None:
    names = {"inter_broker_listener_name": "PLAINTEXT"}
    place.combined(**names, security_inter_broker_protocol="PLAINTEXT")
    place.format(place.data)


@case("a controller alone whose listener of brokers is not in the map")
def _(place: Place) -> None:
    place.configure(inter_broker_listener_name="INSIDE")
    place.format(place.data)


@case("a controller alone whose mechanism between brokers is not enabled")
def _(place: Place) -> None:
    place.configure(security_inter_broker_protocol="SASL_PLAINTEXT")
    place.format(place.data)


# SASL.


@case("SASL by PLAIN")
def _(place: Place) -> None:
    sasl(place, **BY_PLAIN, **{MODULE: LOGIN})


@case("SASL without a login module")
def _(place: Place) -> None:
    sasl(place, **BY_PLAIN)


@case("SASL whose login module names no listener")
def _(place: Place) -> None:
    sasl(place, **BY_PLAIN, sasl_jaas_config=LOGIN)


@case("SASL without a mechanism for the controllers")
def _(place: Place) -> None:
    sasl(place, sasl_enabled_mechanisms="PLAIN", **{MODULE: LOGIN})


@case("SASL with two mechanisms and one login module")
def _(place: Place) -> None:
    enabled = {"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256"}
    sasl(place, **{**BY_PLAIN, **enabled}, **{MODULE: LOGIN})


@case("SASL whose mechanism for the controllers is not enabled")
def _(place: Place) -> None:
    other = {"sasl.mechanism.controller.protocol": "SCRAM-SHA-256"}
    module = {"listener.name.controller.scram-sha-256.sasl.jaas.config": f"{SCRAM} required;"}
    sasl(place, **{**BY_PLAIN, **other}, **{MODULE: LOGIN}, **module)


@case("a login module without a semicolon")
def _(place: Place) -> None:
    sasl(place, **BY_PLAIN, **{MODULE: LOGIN[:-1]})


@case("a login module without a control flag")
def _(place: Place) -> None:
    sasl(place, **BY_PLAIN, **{MODULE: LOGIN.replace("required", "needed")})


@case("two login modules in one setting")
def _(place: Place) -> None:
    sasl(place, **BY_PLAIN, **{MODULE: f"{LOGIN} {LOGIN}"})


@case("a login module with an option without a value")
def _(place: Place) -> None:
    sasl(place, **BY_PLAIN, **{MODULE: LOGIN.replace('password="b"', "password")})


@case("a login module that Kafka doesn't have")
def _(place: Place) -> None:
    sasl(place, **BY_PLAIN, **{MODULE: LOGIN.replace("PlainLogin", "PlaneLogin")})


@case("brokers whose mechanism between them is not enabled")
def _(place: Place) -> None:
    module = "listener.name.plaintext.plain.sasl.jaas.config"
    place.combined(
        listener_security_protocol_map="CONTROLLER:PLAINTEXT,PLAINTEXT:SASL_PLAINTEXT",
        inter_broker_listener_name="PLAINTEXT",
        sasl_enabled_mechanisms="PLAIN",
        **{module: LOGIN},
    )
    place.format(place.data)

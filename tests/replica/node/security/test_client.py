"""A Kafka client's properties file says how we connect; what can't be meant is named, no secret."""

import contextlib
import re
import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.errors import UsageError
from replica.node.properties import Properties
from replica.node.security.client import client_config_in, client_security_in
from replica.node.security.jaas import login_in
from replica.wire.client import ClientConfig
from replica.wire.sasl.client import Plain, Scram
from tests.replica.node.security.files import PLAIN, SCRAM, properties_of

SECRET = "tell-nobody"  # noqa: S105


def client(tmp_path, lines):
    return client_security_in(properties_of(tmp_path, lines))


def test_without_a_protocol_there_is_no_security(tmp_path):
    found = client(tmp_path, "client.id=ann\n")
    assert (found.tls, found.sasl) == (None, None)


def test_plain_and_scram_take_user_and_password_from_their_login_module(tmp_path):
    jaas = f'sasl.jaas.config={PLAIN} required username="ann" password="a\\\\"b=;";\n'
    found = client(tmp_path, f"security.protocol=sasl_plaintext\nsasl.mechanism=PLAIN\n{jaas}")
    assert found.sasl == Plain("ann", 'a"b=;')
    assert found.tls is None
    jaas = f"sasl.jaas.config={SCRAM} required \\\n  username='ann' password=pw;\n"
    found = client(tmp_path, f"security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-256\n{jaas}")
    assert found.sasl == Scram("ann", "pw", "SCRAM-SHA-256")
    assert found.tls is not None
    assert found.checks_host_name


def test_pem_files_and_versions_are_those_of_the_ssl_keys(tmp_path):
    found = client(
        tmp_path,
        "security.protocol=SSL\n"
        "ssl.keystore.type=PEM\nssl.keystore.location=/etc/node.pem\nssl.key.password=open\n"
        "ssl.truststore.type=PEM\nssl.truststore.location=/etc/ca.pem\n"
        "ssl.enabled.protocols=TLSv1.3\nssl.endpoint.identification.algorithm=\n",
    )
    assert (found.tls.certificate, found.tls.authorities) == ("/etc/node.pem", "/etc/ca.pem")
    assert (found.tls.password, found.tls.versions) == ("open", ("TLSv1.3",))
    assert not found.checks_host_name
    assert found.tls.key_file == "/etc/node.pem"


def test_client_id_and_request_timeout_reach_the_connection(tmp_path):
    lines = "client.id=ann\nrequest.timeout.ms=1500\nsecurity.protocol=SSL\n"
    config, warnings = client_config_in(properties_of(tmp_path, lines), ClientConfig())
    assert (config.client_id, config.timeout_s, config.sasl) == ("ann", 1.5, None)
    assert config.tls.verify_mode is ssl.CERT_REQUIRED
    assert config.tls.minimum_version is ssl.TLSVersion.TLSv1_2
    assert warnings == ()


def test_a_file_with_a_password_that_others_may_read_is_told(tmp_path):
    lines = (
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={PLAIN} required username="ann" password="{SECRET}";\n'
    )
    properties = properties_of(tmp_path, lines)
    (tmp_path / "client.properties").chmod(0o644)
    config, warnings = client_config_in(properties, ClientConfig())
    (warning,) = warnings
    assert warning.endswith("may read its secrets: chmod o-rwx " + properties.path)
    assert SECRET not in repr(config) + repr(properties) + warning


def login(text):
    return login_in(Properties("f", {"sasl.jaas.config": text}))


@given(st.text(min_size=1), st.text())
def test_any_user_and_password_can_be_quoted(user, password):
    quoted = (re.sub(r'(["\\])', r"\\\1", text) for text in (user, password))
    text = '{} required username="{}" password="{}";'.format(PLAIN, *quoted)
    assert login(text).options == {"username": user, "password": password}


PARTS = st.sampled_from([PLAIN, "required", "a", "=", ";", '"', "'", "\\", " ", "\n", "b c"])


@given(st.lists(PARTS, min_size=1))
def test_any_other_text_is_a_login_module_or_a_usage_error(parts):
    with contextlib.suppress(UsageError):
        assert login(" ".join(parts)).mechanism == "PLAIN"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("security.protocol=TLS", "security.protocol: 'TLS': expected PLAINTEXT, SSL, SASL_PLAIN"),
        ("security.protocol=SASL_SSL", "sasl.mechanism: missing; expected one of PLAIN, SCRAM-"),
        ("sasl.mechanism=GSSAPI", "sasl.mechanism: 'GSSAPI' isn't supported: expected PLAIN"),
        ("sasl.mechanism=PLAIN", "sasl.jaas.config: missing"),
        (f"sasl.jaas.config={SECRET}", "sasl.jaas.config: expected: MODULE required"),
        (f'sasl.jaas.config={PLAIN} required password="{SECRET};', "expected: MODULE required"),
        (f'sasl.jaas.config={PLAIN} required password="{SECRET}"', "expected: MODULE required"),
        (f"sasl.jaas.config={PLAIN} needed p={SECRET};", "expected `required` after"),
        (f"sasl.jaas.config={PLAIN} required p {SECRET};", 'expected NAME="VALUE"'),
        (f"sasl.jaas.config={PLAIN} required password={SECRET};", 'expected username="..." and'),
        (
            f"sasl.jaas.config={SCRAM} required password={SECRET};",
            "SCRAM's login module, but the mechanism is PLAIN",
        ),
        (
            f"sasl.jaas.config=com.Own required password={SECRET};",
            "this login module isn't supported",
        ),
        ("ssl.enabled.protocols=TLSv1.1", "'TLSv1.1': expected TLSv1.2 or TLSv1.3"),
        ("ssl.endpoint.identification.algorithm=ldap", "'ldap': expected https, or an empty value"),
        ("ssl.keystore.location=/k.jks", "keytool -importkeystore -srckeystore /k.jks"),
        (
            "ssl.truststore.location=/t.p12\nssl.truststore.type=PKCS12",
            "convert a file that isn't: openssl pkcs12 -in /t.p12 -nokeys -out /t.p12.pem",
        ),
        ("ssl.keystore.type=BCFKS", "'BCFKS': expected PEM"),
        (
            f"ssl.keystore.type=PEM\nssl.keystore.location=/k\nssl.keystore.password={SECRET}",
            "ssl.keystore.password: PEM files have no password; that of a key is ssl.key.password",
        ),
        (f"ssl.keystore.type=PEM\nssl.keystore.key={SECRET}", "certificate.chain: missing"),
        (f"ssl.keystore.key={SECRET}", "ssl.keystore.type: JKS, and only PEM is read"),
        (
            f"ssl.keystore.type=PEM\nssl.keystore.location=/k\nssl.keystore.key={SECRET}",
            "ssl.keystore.key: ssl.keystore.location is there too",
        ),
        (
            "ssl.truststore.type=PEM\nssl.truststore.location=/k\nssl.truststore.certificates=x",
            "ssl.truststore.certificates: ssl.truststore.location is there too",
        ),
    ],
)
def test_an_impossible_value_is_one_line_with_file_and_key_and_no_secret(tmp_path, lines, said):
    asked = {
        "security.protocol": "SASL_SSL" if "sasl" in lines else "SSL",
        "sasl.mechanism": "PLAIN" if "jaas" in lines or "=PLAIN" in lines else "",
        **dict(line.split("=", 1) for line in lines.splitlines()),
    }
    if lines == "security.protocol=SASL_SSL":
        asked["sasl.mechanism"] = ""
    with pytest.raises(UsageError) as caught:
        client(tmp_path, "".join(f"{key}={value}\n" for key, value in asked.items()))
    text = str(caught.value)
    assert text.startswith(f"{tmp_path}/client.properties: ")
    assert said in text
    assert SECRET not in text
    assert "\n" not in text

"""Configs that hold secrets, by Kafka's own definitions."""

from __future__ import annotations

PASSWORD_CONFIGS: frozenset[str] = frozenset(
    {
        "delegation.token.master.key",
        "delegation.token.secret.key",
        "password.encoder.old.secret",
        "password.encoder.secret",
        "sasl.jaas.config",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.client.credentials.client.secret",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.password",
        "ssl.truststore.certificates",
        "ssl.truststore.password",
    }
)
"""Configs that Kafka 3.7 to 4.4 declares as PASSWORD (ConfigDef.Type) for brokers."""

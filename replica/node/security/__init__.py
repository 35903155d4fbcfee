"""TLS and SASL by the keys of Kafka's properties files.

- `tls_keys`, `sasl_keys`, `jaas`: what the ssl. and sasl. keys say, as values of replica.wire.
- `client`: of connections that we make; `listener`: of connections that we take.
- `scram_file`: what is kept of the passwords of those who authenticate here by SCRAM.
"""

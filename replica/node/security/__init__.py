"""TLS and SASL by the keys of Kafka's properties files.

- `tls_keys`, `jaas`: the ssl. and sasl. keys as values of replica.wire.
- `client`: the security of connections that this node makes.
- `listener`: the security of connections that it accepts.
- `scram_file`: the file with the SCRAM credentials of clients.
"""

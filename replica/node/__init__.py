"""A replica as a process: settings, format, and the driver between the host and the network.

- `settings`: Kafka's server.properties, the KRaft part. `formatting`: what `replica format` writes.
- `driver`: the one task in which a host lives; everything else sends it events.
- `security`: TLS and SASL by Kafka's keys, of listeners and of connections.
- `observer`: a node that records a quorum of others.
"""
